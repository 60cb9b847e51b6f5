//! Background jobs: what an assembly does while no command uses it.
//!
//! # Contract
//! - An assembly does one thing at a time, its [`Activity`]. A service is computed when it begins, so what is left of it
//!   is only in the timeline.
//! - A job begins only when its assembly has nothing else to do. Of several jobs that could begin, the one
//!   that is due first does; at equal times the one that is first in the list.
//! - An activity is brought up to date when a caller asks for a time ([`Jobs::go_on`]). Results do not
//!   depend on the steps in which this is done.
//! - A job uses the mechanism only through its [`JobContext`], so all its movements are in the timeline.
//! - A command may claim the mechanism at any time. Read-ahead gives way then; all other activities are completed first.
//!
//! To add a job: write `crates/drive/src/background/NAME.rs` with a type that implements [`BackgroundJob`],
//! [`Default`] and [`Debug`](std::fmt::Debug), and add `NAME: Type` to the list.

pub(crate) mod media_scan;
pub(crate) mod read_ahead;

use crate::assembly::Mechanism;
use crate::buffer::{Buffer, PartialSector};
use crate::mapping::{Mapping, Writer};
use crate::mechanics::Mechanics;
use crate::parallelism::HeadSet;
use crate::phase::{ActiveByWork, MechanicalAccess, Work};
use crate::service::channels::Channels;
use crate::service::pass::{self, AccessRequest, Pass, Scratch};
use crate::spec::CacheSpec;
use destage::Writing;
use headstack_units::{Span, Time};
use media_scan::Scan;
use read_ahead::ReadAhead;

/// Times that all assemblies of a unit share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// The clock: nobody asks for the state at earlier times any more, and no service starts earlier.
    pub now: Time,
    /// When an event last occurred that may make a background job due. Such a job does not start before this time.
    pub happened: Time,
    /// Since when a command has been waiting for the mechanism: from then on no job starts.
    pub wanted_since: Time,
}

/// What a job or a command works with: one assembly, and the shared parts of its unit.
pub(crate) struct JobContext<'a> {
    pub times: Times,
    pub mechanics: &'a Mechanics,
    pub mapping: &'a mut Mapping,
    pub cache: &'a CacheSpec,
    /// What each head set of the unit reaches, and the index of this assembly's first one.
    pub all_head_sets: &'a [HeadSet],
    pub first_head_set: usize,
    /// Whether some head set does not reach all surfaces and cylinders.
    pub restricted: bool,
    pub mechanism: &'a mut Mechanism,
    pub buffer: &'a mut Buffer,
    pub scratch: &'a mut Scratch,
    pub channels: Option<&'a mut Channels>,
}

/// Carries out a pass with the active head set of a context over the given places. This is a macro and not a function,
/// because the places borrow the context's mapping.
macro_rules! carry_out {
    ($context:ident, $order:expr, $work:expr, $places:expr) => {{
        let (order, work, places) = ($order, $work, $places);
        let mechanism = &mut *$context.mechanism;
        let before = mechanism.arms[mechanism.active_set];
        let arm = &mut mechanism.arms[mechanism.active_set];
        let channels = $context.channels.as_deref_mut();
        let pass = pass::run($context.mechanics, places, arm, order, $context.scratch, channels);
        let cylinders = $context.mechanics.seek.positions();
        let head_sets = &$context.all_head_sets[$context.first_head_set..];
        mechanism.carry(head_sets, cylinders, &before, order.start);
        mechanism.add_pass($context.times.now, order, work, &pass, $context.scratch);
        pass
    }};
}

impl JobContext<'_> {
    /// When a job that is due at `due` begins: never if a command waits for the mechanism by then.
    #[inline]
    pub fn unless_wanted(&self, due: Time) -> Time {
        match due < self.times.wanted_since {
            true => due,
            false => Time::NEVER,
        }
    }

    /// What the head sets reach, from this assembly's first one on.
    #[inline]
    pub fn head_sets(&self) -> &[HeadSet] {
        &self.all_head_sets[self.first_head_set..]
    }

    /// Whether the active head set reaches surface `head`.
    #[inline]
    pub fn reaches(&self, head: u16) -> bool {
        !self.restricted || self.head_sets()[self.mechanism.active_set].surfaces >> head & 1 == 1
    }

    /// Carries out a pass with the active head set and adds it to the timeline.
    #[inline(always)]
    pub fn pass(&mut self, order: &AccessRequest, work: Work) -> Pass {
        let mut places = &*self.mapping;
        carry_out!(self, order, work, &mut places)
    }

    /// Carries out a pass that writes. If the mapping moves writes, the places are chosen now, and what the order
    /// covers only in part is read first: the sectors `partial`, which are in order, or with a log the old copies of
    /// whole blocks. With the identity the caller adds the turn that sectors written in part need.
    #[inline(always)]
    pub fn write_pass(&mut self, order: &AccessRequest, work: Work, partial: &[PartialSector]) -> Pass {
        match self.mapping {
            Mapping::Identity => self.pass(order, work),
            Mapping::Log(_) => self.write_elsewhere(order, work, partial),
            Mapping::MediaCache(_) => self.write_to_bands(order, work, partial),
        }
    }

    #[inline(never)]
    fn write_elsewhere(&mut self, order: &AccessRequest, work: Work, partial: &[PartialSector]) -> Pass {
        let mut read = Pass { end: order.start, ..Pass::default() };
        let mut after = None;
        while let Mapping::Log(log) = &*self.mapping {
            let Some(block) = log.incomplete_after(after, order, partial) else { break };
            after = Some(block);
            if let Some(copy) = log.read_of(block, read.end) {
                let part = self.pass(&copy, work);
                self.buffer.counted.n_read_modify_writes += 1;
                read = read.then(part);
            }
        }
        let Mapping::Log(log) = &mut *self.mapping else { return read };
        let wide = log.whole_blocks(order, read.end);
        let pass = carry_out!(self, &wide, work, &mut Writer(log));
        if let Mapping::Log(log) = &mut *self.mapping {
            log.pass_ends(pass.end);
        }
        self.write_late_checkpoint();
        self.clean_under_pressure();
        let last_arrival = match order.supply {
            Some(s) if wide.count != order.count => s.start.after(Mechanics::pass_time(order.count, order.link_ns)),
            _ => pass.last_arrival,
        };
        Pass { last_arrival, ..read.then(pass) }
    }

    /// Extends the pass just carried out by a turn. Some of its sectors are written only in part, so they are read in
    /// one turn and written in the next.
    pub fn write_in_next_turn(&mut self, pass: &mut Pass, work: Work) {
        let turn = Span(self.mechanics.rotation.period_ns as i64);
        let wait = MechanicalAccess {
            work,
            write: true,
            start: pass.end,
            distance: 0,
            there: pass.end,
            first: pass.end.after(turn),
            end: pass.end.after(turn),
            track: self.mechanism.track(),
        };
        self.mechanism.timeline.add(self.times.now, wait);
        pass.rotation += turn;
        pass.end = pass.end.after(turn);
    }
}

/// What an assembly does at present, besides the service of a command.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Activity {
    /// Nothing: it serves a command, follows another assembly, or rests.
    #[default]
    None,
    /// It reads ahead until a command claims the mechanism.
    ReadAhead(ReadAhead),
    /// It writes buffered data in a pass.
    Destage(Writing),
    /// It does a step of cleaning, or writes a part of a checkpoint, until this time.
    Step(Time),
    /// It scans the medium all the time.
    Scan,
}

impl Activity {
    /// A step that ends at `end`, if there is one.
    pub fn step(end: Option<Time>) -> Activity {
        end.map_or(Activity::None, Activity::Step)
    }
}

/// A job that an assembly begins by itself while no command uses it.
pub(crate) trait BackgroundJob {
    /// When it would begin if no command came; [`Time::NEVER`] if there is nothing to do.
    fn due(&self, context: &JobContext) -> Time;
    /// Begins the job at `at`, when it is due. Returns what the assembly does from then on.
    fn begin(&mut self, context: &mut JobContext, at: Time) -> Activity;
}

/// Declares the modules of the jobs, the struct [`Jobs`], and how the next job is found.
macro_rules! jobs {
    ($($name:ident: $type:ident),+ $(,)?) => {
        $(pub(crate) mod $name;)+

        /// What an assembly does at present, and the jobs that it may begin next.
        #[derive(Debug, Default)]
        pub(crate) struct Jobs {
            pub activity: Activity,
            $(pub $name: $name::$type,)+
            /// The scan of the medium, if this assembly does it.
            pub media_scan: Option<Box<Scan>>,
        }

        impl Jobs {
            /// When the next job begins if no command comes; [`Time::NEVER`] if there is none.
            fn next_due(&self, context: &JobContext) -> Time {
                let mut first = Time::NEVER;
                $(first = first.min(self.$name.due(context));)+
                first
            }

            /// Begins the job that is due first, if it is due before `until`. True if one was begun.
            #[inline]
            fn begin_next(&mut self, context: &mut JobContext, until: Time) -> bool {
                let first = self.next_due(context);
                if first >= until {
                    return false;
                }
                $(if self.$name.due(context) == first {
                    self.activity = self.$name.begin(context, first);
                    return true;
                })+
                false
            }
        }
    };
}

jobs! {
    destage: Destage,
    checkpoint: Checkpoint,
    cleaning: Cleaning,
    band_cleaning: BandCleaning,
}

impl Jobs {
    /// Whether the assembly does something.
    #[inline]
    pub fn any_under_way(&self) -> bool {
        !matches!(self.activity, Activity::None)
    }

    /// The read-ahead in progress.
    #[inline]
    pub fn read_ahead(&self) -> Option<&ReadAhead> {
        match &self.activity {
            Activity::ReadAhead(read_ahead) => Some(read_ahead),
            _ => None,
        }
    }

    /// The pass in progress that writes buffered data.
    #[inline]
    pub fn writing(&self) -> Option<&Writing> {
        match &self.activity {
            Activity::Destage(writing) => Some(writing),
            _ => None,
        }
    }

    /// Brings the assembly up to `until`, and begins jobs that are due before.
    #[inline(always)]
    pub fn run(&mut self, context: &mut JobContext, until: Time) {
        loop {
            let goes_on = match self.any_under_way() {
                true => self.go_on(context, until),
                false => self.begin_next(context, until),
            };
            if !goes_on {
                return;
            }
        }
    }

    /// When the activity ends, if that is known; without one, when the next job begins.
    pub fn next_event(&self, context: &JobContext) -> Time {
        match &self.activity {
            Activity::None => self.next_due(context),
            Activity::ReadAhead(read_ahead) => read_ahead.run_ends(context.mechanism),
            Activity::Destage(writing) => writing.end,
            Activity::Step(end) => *end,
            Activity::Scan => Time::NEVER,
        }
    }

    /// Brings the activity up to `until` and begins no other. True if it ended.
    #[inline(always)]
    pub fn go_on(&mut self, context: &mut JobContext, until: Time) -> bool {
        match &mut self.activity {
            Activity::None => return false,
            Activity::ReadAhead(read_ahead) => {
                if !read_ahead.read_until(context, until) {
                    return false;
                }
                context.mechanism.timeline.hold_until(read_ahead.from);
            }
            Activity::Destage(writing) => {
                if writing.end > until {
                    return false;
                }
                writing.finish(context);
            }
            Activity::Step(end) => {
                if *end > until {
                    return false;
                }
            }
            Activity::Scan => {
                if let Some(scan) = &mut self.media_scan {
                    scan.read_on(context, until, (Time::ZERO, Time::ZERO));
                }
                return false;
            }
        }
        self.activity = Activity::None;
        true
    }

    /// Work in progress that is not in the timeline yet, as an access that ends when it does.
    pub fn under_way(&self) -> Option<MechanicalAccess> {
        self.read_ahead().and_then(ReadAhead::under_way)
    }

    /// Adds the time, up to `until`, of work that is in progress and not in the timeline yet.
    pub fn add_active(&self, until: Time, sum: &mut ActiveByWork) {
        if let Some(run) = self.under_way() {
            sum[run.work as usize].add(&run.part(until));
        }
    }

    /// Start of the work that is not in the timeline yet; [`Time::NEVER`] if there is none.
    pub fn begun(&self) -> Time {
        self.under_way().map_or(Time::NEVER, |run| run.start)
    }

    /// Begins a pass that writes buffered data, not before `at`; see [`Destage::send`]. False if there are none.
    ///
    /// [`Destage::send`]: destage::Destage::send
    pub fn send(&mut self, context: &mut JobContext, at: Time, all: bool) -> bool {
        let pass = self.destage.send(context, at, all);
        pass.map(|writing| self.activity = Activity::Destage(writing)).is_some()
    }

    /// Ends the pass in progress, whose data are now on the medium, and returns it; `None` if there was none.
    #[inline]
    pub fn finish_destage(&mut self, context: &mut JobContext) -> Option<Writing> {
        let Activity::Destage(writing) = self.activity else { return None };
        self.activity = Activity::None;
        writing.finish(context);
        Some(writing)
    }

    /// Stops read-ahead in favour of other work at `at`. Returns when the mechanism is free; 0 if there was
    /// no read-ahead.
    #[inline]
    pub fn stop_read_ahead(&mut self, context: &mut JobContext, at: Time) -> Time {
        let Activity::ReadAhead(read_ahead) = &mut self.activity else { return Time::ZERO };
        let free = read_ahead.give_way(context, at);
        self.activity = Activity::None;
        context.mechanism.timeline.hold_until(free);
        free
    }
}
