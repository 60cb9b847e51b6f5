//! Power and throughput of an Ultrastar 7K4000 by both queues: the built-in map of the policy `feed-forward`.

/// Places of the host's queue, by row.
pub const NR_REQUESTS: [u32; 6] = [4, 8, 16, 32, 64, 128];
/// Depth of the drive's queue, by column.
pub const QUEUE_DEPTH: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// Power in watts. Rows by `NR_REQUESTS`, columns by `QUEUE_DEPTH`. Computed with a model of an Ultrastar 7K4000 under random 4
/// KiB reads of 128 threads, whose constants were fitted to the values in the text of FAST 2016, section 5.2.
/// Not measured.
#[rustfmt::skip]
pub const POWER_W: [[f64; 6]; 6] = [
    [10.58, 10.52, 10.40, 10.40, 10.40, 10.40],
    [9.53, 10.13, 10.28, 10.10, 10.10, 10.10],
    [8.65, 9.26, 9.81, 10.00, 9.81, 9.81],
    [8.30, 8.71, 9.18, 9.56, 9.71, 9.53],
    [8.15, 8.56, 8.95, 9.23, 9.37, 9.45],
    [7.94, 8.27, 8.64, 8.92, 9.08, 9.15],
];

/// Requests per second, as [`POWER_W`].
#[rustfmt::skip]
pub const IOPS: [[f64; 6]; 6] = [
    [83.0, 95.0, 105.0, 105.0, 105.0, 105.0],
    [103.0, 105.0, 113.0, 127.0, 127.0, 127.0],
    [122.0, 127.0, 129.0, 133.0, 150.0, 150.0],
    [133.0, 145.0, 152.0, 154.0, 156.0, 174.0],
    [139.0, 153.0, 163.0, 170.0, 174.0, 179.0],
    [147.0, 166.0, 178.0, 187.0, 192.0, 198.0],
];
