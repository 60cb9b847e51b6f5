//! The loop of a live system: sockets of its front ends, simulated devices and the clock, in one thread.

use crate::control::Inbox;
use crate::counters::Counters;
use crate::live::{Done, Live};
use crate::TargetError;
use rustix::event::{epoll, Timespec};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub use rustix::event::epoll::EventFlags;

/// Clients that do not take their replies are left so long after the end was asked for.
const DRAIN: Duration = Duration::from_secs(5);
/// Longest sleep, so that the end is noticed.
const NAP: Duration = Duration::from_millis(100);
/// Before an event, the loop watches without sleeping: waking up takes longer than that.
const WATCH: Duration = Duration::from_micros(80);
/// After the last request or reply, a busy loop goes on watching for so long.
const LINGER: Duration = Duration::from_millis(100);
/// So often time jumps before clients are looked at again, if nothing waits. Each look takes two calls of the system,
/// and replies of one look are sent together.
const JUMPS: usize = 32;
/// Keys of one front end are below this.
const KEYS: u64 = 1 << 48;
/// The number in place of a front end's under which the inbox is watched.
const INBOX: usize = 0xffff;

/// Who speaks to clients: takes their requests to the system, and its completions to them.
pub trait FrontEnd {
    /// Puts the sockets for new clients under watch.
    ///
    /// # Errors
    /// The system refuses.
    fn begin(&mut self, watch: Watch) -> io::Result<()>;
    /// A socket under watch has something.
    fn ready(&mut self, watch: Watch, key: u64);
    /// A request of this front end has ended. The reply may be sent in the next [`FrontEnd::work`].
    fn completed(&mut self, live: &mut Live, done: &Done);
    /// Does what it can without waiting.
    fn work(&mut self, watch: Watch, live: &mut Live);
    /// Whether [`FrontEnd::work`] would do more at once.
    fn has_work(&self) -> bool;
    /// Power was lost: connections end, and new ones may come.
    fn disconnect(&mut self);
    /// The end was asked for: no new clients, no new requests.
    fn end(&mut self, watch: Watch);
    /// Whether all that was taken is answered.
    fn is_idle(&self) -> bool;
}

/// Where a front end puts its sockets under watch.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    poll: &'a OwnedFd,
    /// Number of this front end, for tickets.
    pub front_end: usize,
}

impl Watch<'_> {
    fn data(&self, key: u64) -> epoll::EventData {
        epoll::EventData::new_u64(self.front_end as u64 * KEYS + key)
    }

    /// Watches a socket; `key` is below 2^48.
    ///
    /// # Errors
    /// The system refuses.
    pub fn add(&self, socket: impl AsFd, key: u64, wanted: EventFlags) -> io::Result<()> {
        Ok(epoll::add(self.poll, socket, self.data(key), wanted)?)
    }

    /// Watches for something else.
    ///
    /// # Errors
    /// The system refuses.
    pub fn change(&self, socket: impl AsFd, key: u64, wanted: EventFlags) -> io::Result<()> {
        Ok(epoll::modify(self.poll, socket, self.data(key), wanted)?)
    }

    /// Watches a socket no longer; one that is closed need not be removed.
    pub fn remove(&self, socket: impl AsFd) {
        // It is under watch, so nothing fails.
        let _ = epoll::delete(self.poll, socket);
    }
}

/// Waits for events, so long at most.
fn await_events(poll: &OwnedFd, wait: Duration, events: &mut Vec<epoll::Event>) -> io::Result<()> {
    let timeout = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
    events.clear();
    match epoll::wait(poll, rustix::buffer::spare_capacity(events), Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

/// Serves until `stop` is set; then what is outstanding is answered. Returns what was counted.
///
/// # Errors
/// The system has no more sockets.
pub fn serve(
    mut live: Live,
    fronts: &mut [&mut dyn FrontEnd],
    inbox: &Inbox,
    stop: &AtomicBool,
) -> Result<Counters, TargetError> {
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(io::Error::from)?;
    let watch = |front_end| Watch { poll: &poll, front_end };
    let work = |fronts: &mut [&mut dyn FrontEnd], live: &mut Live| {
        fronts.iter_mut().enumerate().for_each(|(i, front)| front.work(watch(i), live));
    };
    fronts.iter_mut().enumerate().try_for_each(|(i, front)| front.begin(watch(i)))?;
    watch(INBOX).add(inbox.as_fd(), 0, EventFlags::IN)?;
    // By default the system may wake this thread 50 us late. Where it does not allow less, that stays so.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let mut events = Vec::with_capacity(256);
    let mut last_event = Instant::now();
    let mut ending: Option<Instant> = None;
    loop {
        // What has arrived is taken before time jumps.
        work(fronts, &mut live);
        for _ in 0..JUMPS {
            live.advance(|live, done| fronts[done.ticket.front_end].completed(live, &done))?;
            if !live.skip() {
                break;
            }
        }
        live.sample();
        if std::mem::take(&mut live.disconnects) {
            fronts.iter_mut().for_each(|front| front.disconnect());
        }
        if ending.is_none() && stop.load(Ordering::Relaxed) {
            ending = Some(Instant::now());
            fronts.iter_mut().enumerate().for_each(|(i, front)| front.end(watch(i)));
        }
        work(fronts, &mut live);
        let is_over = |since: Instant| since.elapsed() > DRAIN || fronts.iter().all(|f| f.is_idle());
        if ending.is_some_and(is_over) {
            break;
        }
        let watches = live.is_busy() && (live.outstanding() > 0 || last_event.elapsed() < LINGER);
        let wait = match watches || fronts.iter().any(|f| f.has_work()) {
            true => Duration::ZERO,
            false => (live.until_next()).map_or(NAP, |wait| wait.saturating_sub(WATCH).min(NAP)),
        };
        await_events(&poll, wait, &mut events)?;
        if live.is_busy() && !events.is_empty() {
            last_event = Instant::now();
        }
        for event in &events {
            let (front, key) = (event.data.u64() / KEYS, event.data.u64() % KEYS);
            match fronts.get_mut(front as usize) {
                Some(front_end) => front_end.ready(watch(front as usize), key),
                None => inbox.serve(&mut live),
            }
        }
    }
    Ok(live.finish())
}
