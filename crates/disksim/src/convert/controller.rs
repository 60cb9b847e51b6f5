//! `disksim_disk`: buffer, overheads, queue.

use super::fields::Fields;
use super::{Note, Treatment};
use crate::error::Error;
use headstack_drive::spec::{
    AfterPrevious, CacheSpec, ExtraDisconnect, LinkSpec, OverheadSpec, QueueCounts, QueueSpec, ReadAhead,
};
use headstack_units::Span;

/// The parameters of the block except its mechanical model.
#[derive(Default)]
pub(super) struct Controller {
    pub cache: CacheSpec,
    pub overhead: OverheadSpec,
    pub link: LinkSpec,
    pub queue: QueueSpec,
    pub minimum_write: Span,
    /// The disk's own time per sector on the link, in milliseconds.
    pub sector_ms: f64,
}

pub(super) fn read(fields: &mut Fields, report: &mut Vec<Note>) -> Result<Controller, Error> {
    let fast_write = fields.count("Fast write level", 0, 2, 0)? > 0;
    let overhead = overhead(fields, fast_write)?;
    let cache = cache(fields, fast_write)?;
    bus(fields, &overhead)?;
    let never_disconnect = fields.flag("Never disconnect")?;
    let depth = fields.count_up_to("Max queue length", 1 << 20, 1)?.max(1);
    let queue = queue(fields, depth, report)?;
    let others = "requests that wait are not looked at before their turn";
    for name in [
        "Allow sneaky full read hits",
        "Allow sneaky partial read hits",
        "Allow sneaky intermediate read hits",
        "Allow write prebuffering",
        "Preseeking level",
    ] {
        fields.only(name, 0.0, others)?;
    }
    fields.no_effect(&["Print stats"], "printing only")?;
    fields.no_effect(&["Avg sectors per cylinder"], "only told to schedulers outside the drive")?;
    fields.no_effect(&["Calc sector by sector"], "sectors are always followed one by one")?;
    Ok(Controller {
        cache,
        overhead,
        link: LinkSpec { never_disconnect, ..LinkSpec::default() },
        queue,
        minimum_write: fields.span("Minimum seek delay", 1.0)?,
        sector_ms: fields.ms("Bulk sector transfer time", false)?,
    })
}

fn bus(fields: &mut Fields, overhead: &OverheadSpec) -> Result<(), Error> {
    // Without reselection overheads, releasing the link has no effect.
    let free = overhead.first_reselect == Span::ZERO
        && overhead.other_reselect == Span::ZERO
        && overhead.data_preparation == Span::ZERO;
    for name in ["Hold bus entire read xfer", "Hold bus entire write xfer"] {
        let held = fields.flag(name)?;
        if free {
            fields.no_effect(&[name], "reselection costs nothing on this drive")?;
        } else if !held {
            fields.note(name, Treatment::NotModelled, "the link is kept when data run out in the middle of a transfer");
        }
    }
    fields.only(
        "Low (write) water mark",
        0.0,
        "only for writes larger than the buffer: they are taken in as space comes free",
    )?;
    fields.only("Immed transfer partial hit", 1.0, "partial hits send at once what is there")?;
    fields.only("Read directly to buffer", 1.0, "sectors count as they arrive")?;
    fields.only("Disconnect write if seek", 0.0, "writes take their data in at once")
}

fn cache(fields: &mut Fields, fast_write: bool) -> Result<CacheSpec, Error> {
    let read_ahead = match fields.count("Buffer continuous read", 0, 4, 0)? {
        0 => ReadAhead::None,
        1 => ReadAhead::TrackEnd,
        2 => ReadAhead::CylinderEnd,
        3 => ReadAhead::Limit,
        _ => ReadAhead::NextTrack,
    };
    let mut cache = CacheSpec {
        enabled: fields.count("Enable caching in buffer", 0, 2, 0)? != 0,
        segments: fields.count("Number of buffer segments", 1, 65_536, 1)?,
        segment_sectors: fields.count("Segment size (in blks)", 1, 1 << 24, 1)?,
        write_segments: fields.count_up_to("Maximum number of write segments", 65_536, 1)?,
        separate_write_segment: fields.flag("Use separate write segment")?,
        read_ahead,
        read_ahead_sectors: fields.count_up_to("Maximum read-ahead (blks)", 1 << 24, 0)?,
        read_ahead_minimum: fields.count_up_to("Minimum read-ahead (blks)", 1 << 24, 0)?,
        read_ahead_on_idle_hit: fields.flag("Read-ahead on idle hit")?,
        keep_passing_sectors: fields.flag("Read any free blocks")?,
        read_on_arrival: fields.flag("Immediate buffer read")?,
        write_on_arrival: fields.flag("Immediate buffer write")?,
        stop_read_ahead_in_sector: fields.flag("Stop prefetch in sector")?,
        almost_hits: fields.flag("Allow almost read hits")?,
        write_back: fast_write,
        read_hits_on_written: fields.flag("Allow read hits on write data")?,
        append_writes: fields.flag("Combine seq writes")?,
        read_watermark: fields.real("High (read) water mark")?,
        watermark_of_request: fields.flag("Set watermark by reqsize")?,
        ..CacheSpec::default()
    };
    fields.no_effect(&["Write hit stop prefetch"], "every write to the medium ends read-ahead")?;
    if let Some(value) = fields.get("High (read) water mark") {
        if !(0.0..=1.0).contains(&cache.read_watermark) {
            return Err(Error::new(value.at.clone(), value.show(), "a share from 0 to 1"));
        }
    }
    for name in ["Read any free blocks", "Immediate buffer read", "Immediate buffer write"] {
        fields.note(name, Treatment::Honoured, "inert in DiskSim 4.0");
    }
    // The value has three meanings; two of them have an effect only if no maximum is set.
    let name = "Read-ahead over requested";
    match fields.get(name).map_or(Ok(0), |v| v.integer())? {
        -1 => cache.discard_requested = true,
        _ if cache.read_ahead_sectors != 0 => {
            fields.no_effect(&[name], "only matters where the maximum read-ahead is 0")?
        }
        0 => {}
        _ => fields.note(name, Treatment::NotModelled, "read-ahead without a maximum ends when the segment is full"),
    }
    Ok(cache)
}

/// The factor of all overheads.
fn overhead_scale(fields: &mut Fields) -> Result<f64, Error> {
    let Some(value) = fields.get("Time scale for overheads") else { return Ok(1.0) };
    match value.real()? {
        scale if (0.0..=1000.0).contains(&scale) => Ok(scale),
        _ => Err(Error::new(value.at.clone(), value.show(), "a factor from 0 to 1000")),
    }
}

fn overhead(fields: &mut Fields, fast_write: bool) -> Result<OverheadSpec, Error> {
    let scale = overhead_scale(fields)?;
    let mut pair = |read: &str, write: &str| -> Result<AfterPrevious, Error> {
        Ok(AfterPrevious { after_read: fields.span(read, scale)?, after_write: fields.span(write, scale)? })
    };
    let read_hit = pair("Read hit over. after read", "Read hit over. after write")?;
    let read_miss = pair("Read miss over. after read", "Read miss over. after write")?;
    let write_hit = pair("Write hit over. after read", "Write hit over. after write")?;
    let write_miss = pair("Write miss over. after read", "Write miss over. after write")?;
    let read_disconnect = pair("Read disconnect afterread", "Read disconnect afterwrite")?;
    if fast_write {
        fields.no_effect(
            &["Write miss over. after read", "Write miss over. after write"],
            "with fast writes every write takes the hit overhead",
        )?;
    } else {
        fields.no_effect(
            &["Write hit over. after read", "Write hit over. after write"],
            "without fast writes every write takes the miss overhead",
        )?;
    }
    let extra_write_disconnect = extra_disconnect(fields, scale)?;
    Ok(OverheadSpec {
        per_request: fields.span("Per-request overhead time", scale)?,
        read_hit,
        read_miss,
        write_hit,
        write_miss,
        read_completion: fields.span("Read completion overhead", scale)?,
        write_completion: fields.span("Write completion overhead", scale)?,
        data_preparation: fields.span("Data preparation overhead", scale)?,
        first_reselect: fields.span("First reselect overhead", scale)?,
        other_reselect: fields.span("Other reselect overhead", scale)?,
        read_disconnect,
        write_disconnect: fields.span("Write disconnect overhead", scale)?,
        extra_write_disconnect,
    })
}

/// The second disconnection of a write; `None` if the drive has none.
fn extra_disconnect(fields: &mut Fields, scale: f64) -> Result<Option<ExtraDisconnect>, Error> {
    let extra = fields.flag("Extra write disconnect")?;
    let spec = ExtraDisconnect {
        command: fields.span("Extradisc command overhead", scale)?,
        disconnect: fields.span("Extradisc disconnect overhead", scale)?,
        // The scale does not apply to this one of the five times.
        pause: fields.span("Extradisc inter-disconnect delay", 1.0)?,
        second_disconnect: fields.span("Extradisc 2nd disconnect overhead", scale)?,
        seek_delay: fields.span("Extradisc seek delta", scale)?,
        // These values are not in the files. They were observed in DiskSim with the drive that has this flag.
        buffered_sectors: 10,
        long_request_sectors: 45,
        buffered_sectors_long: 15,
    };
    if extra {
        fields.note(
            "Extra write disconnect",
            Treatment::Honoured,
            "the medium is written once 10 sectors are in (15 of 45 or more), as DiskSim does",
        );
    } else {
        fields.no_effect(
            &[
                "Extradisc command overhead",
                "Extradisc disconnect overhead",
                "Extradisc inter-disconnect delay",
                "Extradisc 2nd disconnect overhead",
                "Extradisc seek delta",
            ],
            "extra write disconnect is off",
        )?;
    }
    Ok(extra.then_some(spec))
}

/// DiskSim's policies by number: our scheduler, and the difference (empty: none).
const POLICIES: [(&str, &str); 28] = [
    ("fcfs", ""),
    ("look", ""),
    ("c-look", ""),
    ("sstf", "distances are counted in cylinders instead of blocks"),
    ("look", "addresses are swept instead of cylinders"),
    ("c-look", "addresses are swept instead of cylinders"),
    ("sstf", ""),
    ("sptf", ""),
    ("sptf", "buffer hits are not taken first"),
    ("satf", ""),
    ("sptf", "waiting does not make a command cheaper"),
    ("sptf", "waiting does not make a command cheaper"),
    ("satf", "waiting does not make a command cheaper"),
    ("aged-sptf", ""),
    ("aged-sptf", "buffer hits are not taken first"),
    ("aged-sptf", "the time of the transfer is not counted"),
    ("sstf", "as DiskSim 4.0 does, which never applies the weight of V-SCAN; by cylinder"),
    ("sstf", "as DiskSim 4.0 does, which never applies the weight of V-SCAN"),
    ("sstf", "commands have no priority"),
    ("aged-sptf", "commands have no priority"),
    ("aged-sptf", "commands have no priority; buffer hits are not taken first"),
    ("sstf", "distance from the last request is not known apart"),
    ("sstf", ""),
    ("sptf", "seek and rotation weigh the same"),
    ("sptf", "seek and rotation weigh the same"),
    ("sptf", "seek and rotation weigh the same"),
    ("sptf", "orders of several requests are not tried"),
    ("fcfs", "commands come in no batches"),
];

/// The block `Scheduler` of a disk or of the driver.
pub(crate) fn queue(fields: &mut Fields, depth: u32, report: &mut Vec<Note>) -> Result<QueueSpec, Error> {
    let mut spec = QueueSpec { depth, counts: QueueCounts::Waiting, ..QueueSpec::default() };
    let Some(value) = fields.get("Scheduler") else { return Ok(spec) };
    let mut inner = Fields::new(value.block()?, "Scheduler");
    let policy = inner.count("Scheduling policy", 1, POLICIES.len() as u32, 1)?;
    let (name, differs) = POLICIES[policy as usize - 1];
    spec.scheduler = name.into();
    if !differs.is_empty() {
        let detail = format!("taken as {name}: {differs}");
        inner.note("Scheduling policy", Treatment::NotModelled, &detail);
    }
    let weight = inner.real("Timeout time/weight")?;
    if name == "aged-sptf" {
        // Each ms of waiting lowers the time of a command, as the scheduler compares it, by 0.001·w ms.
        let weight = (0.001 * weight).clamp(0.0, 1e6);
        spec.scheduler_parameters.insert("weight".into(), weight.into());
    } else {
        if name == "satf" {
            spec.scheduler_parameters.insert("cache_aware".into(), false.into());
        }
        inner.no_effect(&["Timeout time/weight"], "this policy has no weight")?;
    }
    inner.no_effect(
        &["Cylinder mapping strategy"],
        "the drive knows where its blocks are; in DiskSim 4.0 too for 1 to 4",
    )?;
    for name in ["Write initiation delay", "Read initiation delay"] {
        inner.only(name, 0.0, "predictions have no constant added")?;
    }
    inner.only("Sequential stream scheme", 0.0, "commands are not joined")?;
    inner.no_effect(&["Maximum concat size", "Sequential stream diff maximum"], "commands are not joined")?;
    inner.only("Overlapping request scheme", 0.0, "commands are not joined")?;
    inner.no_effect(&["Scheduling timeout scheme", "Timeout scheduling"], "read and ignored by DiskSim 4.0 too")?;
    inner.only("Scheduling priority scheme", 0.0, "commands have no priority")?;
    inner.no_effect(&["Priority scheduling"], "commands have no priority")?;
    inner.finish(report);
    Ok(spec)
}
