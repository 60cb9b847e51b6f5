//! Reads of a target, and how long they take: `reads TARGET`.

use headstack_probe::{open, Batch, Options, Pace, ProbeError};

const READS: usize = 21;

fn main() -> Result<(), ProbeError> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "sim:wd-re-2tb".into());
    let mut target = open(&name, &Options::default())?;
    let described = target.described().clone();
    println!("{described:?}");
    let blocks = described.physical_blocks();
    let step = described.blocks / (READS as u64 + 1) / u64::from(blocks) * u64::from(blocks);
    let apart: Vec<u64> = (0..READS as u64).map(|i| i * step).collect();
    let kinds = [
        ("forced re-reads", vec![step; READS], Pace::Closed(1), true),
        ("re-reads", vec![step; READS], Pace::Closed(1), false),
        ("forced, 4 at once", apart.clone(), Pace::Closed(4), true),
        ("4 at once", apart, Pace::Closed(4), false),
    ];
    for (kind, lba, pace, fua) in kinds {
        let batch = Batch::reads(&described, lba, vec![blocks; READS], pace, fua)?;
        let answers = target.run(&batch, &mut || true)?;
        let (first, last) = (answers.issued_ns[0], answers.done_ns.iter().max().copied().unwrap_or(0));
        let good = answers.status.iter().filter(|s| **s as u8 == 0).count();
        println!("{kind}: {good} good, {} us", (last - first) / 1000);
    }
    Ok(())
}
