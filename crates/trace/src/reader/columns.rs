//! Finds the columns of a table by their names.

/// Column of the address, with its unit.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Address {
    Lba(usize),
    Offset(usize),
}

/// Column of the length, with its unit.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Length {
    Blocks(usize),
    Size(usize),
}

/// Positions of the columns of a table.
#[derive(Debug, Clone)]
pub(crate) struct Columns {
    pub time: usize,
    /// A time times 10 to this power is in nanoseconds.
    pub time_places: u32,
    pub device: Option<usize>,
    pub address: Address,
    pub length: Length,
    pub op: usize,
    pub process: Option<usize>,
    /// I/O priority, as Linux encodes it.
    pub ioprio: Option<usize>,
    /// The largest position.
    pub last: usize,
}

impl Columns {
    /// All names that a column can have.
    pub(crate) const NAMES: &[&str] = &[
        "time_s",
        "time_ms",
        "time_us",
        "time_ns",
        "lba",
        "offset_bytes",
        "blocks",
        "size_bytes",
        "op",
        "device",
        "process",
        "ioprio",
    ];

    /// The positions in use.
    pub(crate) fn places(&self) -> Vec<usize> {
        let (Address::Lba(a) | Address::Offset(a)) = self.address;
        let (Length::Blocks(l) | Length::Size(l)) = self.length;
        [self.time, self.op, a, l].into_iter().chain(self.device).chain(self.process).chain(self.ioprio).collect()
    }

    /// Finds the columns; the error states what is needed.
    pub(crate) fn find(names: &[&str]) -> Result<Columns, String> {
        let place = |name: &str| names.iter().position(|n| *n == name);
        let (time, time_places) = [("time_s", 9), ("time_ms", 6), ("time_us", 3), ("time_ns", 0)]
            .into_iter()
            .find_map(|(name, places)| Some((place(name)?, places)))
            .ok_or("a column time_s, time_ms, time_us or time_ns")?;
        let address = (place("lba").map(Address::Lba))
            .or(place("offset_bytes").map(Address::Offset))
            .ok_or("a column lba or offset_bytes")?;
        let length = (place("blocks").map(Length::Blocks))
            .or(place("size_bytes").map(Length::Size))
            .ok_or("a column blocks or size_bytes")?;
        let op = place("op").ok_or("a column op")?;
        let device = place("device");
        let (Address::Lba(a) | Address::Offset(a)) = address;
        let (Length::Blocks(l) | Length::Size(l)) = length;
        let (process, ioprio) = (place("process"), place("ioprio"));
        let named = [device, process, ioprio].into_iter().flatten();
        let last = [time, op, a, l].into_iter().chain(named).max();
        Ok(Columns { time, time_places, device, address, length, op, process, ioprio, last: last.unwrap_or(0) })
    }
}
