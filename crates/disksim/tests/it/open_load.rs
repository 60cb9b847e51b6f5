//! Drives under open load with queues, compared with mean response times of DiskSim 4.0, if the reference data
//! are available.

use crate::measured::data;
use headstack_drive::{Command, Completion, Drive, DriveOptions, DriveRequest};
use headstack_units::{Lba, Time};

/// Python's generator (MT19937), which was used for the reference loads; only the parts that they need.
struct Python {
    state: [u32; 624],
    at: usize,
}

impl Python {
    /// As `random.Random(seed)`.
    fn new(seed: u32) -> Python {
        let mut state = [19_650_218u32; 624];
        let mixed = |previous: u32| previous ^ (previous >> 30);
        for i in 1..624 {
            state[i] = 1_812_433_253u32.wrapping_mul(mixed(state[i - 1])).wrapping_add(i as u32);
        }
        let mut i = 1;
        let mut next = |state: &mut [u32; 624], factor: u32, add: &dyn Fn(usize) -> u32| {
            let m = mixed(state[i - 1]).wrapping_mul(factor);
            state[i] = (state[i] ^ m).wrapping_add(add(i));
            i += 1;
            if i == 624 {
                state[0] = state[623];
                i = 1;
            }
        };
        for _ in 0..624 {
            next(&mut state, 1_664_525, &|_| seed);
        }
        for _ in 0..623 {
            next(&mut state, 1_566_083_941, &|i| 0u32.wrapping_sub(i as u32));
        }
        state[0] = 0x8000_0000;
        Python { state, at: 624 }
    }

    fn word(&mut self) -> u32 {
        if self.at == 624 {
            for i in 0..624 {
                let y = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % 624] & 0x7fff_ffff);
                let odd = if y & 1 == 1 { 0x9908_b0df } else { 0 };
                self.state[i] = self.state[(i + 397) % 624] ^ (y >> 1) ^ odd;
            }
            self.at = 0;
        }
        let mut y = self.state[self.at];
        self.at += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    /// As `random()`.
    fn uniform(&mut self) -> f64 {
        let (a, b) = (self.word() >> 5, self.word() >> 6);
        (f64::from(a) * 67_108_864.0 + f64::from(b)) / 9_007_199_254_740_992.0
    }

    /// As `randrange(0, limit)`, for limits below 2^32.
    fn below(&mut self, limit: u32) -> u32 {
        let bits = 32 - limit.leading_zeros();
        loop {
            let drawn = self.word() >> (32 - bits);
            if drawn < limit {
                return drawn;
            }
        }
    }
}

/// The load of a row: Poisson arrivals, uniform 4 KiB requests, 60 % reads. Times are those of DiskSim's input
/// text, in whole nanoseconds.
fn load(seed: u32, rate: f64, n: u64, capacity: u32) -> Vec<(Time, DriveRequest)> {
    let mut draw = Python::new(seed);
    let mut now_ms = 0.0;
    let request = |id| {
        now_ms += -(1.0 - draw.uniform()).ln() / rate * 1e3;
        let block = draw.below(capacity - 8);
        let command = if draw.uniform() < 0.6 { Command::Read } else { Command::Write };
        let request = DriveRequest { id, command, lba: Lba(u64::from(block)), blocks: 8, ..DriveRequest::default() };
        (Time((now_ms * 1e6).round() as u64), request)
    };
    (0..n).map(request).collect()
}

fn mean_ms(drive: &mut Drive, load: &[(Time, DriveRequest)]) -> f64 {
    let (mut sum, mut n) = (0u64, 0u64);
    let mut count = |c: &Completion| {
        sum += c.completion.0 - c.arrival.0;
        n += 1;
    };
    for (at, request) in load {
        drive.advance(*at, &mut count);
        drive.submit(*at, *request);
    }
    drive.advance(Time::NEVER, &mut count);
    assert_eq!(n as usize, load.len());
    sum as f64 / n as f64 * 1e-6
}

#[test]
fn pythons_numbers() {
    // Two results of random.Random(1040).random().
    let mut draw = Python::new(1040);
    assert_eq!([draw.uniform(), draw.uniform()], [0.3046882239880827, 0.5660291590578848]);
}

/// Within 1 % at 40 and 70 requests/s, within 2 % at 100/s, near saturation; both by default and in DiskSim's
/// compatibility mode.
#[test]
fn means_under_open_load_are_disksims() {
    let Some(data) = data() else { return };
    let text = std::fs::read_to_string(data.join("open-load.csv")).expect("the reference means");
    let mut wrong = Vec::new();
    let mut rows = 0;
    for row in text.lines().skip(1) {
        let f: Vec<&str> = row.split(',').collect();
        let number = |i: usize| f[i].parse::<f64>().expect("a number");
        let import = headstack_disksim::import_file(data.join(format!("{}.parv", f[0])));
        let mut spec = import.expect("a drive").spec;
        spec.queue.depth = number(6) as u32;
        spec.queue.scheduler = f[1].trim_end_matches("-lbn").to_string();
        let load = load(number(3) as u32, number(2), number(4) as u64, number(5) as u32);
        let allowed = if number(2) < 100.0 { 0.01 } else { 0.02 };
        for compat in [false, true] {
            let options = DriveOptions { compat_disksim_40: compat, ..DriveOptions::default() };
            let got = mean_ms(&mut Drive::builtin(&spec, &options).expect("a drive"), &load);
            let off = got / number(7) - 1.0;
            if off.abs() > allowed {
                wrong.push(format!("{} {} at {}/s: {off:+.4}", f[0], f[1], f[2]));
            }
        }
        rows += 1;
    }
    assert!(rows > 20 && wrong.is_empty(), "{wrong:?}");
}
