//! Power, throughput and response time of an Ultrastar 7K4000 for sizes of both queues: the built-in map of the policy
//! `feed-forward`.

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

/// The value of `table` at any sizes of both queues, linear in their logarithms between its points. Sizes beyond
/// the table count as its last ones.
pub fn look_up(table: &Table, nr_requests: f64, queue_depth: f64) -> f64 {
    let (i, u) = place(&NR_REQUESTS, nr_requests);
    let (j, v) = place(&QUEUE_DEPTH, queue_depth);
    let row = |i: usize| table[i][j] * (1.0 - v) + table[i][j + 1] * v;
    row(i) * (1.0 - u) + row(i + 1) * u
}

/// Row before `size` on an axis, and the weight of the next row.
fn place(axis: &[u32; 6], size: f64) -> (usize, f64) {
    let axis = axis.map(f64::from);
    let size = size.clamp(axis[0], axis[5]);
    let row = axis.iter().rposition(|a| *a <= size).unwrap_or(0).min(4);
    (
        row,
        (size / axis[row]).ln() / (axis[row + 1] / axis[row]).ln(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_up_is_exact_at_the_points_and_half_way_at_the_geometric_mean() {
        for (i, host) in NR_REQUESTS.iter().enumerate() {
            for (j, depth) in QUEUE_DEPTH.iter().enumerate() {
                let got = look_up(&IOPS, f64::from(*host), f64::from(*depth));
                assert!((got - IOPS[i][j]).abs() < 1e-9, "({depth}, {host}): {got}");
            }
        }
        let got = look_up(&IOPS, 128f64.sqrt() * 8.0, 1.0);
        assert!((got - (139.0 + 147.0) / 2.0).abs() < 1e-9, "{got}");
        assert_eq!(look_up(&IOPS, 1.0, 1.0), 83.0);
        assert!((look_up(&IOPS, 1e6, 1e6) - 198.0).abs() < 1e-9);
    }
}
