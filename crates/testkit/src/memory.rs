//! Memory use of the process.

/// Peak memory of this process so far, in bytes; `None` if the system does not report it.
pub fn peak_bytes() -> Option<u64> {
    peak_bytes_of("self")
}

/// The same of another process, by its number.
pub fn peak_bytes_of(process: &str) -> Option<u64> {
    reported(process, "VmHWM:")
}

/// Memory of this process that is in use now, in bytes; `None` if the system does not report it.
pub fn resident_bytes() -> Option<u64> {
    reported("self", "VmRSS:")
}

fn reported(process: &str, key: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|l| l.starts_with(key))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}
