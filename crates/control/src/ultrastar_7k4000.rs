//! Power, throughput and response time of an Ultrastar 7K4000 for sizes of both queues and the expiry of reads: the
//! built-in map of the policy `feed-forward`.

use headstack_units::Span;

/// Places of the host's queue, by row.
pub const NR_REQUESTS: [u32; 6] = [4, 8, 16, 32, 64, 128];
/// Depth of the drive's queue, by column.
pub const QUEUE_DEPTH: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// One row for each of [`NR_REQUESTS`]; a row has one value for each of [`QUEUE_DEPTH`].
pub type Table = [[f64; 6]; 6];

/// Power in watts. It was not measured but computed with a model of an Ultrastar 7K4000 under random 4 KiB reads of 128
/// threads. The constants of the model were fitted to the values in the text of FAST 2016, section 5.2.
#[rustfmt::skip]
pub const POWER_W: Table = [
    [10.58, 10.52, 10.40, 10.40, 10.40, 10.40],
    [9.53, 10.13, 10.28, 10.10, 10.10, 10.10],
    [8.65, 9.26, 9.81, 10.00, 9.81, 9.81],
    [8.30, 8.71, 9.18, 9.56, 9.71, 9.53],
    [8.15, 8.56, 8.95, 9.23, 9.37, 9.45],
    [7.94, 8.27, 8.64, 8.92, 9.08, 9.15],
];

/// Requests per second, as [`POWER_W`].
#[rustfmt::skip]
pub const IOPS: Table = [
    [83.0, 95.0, 105.0, 105.0, 105.0, 105.0],
    [103.0, 105.0, 113.0, 127.0, 127.0, 127.0],
    [122.0, 127.0, 129.0, 133.0, 150.0, 150.0],
    [133.0, 145.0, 152.0, 154.0, 156.0, 174.0],
    [139.0, 153.0, 163.0, 170.0, 174.0, 179.0],
    [147.0, 166.0, 178.0, 187.0, 192.0, 198.0],
];

/// The 99th percentile of the response time from admission, in seconds, as [`POWER_W`]: two simulated minutes of
/// the drive file `ultrastar-7k4000-pcap` under the same load.
#[rustfmt::skip]
pub const P99_S: Table = [
    [0.084, 0.101, 0.124, 0.124, 0.124, 0.124],
    [0.215, 0.195, 0.188, 0.225, 0.225, 0.225],
    [0.449, 0.420, 0.388, 0.332, 0.377, 0.377],
    [0.720, 0.657, 0.623, 0.618, 0.567, 0.576],
    [1.340, 1.203, 1.127, 1.071, 0.985, 0.888],
    [2.412, 2.115, 1.975, 1.860, 1.776, 1.631],
];

/// The drive with another expiry of reads than the 500 ms of the other tables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Longer {
    /// Time from a read's arrival to its deadline.
    pub read_expire: Span,
    /// One row for each of [`LONGER_NR_REQUESTS`], one column for each of [`QUEUE_DEPTH`]: power in watts.
    pub power_w: Table,
    /// Requests per second.
    pub iops: Table,
    /// The 99th percentile of the response time from admission, in seconds.
    pub p99_s: Table,
}

/// Places of the host's queue, by row of the tables of [`LONGER`]. Requests in shorter queues are served before they
/// expire.
pub const LONGER_NR_REQUESTS: [u32; 6] = [16, 24, 32, 64, 96, 128];

/// With the expiry of Linux, 500 ms, each batch of 16 begins at a request that has expired, far from the arm, if the
/// host's queue is long. A longer expiry avoids this seek. Half an hour of the drive file `ultrastar-7k4000-pcap` under
/// random 4 KiB reads of 128 threads, with the elevator `deadline`: `python -m headstack.studies.pcap.expiry`. The
/// longest response time with 3 s is 4.2 s, with 2 s 3.5 s and with 500 ms 3.3 s.
#[rustfmt::skip]
pub const LONGER: [Longer; 4] = [
    Longer {
        read_expire: Span(700_000_000),
        power_w: [
            [8.65, 9.26, 9.81, 10.00, 9.81, 9.81],
            [8.29, 8.84, 9.40, 9.78, 9.76, 9.63],
            [8.14, 8.62, 9.15, 9.56, 9.71, 9.52],
            [8.15, 8.55, 8.92, 9.19, 9.35, 9.45],
            [8.01, 8.39, 8.77, 9.05, 9.20, 9.27],
            [7.93, 8.28, 8.64, 8.92, 9.08, 9.16],
        ],
        iops: [
            [122.3, 127.2, 128.6, 133.1, 150.3, 150.3],
            [131.8, 140.0, 143.0, 143.2, 152.9, 164.2],
            [136.7, 147.8, 153.1, 153.9, 155.8, 174.0],
            [138.9, 153.7, 163.9, 172.0, 177.6, 179.0],
            [143.8, 160.8, 171.8, 179.2, 185.1, 190.9],
            [146.8, 166.0, 178.8, 186.1, 192.2, 198.2],
        ],
        p99_s: [
            [0.461, 0.426, 0.388, 0.332, 0.377, 0.377],
            [0.664, 0.623, 0.591, 0.526, 0.450, 0.489],
            [0.773, 0.748, 0.736, 0.697, 0.577, 0.583],
            [1.353, 1.213, 1.121, 1.042, 0.962, 0.918],
            [1.906, 1.704, 1.588, 1.497, 1.394, 1.264],
            [2.426, 2.145, 1.984, 1.886, 1.782, 1.635],
        ],
    },
    Longer {
        read_expire: Span(1_000_000_000),
        power_w: [
            [8.65, 9.26, 9.81, 10.00, 9.81, 9.81],
            [8.28, 8.83, 9.39, 9.78, 9.76, 9.63],
            [8.08, 8.58, 9.13, 9.55, 9.71, 9.52],
            [8.02, 8.27, 8.67, 9.07, 9.35, 9.45],
            [8.01, 8.39, 8.75, 9.01, 9.16, 9.30],
            [7.93, 8.28, 8.64, 8.92, 9.08, 9.16],
        ],
        iops: [
            [122.3, 127.1, 128.6, 133.1, 150.3, 150.3],
            [132.2, 140.3, 143.2, 143.1, 152.9, 164.2],
            [138.0, 149.2, 153.8, 153.8, 155.7, 174.0],
            [142.5, 163.1, 174.9, 179.0, 178.4, 179.0],
            [143.7, 161.0, 172.3, 181.3, 189.5, 190.6],
            [146.8, 166.1, 178.6, 186.2, 192.2, 199.0],
        ],
        p99_s: [
            [0.461, 0.427, 0.388, 0.332, 0.377, 0.377],
            [0.679, 0.621, 0.590, 0.524, 0.450, 0.489],
            [0.850, 0.801, 0.762, 0.704, 0.576, 0.583],
            [1.303, 1.146, 1.101, 1.098, 1.084, 0.960],
            [1.905, 1.701, 1.577, 1.469, 1.343, 1.283],
            [2.431, 2.152, 1.986, 1.893, 1.779, 1.616],
        ],
    },
    Longer {
        read_expire: Span(2_000_000_000),
        power_w: [
            [8.65, 9.26, 9.81, 10.00, 9.81, 9.81],
            [8.27, 8.83, 9.40, 9.78, 9.76, 9.63],
            [8.07, 8.57, 9.13, 9.56, 9.71, 9.52],
            [7.73, 8.09, 8.59, 9.05, 9.36, 9.46],
            [7.63, 7.92, 8.35, 8.80, 9.13, 9.32],
            [7.76, 7.91, 8.24, 8.64, 8.97, 9.18],
        ],
        iops: [
            [122.3, 127.1, 128.6, 133.1, 150.3, 150.3],
            [132.3, 140.2, 143.1, 143.1, 152.9, 164.2],
            [138.4, 149.4, 154.1, 153.9, 155.7, 174.0],
            [149.9, 169.6, 178.9, 180.5, 178.3, 178.5],
            [154.2, 178.6, 192.2, 195.9, 194.2, 189.8],
            [151.3, 180.5, 199.3, 206.1, 205.4, 200.7],
        ],
        p99_s: [
            [0.461, 0.427, 0.388, 0.332, 0.377, 0.377],
            [0.676, 0.623, 0.589, 0.524, 0.450, 0.489],
            [0.877, 0.796, 0.745, 0.701, 0.576, 0.583],
            [1.535, 1.335, 1.254, 1.231, 1.156, 0.964],
            [2.010, 1.803, 1.708, 1.689, 1.560, 1.459],
            [2.351, 2.103, 2.024, 1.941, 1.919, 1.884],
        ],
    },
    Longer {
        read_expire: Span(3_000_000_000),
        power_w: [
            [8.64, 9.26, 9.81, 9.99, 9.81, 9.80],
            [8.27, 8.83, 9.39, 9.78, 9.76, 9.63],
            [8.07, 8.57, 9.13, 9.56, 9.71, 9.52],
            [7.72, 8.09, 8.58, 9.05, 9.36, 9.45],
            [7.59, 7.89, 8.33, 8.79, 9.13, 9.32],
            [7.53, 7.78, 8.18, 8.62, 8.97, 9.19],
        ],
        iops: [
            [122.3, 127.0, 128.6, 133.0, 150.4, 150.3],
            [132.2, 140.4, 143.1, 143.3, 152.8, 164.3],
            [138.4, 149.5, 154.1, 153.8, 155.7, 174.0],
            [150.5, 170.1, 179.3, 181.0, 178.2, 178.7],
            [155.4, 179.9, 193.5, 196.7, 194.4, 189.5],
            [158.2, 185.9, 202.6, 208.0, 206.3, 200.5],
        ],
        p99_s: [
            [0.459, 0.428, 0.388, 0.333, 0.378, 0.380],
            [0.675, 0.627, 0.587, 0.525, 0.452, 0.490],
            [0.873, 0.805, 0.746, 0.704, 0.578, 0.584],
            [1.507, 1.341, 1.203, 1.193, 1.144, 0.963],
            [2.137, 1.809, 1.678, 1.649, 1.513, 1.438],
            [2.678, 2.334, 2.093, 1.965, 1.928, 1.832],
        ],
    },
];

impl Longer {
    /// The value of one of its tables at any sizes of both queues, as [`look_up`].
    pub fn look_up(table: &Table, nr_requests: f64, queue_depth: f64) -> f64 {
        between(table, &LONGER_NR_REQUESTS, nr_requests, queue_depth)
    }
}

/// The value of `table` at any sizes of both queues, linear in their logarithms between its points. Sizes beyond
/// the table count as its last ones.
pub fn look_up(table: &Table, nr_requests: f64, queue_depth: f64) -> f64 {
    between(table, &NR_REQUESTS, nr_requests, queue_depth)
}

fn between(table: &Table, rows: &[u32; 6], nr_requests: f64, queue_depth: f64) -> f64 {
    let (i, u) = place(rows, nr_requests);
    let (j, v) = place(&QUEUE_DEPTH, queue_depth);
    let row = |i: usize| table[i][j] * (1.0 - v) + table[i][j + 1] * v;
    row(i) * (1.0 - u) + row(i + 1) * u
}

/// Row before `size` on an axis, and the weight of the next row.
fn place(axis: &[u32; 6], size: f64) -> (usize, f64) {
    let axis = axis.map(f64::from);
    let size = size.clamp(axis[0], axis[5]);
    let row = axis.iter().rposition(|a| *a <= size).unwrap_or(0).min(4);
    (row, (size / axis[row]).ln() / (axis[row + 1] / axis[row]).ln())
}
