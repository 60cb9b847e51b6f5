//! Drives from random numbers: every part from the registries, with values that a drive may have or not.

use crate::SplitMix;
use headstack_drive::mapping::{cleaning, policy, MODELS};
use headstack_drive::spec::{
    ArmChoice, ArmShare, Destage, DriveSpec, FaultSpec, HeadOffset, HitCheck, MediaScanMode, ReadAhead,
    ReadAheadTrigger,
};
use headstack_drive::{layout, scheduler, DurationLimit, Heeded, LimitsSpec, Policy, Transport};
use headstack_units::{Bytes, Span};

/// The keys of a layout and its tracks. Surfaces below, at and above the nominal density.
fn geometry(draw: &mut SplitMix) -> String {
    let plugin = &layout::PLUGINS[draw.below(layout::PLUGINS.len() as u64) as usize];
    let own = match plugin.name() {
        "extents" => {
            let (mut first, mut all) = (0, Vec::new());
            for c in (0..30).chain(33..63u64) {
                for head in 0..2 {
                    let from = draw.below(4);
                    let count = 30 - from - draw.below(4);
                    all.push([first, count, c, head, from]);
                    first += count;
                }
            }
            format!("extents = {all:?}\n")
        }
        "adaptive" => {
            let mut density = || {
                let bpi = 0.6 + draw.below(100) as f64 * 0.01;
                format!("{{ bpi = {bpi:?}, tpi = {:?} }}", 0.5 + draw.below(300) as f64 * 0.01)
            };
            let list = [density(), density()].join(", ");
            let order = draw.of(&["", "head_order = \"alternate\"\n"]);
            let direction = draw.of(&["", "direction = \"serpentine\"\n"]);
            let width = 1 + draw.below(30);
            format!("band_cylinders = {width}\ndensity = [{list}]\n{order}{direction}")
        }
        "banded" => format!("band_cylinders = {}\n", 1 + draw.below(40)),
        _ => format!("{}\n", plugin.example()),
    };
    let (outer, inner) = (31 + draw.below(90), 30 + draw.below(30));
    let gap = draw.below(3);
    format!(
        "[geometry]\nrotation_speed = \"7200 rpm\"\nsurfaces = 2\ncylinders = 64\nlayout = {:?}\nsector_size = {:?}\n{own}\
         zones = [{{ first_cylinder = 0, last_cylinder = 29, sectors_per_track = {outer}, track_skew = 5.0, cylinder_skew = 9.0 }}, \
         {{ first_cylinder = {}, last_cylinder = 63, sectors_per_track = {inner}, track_skew = 3.0 }}]\n",
        plugin.name(),
        draw.of(&["512 B", "4 KiB"]),
        30 + gap,
    )
}

/// A table `[mapping]`. Sizes are `factor` times those of a small drive.
pub(super) fn mapping(draw: &mut SplitMix, factor: u64) -> String {
    let size = |kib: &[u64], draw: &mut SplitMix| format!("{} KiB", draw.of(kib) * factor);
    let (name, _) = MODELS[draw.below(MODELS.len() as u64) as usize];
    let own = match name {
        "log" => {
            let policy = policy::PLUGINS[draw.below(policy::PLUGINS.len() as u64) as usize].name();
            let cleaner = match draw.below(2) {
                0 => "none",
                _ => cleaning::PLUGINS[draw.below(cleaning::PLUGINS.len() as u64) as usize].name(),
            };
            format!(
                "policy = {policy:?}\nblock = {:?}\nreserve = {}\ninitial_blocks = {}\ninitial = {:?}\n\
                 cleaning = {{ policy = {cleaner:?}, low = {}, high = 1.0, pressed = {}, idle_after = \"{} ms\" }}\n\
                 recovery = {{ model = {:?}, every = {} }}\n",
                size(&[4, 8, 64], draw),
                draw.of(&["0.0", "0.1", "0.5"]),
                draw.of(&[0, 0, 3, 40]),
                draw.of(&["in-order", "spread", "written"]),
                draw.of(&["0.2", "0.9", "1.0"]),
                draw.of(&["0.0", "0.2"]),
                draw.of(&[0, 10]),
                draw.of(&["none", "headers", "checkpoint"]),
                draw.of(&[1, 5, 50]),
            )
        }
        "media-cache" => format!(
            "cache_size = \"{factor} MiB\"\nband_size = {:?}\ncleaning = {:?}\nclean_after = \"{} ms\"\ncache_extents = {}\ninitial = {:?}\n",
            size(&[64, 100, 1024], draw),
            draw.of(&["aggressive", "lazy"]),
            draw.of(&[0, 30]),
            draw.of(&[0, 8, 20]),
            draw.of(&["empty", "full"]),
        ),
        "zoned" => format!(
            "zone_size = {:?}\nunrestricted_reads = {}\nmax_open_zones = {}\ninitial = {:?}\n",
            size(&[64, 256], draw),
            draw.of(&["true", "false"]),
            draw.of(&[0, 2]),
            draw.of(&["empty", "full"]),
        ),
        _ => String::new(),
    };
    format!("[mapping]\nmodel = {name:?}\n{own}")
}

fn cache(draw: &mut SplitMix) -> String {
    if draw.one_in(4) {
        return String::new();
    }
    let destage = draw.of(&["immediate", "idle"]);
    format!(
        "[cache]\nenabled = true\nsegments = {}\nsegment_sectors = {}\nwrite_segments = 2\nwrite_back = {}\n\
         destage = {destage:?}\nhit_check = {:?}\nread_ahead = {:?}\nkeep_passing_sectors = {}\nalmost_hits = {}\n\
         append_writes = {}\nread_hits_on_written = {}\nwrite_on_arrival = {}\nread_on_arrival = {}\n\
         dirty_limit = {:?}\ndestage_after = {:?}\ndestage_age = {:?}\npartial_wait = {:?}\ndestage_window = {}\n",
        draw.of(&[4, 5]),
        draw.of(&[64, 100]),
        draw.of(&["true", "true", "false"]),
        draw.of(&["arrival", "service"]),
        draw.of(&["none", "limit", "track-end", "cylinder-end", "next-track"]),
        draw.of(&["true", "false"]),
        draw.of(&["true", "false"]),
        draw.of(&["true", "false"]),
        draw.of(&["true", "false"]),
        draw.of(&["true", "false", "false"]),
        draw.of(&["true", "false"]),
        draw.of(&["4 KiB", "12 KiB", "32 KiB", "128 KiB"]),
        draw.of(&["0 ms", "7 ms", "1 s"]),
        draw.of(&["0 s", "20 ms"]),
        draw.of(&["0 s", "3 ms", "1 s"]),
        draw.of(&[1, 3, 16]),
    )
}

/// A small drive as TOML. Some are refused.
pub(super) fn text(draw: &mut SplitMix) -> String {
    let mapping = mapping(draw, 1);
    // A media cache is described for one arm assembly only.
    let conventional = mapping.contains("media-cache") || draw.one_in(2);
    let (mut dash, mut share, mut scan) = ("D1A1S1H1", "all", "none");
    if !conventional {
        dash = draw.of(&["D1A2S1H1", "D1A3S1H1", "D2A1S1H1", "D1A1S1H2", "D1A2S1H2", "D1A1S2H1"]);
        share = draw.of(&["all", "all", "own-share"]);
        scan = draw.of(&["none", "none", "freeblock", "own-arm"]);
    }
    let motion = draw.of(&["0", "1"]);
    let plugin = &scheduler::PLUGINS[draw.below(scheduler::PLUGINS.len() as u64) as usize];
    let parameters: toml::Table = toml::from_str(plugin.example()).expect("an example");
    let conditions = draw.of(&[
        "",
        "",
        "idle_b = \"8 W\"\nstandby = \"1 W\"\nspin_up = \"25 W\"\n[power.conditions]\n\
         idle_b = { timer = \"30 ms\", enter_time = \"5 ms\", recovery_time = \"4 ms\" }\n\
         standby = { timer = \"100 ms\", enter_time = \"50 ms\", recovery_time = \"300 ms\" }\n",
    ]);
    format!(
        "name = \"drawn\"\ndash = {dash:?}\n{}[seek]\nmodel = \"linear\"\nsingle = \"1 ms\"\nfull = \"8 ms\"\ncylinders = 64\n\
         [positioning]\nhead_switch = {:?}\nwrite_settle = {:?}\n[parallelism]\narms_in_motion = {motion}\narm_share = {share:?}\n\
         [media_scan]\nmode = {scan:?}\n{}{}[link]\nrate = {:?}\n[queue]\ndepth = {}\nscheduler = {:?}\n\
         [queue.scheduler_parameters]\n{parameters}\n[power]\nrotation_speed = \"7200 rpm\"\nspindle = \"7 W\"\n\
         electronics = \"3 W\"\nvoice_coil = \"6 W\"\naccess = \"3 W\"\n{conditions}",
        geometry(draw),
        draw.of(&["0.5 ms", "2 ms"]),
        draw.of(&["0 ms", "0.3 ms"]),
        mapping,
        cache(draw),
        draw.of(&["50 MB/s", "600 MB/s"]),
        draw.of(&[0, 1, 4]),
        plugin.name(),
    )
}
/// A length of time below `most` milliseconds.
fn below_ms(draw: &mut SplitMix, most: f64) -> Span {
    Span::from_ms(draw.below(1000) as f64 * 1e-3 * most)
}

/// A buffer of any kind.
fn vary_cache(draw: &mut SplitMix, spec: &mut DriveSpec) {
    let c = &mut spec.cache;
    c.enabled = !draw.one_in(12);
    c.segments = 2 + draw.below(6) as u32;
    c.segment_sectors = 16 + draw.below(500) as u32;
    c.write_segments = 1 + draw.below(4) as u32;
    // A limit of the file may be more than this buffer holds.
    c.dirty_limit = None;
    c.separate_write_segment = draw.one_in(4);
    c.hit_check = draw.of(&[HitCheck::Service, HitCheck::Arrival]);
    c.read_ahead = draw.of(&[
        ReadAhead::None,
        ReadAhead::TrackEnd,
        ReadAhead::CylinderEnd,
        ReadAhead::Limit,
        ReadAhead::NextTrack,
    ]);
    c.read_ahead_trigger = draw.of(&[ReadAheadTrigger::Always, ReadAheadTrigger::Sequential]);
    c.read_ahead_sectors = draw.of(&[0, 100, 400]);
    c.read_ahead_minimum = draw.of(&[0, 0, 60, 400]);
    for flag in [
        &mut c.read_ahead_on_idle_hit,
        &mut c.discard_requested,
        &mut c.keep_passing_sectors,
        &mut c.keep_whole_track,
        &mut c.read_on_arrival,
        &mut c.write_on_arrival,
        &mut c.stop_read_ahead_in_sector,
        &mut c.almost_hits,
        &mut c.write_back,
        &mut c.read_hits_on_written,
        &mut c.append_writes,
    ] {
        *flag = draw.one_in(2);
    }
    c.destage = draw.of(&[Destage::Immediate, Destage::Idle]);
    c.destage_after = below_ms(draw, 40.0);
    c.read_watermark = draw.of(&[0.0, 0.3, 1.0]);
    let o = &mut spec.overhead;
    for span in [
        &mut o.per_request,
        &mut o.read_hit.after_read,
        &mut o.read_miss.after_write,
        &mut o.write_hit.after_read,
        &mut o.write_miss.after_write,
        &mut o.read_completion,
        &mut o.first_reselect,
        &mut o.read_disconnect.after_read,
        &mut o.write_disconnect,
    ] {
        *span = below_ms(draw, 0.6);
    }
}

/// What the tables of a drive have besides, but its degrees of parallelism, parking and arms in motion. Writes wait for idle
/// time only if `idle` is set.
pub fn vary(draw: &mut SplitMix, spec: &mut DriveSpec, idle: bool) {
    let is_plain = spec.mapping.get("model").is_none_or(|m| m == "identity");
    let p = &mut spec.parallelism;
    let arms_in_motion = p.arms_in_motion;
    if spec.geometry.surfaces % spec.dash.arms != 0 {
        p.arm_share = ArmShare::All;
    }
    p.channels = draw.of(&[0, 1]);
    p.heads = draw.of(&[HeadOffset::Angular, HeadOffset::Radial]);
    p.arm_choice = draw.of(&[ArmChoice::Positioning, ArmChoice::Rotation, ArmChoice::Seek]);
    p.stack_unit = draw.of(&[Bytes(0), Bytes(64 << 10), Bytes(1 << 20)]);
    p.fault_recovery = Span::from_ms(50.0);
    if !draw.one_in(3) {
        vary_cache(draw, spec);
    }
    let names: Vec<&str> = scheduler::PLUGINS.names().collect();
    spec.queue.scheduler = draw.of(&names).into();
    spec.queue.scheduler_parameters.clear();
    spec.queue.depth = draw.of(&[0, 1, 4, 32]);
    if !idle {
        spec.cache.destage = Destage::Immediate;
    }
    spec.positioning.write_settle = below_ms(draw, 0.5);
    // Which of several arms at work turns the platter on first is not defined.
    if arms_in_motion == 1 {
        spec.positioning.rotation_scale = draw.of(&[1.0, 1.0, 1.0, 0.5]);
    }
    spec.positioning.seek_scale = draw.of(&[1.0, 1.0, 1.0, 0.25]);
    // A scan walks over every track when it is built: small drives only.
    let tracks = spec.geometry.cylinders * spec.geometry.surfaces;
    let (dash, share) = (spec.dash, spec.parallelism.arm_share);
    let may_scan = dash.stacks * dash.heads == 1
        && arms_in_motion == 1
        && share == ArmShare::All
        && (dash.arms > 1 || dash.surfaces == 1)
        && tracks < 120_000
        && is_plain;
    if may_scan && !draw.one_in(3) {
        spec.media_scan.block = Bytes(4096);
        spec.media_scan.mode = match dash.arms {
            1 => MediaScanMode::Freeblock,
            _ => MediaScanMode::OwnArm,
        };
        // Nor are the scan's own waits a matter of that study.
        spec.positioning.rotation_scale = 1.0;
    } else if is_plain && draw.one_in(2) {
        vary_faults(draw, spec);
    }
}

/// Heads and assemblies that fail while commands are served, with warning and without.
fn vary_faults(draw: &mut SplitMix, spec: &mut DriveSpec) {
    for _ in 0..1 + draw.below(3) {
        spec.parallelism.faults.push(FaultSpec {
            at: Some(below_ms(draw, 300.0)),
            stack: draw.below(u64::from(spec.dash.stacks)) as u32,
            arm: draw.below(u64::from(spec.dash.arms)) as u32,
            surface: (!draw.one_in(3)).then(|| draw.below(u64::from(spec.geometry.surfaces)) as u32),
            warning: draw.one_in(2),
            ..FaultSpec::default()
        });
    }
    // The one combination that is refused.
    if spec.parallelism.arms_in_motion != 1 {
        spec.cache.destage = Destage::Immediate;
    }
}

/// Seven limits.
fn limits(draw: &mut SplitMix) -> Vec<DurationLimit> {
    use Policy::{Abort, CompleteEarliest, CompleteUnavailable, ContinueNextLimit, ContinueNoLimit};
    let time = |draw: &mut SplitMix| (draw.below(3) > 0).then(|| Span(1_000_000 + draw.below(60_000_000) as i64));
    let ends = [CompleteEarliest, CompleteUnavailable, Abort];
    let all = [CompleteEarliest, CompleteUnavailable, Abort, ContinueNextLimit, ContinueNoLimit];
    let one = |i: u64, draw: &mut SplitMix| DurationLimit {
        inactive: time(draw),
        inactive_policy: ends[draw.below(3) as usize],
        active: time(draw),
        active_policy: ends[draw.below(3) as usize],
        guideline: time(draw),
        guideline_policy: all[draw.below(if i == 6 { 3 } else { 5 }) as usize],
    };
    (0..7).map(|i| one(i, draw)).collect()
}

/// Limits for reads and writes, or none of them heeded but high priority.
pub fn vary_limits(draw: &mut SplitMix, spec: &mut DriveSpec) {
    spec.duration_limits = LimitsSpec {
        enabled: draw.of(&[Heeded::Limits, Heeded::Limits, Heeded::Priority]),
        reads: limits(draw),
        writes: limits(draw),
        transport: draw.of(&[Transport::Sata, Transport::Sas]),
        performance: draw.of(&[0.0, 0.05, 0.2]),
        ..LimitsSpec::default()
    };
}
