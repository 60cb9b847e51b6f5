//! How fast SPC text is read and synthetic requests are made, on one core.

use headstack_trace::{spc_reader, ReadOptions, Synthetic};
use std::fmt::Write;
use std::time::Instant;

fn main() {
    let workload: Synthetic =
        toml::from_str("n_requests = 4_000_000\nrate = '250/s'\nfootprint = '100 GB'")
            .expect("this workload is well formed");
    let begun = Instant::now();
    let generator = workload.generator(1).expect("this workload is complete");
    let sum = generator.fold(0u64, |s, r| s ^ r.lba.0 ^ r.time.0);
    let rate = 4e6 / begun.elapsed().as_secs_f64();
    println!("synthetic: {rate:.3e} requests/s (checksum {sum:x})");
    let mut text = String::new();
    for r in workload.generator(1).expect("as before") {
        let (s, us) = (r.time.0 / 1_000_000_000, r.time.0 / 1000 % 1_000_000);
        writeln!(text, "0,{},4096,R,{s}.{us:06}", r.lba.0).expect("memory can be written");
    }
    let begun = Instant::now();
    let n = spc_reader(text.as_bytes(), "memory", &ReadOptions::default()).count();
    let rate = n as f64 / begun.elapsed().as_secs_f64();
    println!("spc: {rate:.3e} lines/s");
}
