//! The daemon: groups, their meters, caps that change, the socket, metrics, and what happens at start and end.

use crate::cap::CapFile;
use crate::clock;
use crate::config::{self, check_most, Config};
use crate::emergency::{self, Emergency};
use crate::group::{Group, Opener};
use crate::hook::Hooked;
use crate::knobs::{Files, Knobs};
use crate::meter::Meters;
use crate::originals::{restore, Originals};
use crate::page;
use crate::rack::Rack;
use crate::socket::{Request, Socket};
use crate::stat::{Pairs, Stat};
use crate::state::{Cap, StateFile};
use crate::watched::Watched;
use headstack_control::Work;
use headstack_metrics::{Page, PageError};
use headstack_schema::{chosen, SpecError};
use headstack_units::{Frequency, Span, Time, Watts};
use sd_notify::NotifyState;
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use thiserror::Error;
use tracing::{error, info, warn};

/// Why the daemon cannot start, or had to end.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum HostError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] SpecError),
    /// An address or an argument is wrong.
    #[error("{0}")]
    Argument(String),
    /// A file cannot be used.
    #[error("{what}: {}: {why}", path.display())]
    File { what: &'static str, path: PathBuf, why: io::Error },
    /// Drives or meters cannot be used, or were not restored.
    #[error("{0}")]
    Failed(String),
    /// The system has no more threads.
    #[error("system: {0}")]
    System(#[from] io::Error),
}

impl HostError {
    /// Whether the user's input is wrong, rather than the system.
    pub fn is_input(&self) -> bool {
        matches!(self, HostError::Config(_) | HostError::Argument(_))
    }
}

/// The longest time that the end waits for drives to take their settings of before.
const LAST_WAIT: Duration = Duration::from_secs(20);

/// Time between two times at which what was learned is kept.
const KEEP_EVERY: Span = Span(600_000_000_000);

/// The daemon.
pub struct Daemon {
    file: PathBuf,
    config: Config,
    originals: Originals,
    parts: Vec<Part>,
    racks: Vec<Rack>,
    /// None in a dry run, which keeps nothing.
    state: Option<StateFile>,
    socket: Socket,
    /// What `status` and the page of metrics show.
    shown: Arc<Mutex<Value>>,
    page: Option<Page>,
    /// When what was learned is kept next.
    next_keep: Time,
    /// Held as long as it runs: two daemons would undo each other's settings.
    _lock: File,
}

/// A group with its meters.
struct Part {
    group: Group,
    meters: Option<Meters>,
    stats: Stat,
    pairs: Pairs,
    watched: Option<Watched>,
    /// When it made its last step.
    stepped: Option<Time>,
    file: CapFile,
    hooks: Vec<Hooked>,
    emergency: Option<Emergency>,
}

/// The settings of a drive of the configuration, if it is there.
pub fn open_drive(drive: &config::Drive) -> Option<Arc<dyn Knobs>> {
    let files = Files::new(drive.folder()?, drive.cgroup.as_ref().map(PathBuf::from));
    files.is_present().then(|| Arc::new(files) as Arc<dyn Knobs>)
}

/// Takes the lock beside the file of originals.
///
/// # Errors
/// The folder cannot be written, or another daemon has it.
fn lock(originals: &Path) -> Result<File, HostError> {
    let mut name = originals.as_os_str().to_owned();
    name.push(".lock");
    let path = PathBuf::from(name);
    let failed = |why: io::Error| HostError::File { what: "lock", path: path.clone(), why };
    let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
    let operation = rustix::fs::FlockOperation::NonBlockingLockExclusive;
    match rustix::fs::flock(&file, operation) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => {
            Err(failed(io::Error::other("another headstack-capd is running with these originals")))
        }
        Err(e) => Err(failed(e.into())),
    }
}

/// Restores what an earlier run has left behind. Returns how many drives could not be restored.
///
/// # Errors
/// The file of originals cannot be read or written.
pub fn recover(config: &Config, originals: &mut Originals) -> Result<usize, HostError> {
    let n = originals.drives().len();
    if n == 0 {
        return Ok(0);
    }
    warn!(drives = n, "an earlier run has left settings behind; they are restored");
    let configured = |name: &str| {
        let mut drives = config.group.iter().flat_map(|g| &g.drive);
        drives.find(|d| d.name() == name)
    };
    let find = |name: &str| {
        let drive = configured(name)?;
        let files = Files::new(drive.folder()?, drive.cgroup.as_ref().map(PathBuf::from));
        files.is_present().then_some(files)
    };
    let failed = restore(originals, find).map_err(|why| HostError::File {
        what: "originals",
        path: PathBuf::from(&config.originals),
        why,
    })?;
    let is_away = |(name, _): &&(String, String)| configured(name).is_some() && find(name).is_none();
    let (away, failed): (Vec<_>, Vec<_>) = failed.iter().partition(is_away);
    for (drive, _) in &away {
        warn!(drive, "it is not there; its settings are kept until it is back");
    }
    for (drive, why) in &failed {
        error!(drive, "not restored: {why}");
    }
    let restored = n - failed.len() - away.len();
    info!(restored, failed = failed.len(), absent = away.len());
    Ok(failed.len())
}

/// The originals of a configuration, with the lock that goes with them.
///
/// # Errors
/// The file or its folder cannot be used.
pub fn open_originals(config: &Config) -> Result<(Originals, File), HostError> {
    let path = PathBuf::from(&config.originals);
    if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
        // What fails here fails again below, with the file's name.
        let _ = std::fs::create_dir_all(folder);
    }
    let lock = lock(&path)?;
    let originals =
        Originals::open(&path).map_err(|why| HostError::File { what: "originals", path: path.clone(), why })?;
    Ok((originals, lock))
}

impl Daemon {
    /// Reads the configuration, restores what an earlier run left behind, and finds the drives.
    ///
    /// # Errors
    /// A wrong configuration; files and sockets that cannot be used.
    pub fn start(file: &Path, apply: Option<bool>) -> Result<Daemon, HostError> {
        let mut config = Config::open(file)?;
        config.apply = apply.unwrap_or(config.apply);
        let (mut originals, lock) = open_originals(&config)?;
        if config.apply {
            recover(&config, &mut originals)?;
        }
        let every = Duration::from_nanos(config.interval.non_negative());
        let mut parts = Vec::new();
        for group in &config.group {
            let opener: Opener = Box::new(open_drive);
            parts.push(Part {
                group: Group::new(group, config.apply, opener),
                meters: None,
                stats: Stat::default(),
                pairs: Pairs::default(),
                watched: Watched::start(group, open_drive, every)?,
                stepped: None,
                file: CapFile::new(group.cap_file.as_ref()),
                hooks: group.hook.iter().map(Hooked::new).collect(),
                emergency: group.emergency.map(|e| Emergency::new(e, emergency::PROGRAM)),
            });
        }
        let racks = config.rack.iter().map(|r| Rack::new(r, &config.group));
        let racks = racks.collect();
        let state = config.apply.then(|| StateFile::open(&config.state_file(), clock::now()));
        let socket = Socket::bind(Path::new(&config.socket))?;
        let shown = Arc::new(Mutex::new(Value::Null));
        let page = config.metrics.as_ref().map(|address| {
            let shown = shown.clone();
            let render = move || {
                let shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
                Some(page::metrics(&shown))
            };
            Page::serve(address, false, Box::new(render))
        });
        let page = page.transpose().map_err(|e| match e {
            PageError::Address(text) => HostError::Argument(text),
            PageError::System(e) => HostError::System(e),
        })?;
        let mut daemon = Daemon {
            file: file.into(),
            config,
            originals,
            parts,
            racks,
            state,
            socket,
            shown,
            page,
            next_keep: clock::now() + KEEP_EVERY,
            _lock: lock,
        };
        daemon.look(clock::now())?;
        daemon.resume(clock::now());
        // One that was killed may have sent drives away.
        daemon.end_emergencies();
        daemon.show(clock::now());
        Ok(daemon)
    }

    /// Where metrics are served.
    pub fn metrics(&self) -> Option<&str> {
        self.page.as_ref().map(|page| &*page.address)
    }

    /// Runs until `stop`; at its end all drives have their settings of before. `reload` reads the caps of the
    /// configuration again.
    ///
    /// # Errors
    /// A policy that cannot be built for the drives that are there; drives that were not restored.
    pub fn run(&mut self, stop: &AtomicBool, reload: &AtomicBool) -> Result<(), HostError> {
        let mode = if self.config.apply { "settings are written" } else { "dry run" };
        info!(config = %self.file.display(), mode, "started");
        notify(&[NotifyState::Ready]);
        let every = Duration::from_nanos(self.config.interval.non_negative());
        let mut ended = Ok(());
        while !stop.load(Ordering::Relaxed) {
            if reload.swap(false, Ordering::Relaxed) {
                self.reload();
            }
            let now = clock::now();
            if let Err(e) = self.look(now) {
                ended = Err(e);
                break;
            }
            self.step(now);
            self.keep_learned(now);
            self.keep_state(now, false);
            self.show(now);
            notify(&[NotifyState::Watchdog]);
            self.answer(every);
        }
        notify(&[NotifyState::Stopping]);
        self.keep_learned(Time::NEVER);
        self.keep_state(clock::now(), true);
        let restored = self.release();
        ended.and(restored)
    }

    /// Looks which drives are there, and starts meters for them.
    fn look(&mut self, now: Time) -> Result<(), HostError> {
        for (i, part) in self.parts.iter_mut().enumerate() {
            let changed = part.group.look(now, &mut self.originals);
            let changed = changed.map_err(|e| e.within(&format!("group[{i}]")));
            if changed.map_err(|e| e.in_file(self.file.display()))? || part.meters.is_none() {
                part.stats.stop();
                let every = Duration::from_nanos(self.config.interval.non_negative());
                part.stats = Stat::start(part.group.knobs(), every)?;
                part.meters = Some(Meters::start(&part.group.config, &part.stats)?);
                part.pairs = Pairs::default();
            }
        }
        Ok(())
    }

    fn step(&mut self, now: Time) {
        let groups = self.parts.iter_mut().map(|p| &mut p.group);
        let mut groups: Vec<&mut Group> = groups.collect();
        for rack in &mut self.racks {
            rack.step(now, &mut groups);
        }
        for part in &mut self.parts {
            part.read_cap_file();
            let sum = part.meters.as_mut().and_then(Meters::sum);
            let passed = part.stepped.map(|before| now.since(before));
            part.stepped = Some(now);
            if let Some(watched) = &mut part.watched {
                part.group.watched = watched.watts(passed.unwrap_or(Span::ZERO));
            }
            let work = part.work();
            let meters = part.meters.as_ref();
            part.group.silence = meters.map(|m| m.failures(now)).unwrap_or_default();
            part.group.step(now, sum, work, &mut self.originals);
            for hook in &mut part.hooks {
                hook.step(now, &part.group, self.config.apply);
            }
            if let Some(emergency) = &mut part.emergency {
                emergency.step(now, &part.group, self.config.apply);
            }
        }
    }

    /// Drives that may have been sent to a low-power condition follow their own timers.
    fn end_emergencies(&mut self) {
        let apply = self.config.apply;
        let all = self.parts.iter_mut().filter(|_| apply);
        all.for_each(|p| p.emergency.iter_mut().for_each(|e| e.release(&p.group, true)));
    }

    /// Keeps what policies have learned, when it is time.
    fn keep_learned(&mut self, now: Time) {
        if now < self.next_keep {
            return;
        }
        for part in &mut self.parts {
            part.group.keep_learned();
        }
        self.next_keep = clock::now() + KEEP_EVERY;
    }

    /// Goes on from the state of an earlier run: its caps, and its policies where they stood.
    fn resume(&mut self, now: Time) {
        let Some(state) = &mut self.state else { return };
        for one in capped(&mut self.parts, &mut self.racks) {
            let kept = state.cap(one.name(), one.configured());
            if let Some(Err(e)) = kept.map(|cap| one.set_cap(cap)) {
                error!(name = one.name(), "state: {e}");
            }
        }
        for part in &mut self.parts {
            state.resume(&mut part.group, now);
        }
    }

    /// Keeps caps and where policies stand, when it is time.
    fn keep_state(&mut self, now: Time, is_last: bool) {
        let Some(state) = &mut self.state else { return };
        let groups: Vec<&Group> = self.parts.iter().map(|p| &p.group).collect();
        let cap = |configured, cap| Cap { configured, cap };
        let of_groups = groups.iter().map(|g| (g.config.name.as_str(), cap(g.config.cap, g.cap)));
        let of_racks = self.racks.iter().map(|r| (r.config.name.as_str(), cap(r.config.cap, r.cap)));
        let caps: Vec<(&str, Cap)> = of_groups.chain(of_racks).collect();
        state.keep(now, &caps, &groups, is_last);
    }

    /// Answers the socket until the next step is due.
    fn answer(&mut self, every: Duration) {
        let end = std::time::Instant::now() + every;
        loop {
            let left = end.saturating_duration_since(std::time::Instant::now());
            let Some((request, reply)) = self.socket.request(left) else { return };
            let answer = match request {
                Request::Status => {
                    let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
                    Ok(shown.clone())
                }
                Request::Cap { group, cap } => self.set_cap(group.as_deref(), cap),
            };
            // Whoever asked may have left.
            let _ = reply.send(answer.map_err(|e| e.to_string()));
        }
    }

    fn set_cap(&mut self, group: Option<&str>, cap: Option<Watts>) -> Result<Value, SpecError> {
        let groups = self.config.group.iter().map(|g| g.name.as_str());
        let racks = self.config.rack.iter().map(|r| r.name.as_str());
        let names: Vec<&str> = groups.chain(racks).collect();
        let name = names[chosen("group", &names, group)?];
        if let Some(rack) = self.racks.iter_mut().find(|r| r.config.name == name) {
            check_most(cap, rack.config.most_cap(&self.config.group))?;
            rack.set_cap(cap)?;
            return Ok(json!({ "rack": name, "cap_w": cap.map(|c| c.0) }));
        }
        let parts = self.parts.iter_mut();
        for part in parts.filter(|p| p.group.config.name == name) {
            // Meters may show more than was said of the group.
            let shown = part.group.at_meters().map_or(0.0, |watts| 2.0 * watts.0);
            check_most(cap, Watts(part.group.config.most_cap().0.max(shown)))?;
            part.set_cap(cap)?;
        }
        Ok(json!({ "group": name, "cap_w": cap.map(|c| c.0) }))
    }

    /// Reads the caps of the configuration again; all else needs a new start.
    fn reload(&mut self) {
        let config = match Config::open(&self.file) {
            Ok(config) => config,
            Err(e) => return error!("not read again: {e}"),
        };
        let groups = config.group.iter().map(|g| (g.name.as_str(), g.cap));
        let racks = config.rack.iter().map(|r| (r.name.as_str(), r.cap));
        // Names of groups and racks are all different.
        let caps: BTreeMap<&str, Option<Watts>> = groups.chain(racks).collect();
        for one in capped(&mut self.parts, &mut self.racks) {
            match caps.get(one.name()) {
                None => warn!(name = one.name(), "it is no longer in the configuration; start again"),
                Some(cap) => {
                    one.configure(*cap);
                    if let Err(e) = one.set_cap(*cap) {
                        error!(name = one.name(), "{e}");
                    }
                }
            }
        }
    }

    /// Gives all drives their settings of before, within a bounded time.
    fn release(&mut self) -> Result<(), HostError> {
        self.end_emergencies();
        self.parts.iter_mut().flat_map(|p| &mut p.emergency).for_each(Emergency::finish);
        let end = std::time::Instant::now() + LAST_WAIT;
        loop {
            let mut is_done = true;
            for part in &mut self.parts {
                is_done &= part.group.release(clock::now(), &mut self.originals);
            }
            if is_done {
                let absent = self.originals.drives().join(", ");
                if !absent.is_empty() {
                    warn!(absent, "their settings are kept until they are back");
                }
                info!("ended; all drives that are there have their settings of before");
                return Ok(());
            }
            if std::time::Instant::now() >= end {
                let left = self.originals.drives().join(", ");
                let why = io::Error::other(format!("not restored in time: {left}"));
                return Err(HostError::File { what: "originals", path: PathBuf::from(&self.config.originals), why });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn show(&self, now: Time) {
        let groups: Vec<Value> = self.parts.iter().map(|p| p.shown(now)).collect();
        let all: Vec<&Group> = self.parts.iter().map(|p| &p.group).collect();
        let racks: Vec<Value> = self.racks.iter().map(|r| r.shown(&all)).collect();
        let document = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "applies": self.config.apply,
            "groups": groups,
            "racks": racks,
        });
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = document;
    }
}

/// What has a cap of its own: a group or a rack.
trait Capped {
    fn name(&self) -> &str;
    /// The cap of the configuration.
    fn configured(&self) -> Option<Watts>;
    /// The configuration has another cap now.
    fn configure(&mut self, cap: Option<Watts>);
    /// Another cap is in force from now on.
    ///
    /// # Errors
    /// A cap that cannot be kept.
    fn set_cap(&mut self, cap: Option<Watts>) -> Result<(), SpecError>;
}

/// All groups, then all racks.
fn capped<'a>(parts: &'a mut [Part], racks: &'a mut [Rack]) -> impl Iterator<Item = &'a mut dyn Capped> {
    let parts = parts.iter_mut().map(|p| p as &mut dyn Capped);
    parts.chain(racks.iter_mut().map(|r| r as &mut dyn Capped))
}

impl Capped for Rack {
    fn name(&self) -> &str {
        &self.config.name
    }

    fn configured(&self) -> Option<Watts> {
        self.config.cap
    }

    fn configure(&mut self, cap: Option<Watts>) {
        self.config.cap = cap;
    }

    fn set_cap(&mut self, cap: Option<Watts>) -> Result<(), SpecError> {
        Rack::set_cap(self, cap)
    }
}

impl Capped for Part {
    fn name(&self) -> &str {
        &self.group.config.name
    }

    fn configured(&self) -> Option<Watts> {
        self.group.config.cap
    }

    fn configure(&mut self, cap: Option<Watts>) {
        self.group.config.cap = cap;
    }

    fn set_cap(&mut self, cap: Option<Watts>) -> Result<(), SpecError> {
        let base = self.group.config.base;
        if let Some(cap) = cap.filter(|c| !(c.0 > base.0 && c.0.is_finite())) {
            let need = format!("more than {base}, what the meters count besides the drives");
            return Err(SpecError::new("cap", cap, need));
        }
        if self.group.cap != cap {
            info!(name = self.name(), cap = cap.map(|c| c.0), "new cap");
        }
        self.group.cap = cap;
        Ok(())
    }
}

impl Part {
    /// A change of the cap file is a change of the cap. What cannot be read leaves the cap as it is.
    fn read_cap_file(&mut self) {
        if let Some(cap) = self.file.changed() {
            if let Err(e) = self.set_cap(cap) {
                error!(name = self.name(), "cap file: {e}");
            }
        }
    }

    /// Mean time and rate of the requests between the last two readings of the counts.
    fn work(&mut self) -> Option<Work> {
        if !self.pairs.take(self.stats.last()) {
            return None;
        }
        let (mut n, mut total_s, mut per_s) = (0, 0.0, 0.0);
        for pair in self.pairs.each() {
            let (Some(before), Some(after)) = pair else { continue };
            let Some((old, new, span)) = after.since(&before) else { continue };
            if let Some((requests, mean_s)) = new.since(&old) {
                n += requests;
                total_s += mean_s * requests as f64;
                per_s += requests as f64 / span.as_secs_f64();
            }
        }
        (n > 0).then(|| Work { response_time: Span::from_secs_f64(total_s / n as f64), rate: Some(Frequency(per_s)) })
    }

    fn shown(&self, now: Time) -> Value {
        let commands = self.group.commands();
        let drives: Vec<Value> = (self.group.drives().enumerate())
            .map(|(i, (config, drive))| {
                let command = commands.iter().find(|c| c.0 == i);
                let given = command.and_then(|c| c.1);
                json!({
                    "name": config.name(),
                    "tier": config.tier,
                    "present": drive.is_some(),
                    "in_force": command.is_some_and(|c| c.2),
                    "pending": drive.is_some_and(|d| d.is_pending()),
                    "nr_requests": given.map(|c| c.nr_requests),
                    "queue_depth": given.map(|c| c.queue_depth),
                    "read_expire_ms": given.and_then(|c| c.read_expire).map(Span::as_ms),
                    "writes": drive.map_or(0, |d| d.writes),
                    "failures": drive.map_or(0, |d| d.failures),
                    "conflicts": drive.map_or(0, |d| d.conflicts),
                    "failure": drive.and_then(|d| d.trouble().or(d.failure.clone())),
                })
            })
            .collect();
        let excess = match self.group.state {
            crate::group::State::Unreachable { excess } => Some(excess.0),
            _ => None,
        };
        let meters = self.meters.as_ref();
        json!({
            "name": self.group.config.name,
            "policy": self.group.config.policy,
            "state": self.group.state.name(),
            "cap_w": self.group.limit().map(|c| c.0),
            "share_w": self.group.share.map(|c| c.0),
            "power_w": self.group.at_meters().map(|w| w.0),
            "watched_w": self.watched.as_ref().map(|_| self.group.watched.0),
            "excess_w": excess,
            "emergency": self.emergency.as_ref().and_then(|e| e.condition()),
            "over_s": self.group.over_s,
            "over_for_s": self.group.over_for(now).as_secs_f64(),
            "reading_age_s": meters.and_then(|m| m.age(now)).map(Span::as_secs_f64),
            "meter_failures": self.group.silence,
            "drives": drives,
        })
    }
}

fn notify(state: &[NotifyState]) {
    // Without systemd nobody listens.
    let _ = sd_notify::notify(false, state);
}
