//! Background jobs: what an assembly does while no command uses it.
//!
//! # Contract
//! - A job starts only when its assembly has nothing else to do. Of several jobs that could start, the one
//!   that is due first does; at equal times the one that is first in the list.
//! - A job is brought up to date when a caller asks for a time ([`BackgroundJob::go_on`]). Results do not
//!   depend on the steps in which this is done.
//! - A job uses the mechanism only through its [`JobContext`], so all its movements are in the timeline.
//! - A command may claim the mechanism at any time. [`BackgroundJob::give_way`] says when it gets it.
//!
//! To add one: write `crates/drive/src/background/NAME.rs` with a type that implements [`BackgroundJob`],
//! [`Default`] and [`Debug`](std::fmt::Debug), and add `NAME: Type` to the list.

use crate::assembly::Mechanism;
use crate::buffer::{Buffer, PartialSector};
use crate::mapping::{Mapping, Writer};
use crate::mechanics::Mechanics;
use crate::parallelism::HeadSet;
use crate::phase::{ActiveByWork, MechanicalAccess, Work};
use crate::service::channels::Channels;
use crate::service::pass::{self, AccessRequest, Pass, Scratch};
use crate::spec::CacheSpec;

/// A time later than all others.
pub(crate) const NEVER: u64 = u64::MAX;

/// What a job or a command works with: one assembly, and the shared parts of its unit.
pub(crate) struct JobContext<'a> {
    /// The clock, in nanoseconds: nobody asks for the state at earlier times any more.
    pub now: u64,
    pub mechanics: &'a Mechanics,
    pub mapping: &'a mut Mapping,
    pub cache: &'a CacheSpec,
    /// What each head set of the unit reaches, and the index of this assembly's first one.
    pub all_head_sets: &'a [HeadSet],
    pub first_head_set: usize,
    /// Whether some head set does not reach all surfaces and cylinders.
    pub restricted: bool,
    /// Since when a command has been waiting for the mechanism: from then on no job starts.
    pub wanted_since: u64,
    /// When an event last occurred that can make a job due. Such a job does not start before this time.
    pub happened: u64,
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
        let pass = pass::run(
            $context.mechanics,
            places,
            arm,
            order,
            $context.scratch,
            channels,
        );
        let cylinders = $context.mechanics.positions();
        let head_sets = &$context.all_head_sets[$context.first_head_set..];
        mechanism.carry(head_sets, cylinders, &before, order.start);
        mechanism.add_pass($context.now, order, work, &pass, $context.scratch);
        pass
    }};
}

impl JobContext<'_> {
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
    pub fn write_pass(
        &mut self,
        order: &AccessRequest,
        work: Work,
        partial: &[PartialSector],
    ) -> Pass {
        match self.mapping {
            Mapping::Identity => self.pass(order, work),
            Mapping::Log(_) => self.write_elsewhere(order, work, partial),
            Mapping::MediaCache(_) => self.write_to_bands(order, work, partial),
        }
    }

    #[inline(never)]
    fn write_elsewhere(
        &mut self,
        order: &AccessRequest,
        work: Work,
        partial: &[PartialSector],
    ) -> Pass {
        let mut read = Pass {
            end: order.start,
            ..Pass::default()
        };
        let mut after = None;
        while let Mapping::Log(log) = &*self.mapping {
            let Some(block) = log.incomplete_after(after, order, partial) else {
                break;
            };
            after = Some(block);
            if let Some(copy) = log.read_of(block, read.end) {
                let part = self.pass(&copy, work);
                self.buffer.counted.n_read_modify_writes += 1;
                read = read.then(part);
            }
        }
        let Mapping::Log(log) = &mut *self.mapping else {
            return read;
        };
        let wide = log.whole_blocks(order, read.end);
        let pass = carry_out!(self, &wide, work, &mut Writer(log));
        if let Mapping::Log(log) = &mut *self.mapping {
            log.pass_ends(pass.end);
        }
        self.write_late_checkpoint();
        self.clean_under_pressure();
        let last_arrival = match order.supply {
            Some(s) if wide.count != order.count => {
                s.start + Mechanics::pass_ns(order.count, order.link_ns)
            }
            _ => pass.last_arrival,
        };
        Pass {
            last_arrival,
            ..read.then(pass)
        }
    }

    /// Extends the pass just carried out by a turn. Some of its sectors are written only in part, so they are read in
    /// one turn and written in the next.
    pub fn write_in_next_turn(&mut self, pass: &mut Pass, work: Work) {
        let turn = self.mechanics.rotation.period_ns() as u64;
        let wait = MechanicalAccess {
            work,
            write: true,
            start: pass.end,
            distance: 0,
            there: pass.end,
            first: pass.end + turn,
            end: pass.end + turn,
        };
        self.mechanism.timeline.add(self.now, wait);
        pass.rotation += turn;
        pass.end += turn;
        self.mechanism.free = pass.end;
    }
}

/// A job that an assembly does while no command uses it.
pub(crate) trait BackgroundJob {
    /// Whether the job uses the mechanism, or is about to.
    fn is_under_way(&self) -> bool;
    /// When it would start if no command came; [`NEVER`] if there is nothing to do.
    #[inline]
    fn due(&self, _site: &JobContext) -> u64 {
        NEVER
    }
    /// Starts the job at `at`, when it is due.
    fn begin(&mut self, _site: &mut JobContext, _at: u64) {}
    /// Carries out what happens before `until`. Returns when the job ended, or `None` if it continues.
    fn go_on(&mut self, context: &mut JobContext, until: u64) -> Option<u64>;
    /// When the job ends if no command comes, if that is known; else [`NEVER`].
    fn ends(&self) -> u64 {
        NEVER
    }
    /// Ends the job early because a command claims the mechanism at `at`. Returns when the mechanism is free.
    fn give_way(&mut self, context: &mut JobContext, at: u64) -> u64;
    /// Adds the time, up to `until`, of work that is in progress and not in the timeline yet.
    fn add_active(&self, _until: u64, _sum: &mut ActiveByWork) {}
    /// Start of the work that is not in the timeline yet; [`NEVER`] if there is none.
    fn begun(&self) -> u64 {
        NEVER
    }
}

/// Declares the modules of the jobs, the struct [`Jobs`], and its calls to the job in progress.
macro_rules! jobs {
    ($($name:ident: $type:ident),+ $(,)?) => {
        $(pub(crate) mod $name;)+

        /// The jobs of an assembly. At most one is in progress.
        #[derive(Debug, Default)]
        pub(crate) struct Jobs {
            $(pub $name: $name::$type,)+
        }

        impl Jobs {
            /// Whether a job is in progress.
            #[inline]
            pub fn any_under_way(&self) -> bool {
                $(self.$name.is_under_way())||+
            }

            /// Brings the jobs up to `until`.
            #[inline(always)]
            pub fn run(&mut self, context: &mut JobContext, until: u64) {
                loop {
                    $(if self.$name.is_under_way() {
                        match self.$name.go_on(context, until) {
                            None => return,
                            Some(end) => context.mechanism.free = context.mechanism.free.max(end),
                        }
                        continue;
                    })+
                    if !self.begin_next(context, until) {
                        return;
                    }
                }
            }

            /// When the job in progress ends, if that is known; with no job in progress, when the next one
            /// starts.
            pub fn next_event(&self, context: &JobContext) -> u64 {
                let mut first = NEVER;
                $(if self.$name.is_under_way() {
                    return self.$name.ends();
                })+
                $(first = first.min(self.$name.due(context));)+
                first
            }

            /// Brings the job in progress up to `until` and starts no other. True if it ended.
            pub fn go_on(&mut self, context: &mut JobContext, until: u64) -> bool {
                $(if self.$name.is_under_way() {
                    let Some(end) = self.$name.go_on(context, until) else {
                        return false;
                    };
                    context.mechanism.free = context.mechanism.free.max(end);
                    return true;
                })+
                false
            }

            /// Starts the job that is due first, if it is due before `until`. True if one was started.
            #[inline]
            fn begin_next(&mut self, context: &mut JobContext, until: u64) -> bool {
                let mut first = NEVER;
                $(first = first.min(self.$name.due(context));)+
                if first >= until {
                    return false;
                }
                $(if self.$name.due(context) == first {
                    self.$name.begin(context, first);
                    return true;
                })+
                false
            }

            /// Adds the time, up to `until`, of work that is in progress and not in the timeline yet.
            pub fn add_active(&self, until: u64, sum: &mut ActiveByWork) {
                $(self.$name.add_active(until, sum);)+
            }

            /// Start of the work that is not in the timeline yet; [`NEVER`] if there is none.
            pub fn begun(&self) -> u64 {
                let mut first = NEVER;
                $(first = first.min(self.$name.begun());)+
                first
            }
        }
    };
}

jobs! {
    read_ahead: ReadAhead,
    destage: Destage,
    media_scan: MediaScan,
    checkpoint: Checkpoint,
    cleaning: Cleaning,
    band_cleaning: BandCleaning,
}

impl Jobs {
    /// Whether read-ahead or a write to the medium is in progress.
    #[inline]
    pub fn any_usual_under_way(&self) -> bool {
        self.read_ahead.is_under_way() || self.destage.is_under_way()
    }

    /// As [`Jobs::run`], where no other jobs begin.
    #[inline(always)]
    pub fn run_usual(&mut self, context: &mut JobContext, until: u64) {
        let end = match self.read_ahead.is_under_way() {
            true => self.read_ahead.go_on(context, until),
            false => self.destage.go_on(context, until),
        };
        if let Some(end) = end {
            context.mechanism.free = context.mechanism.free.max(end);
        }
    }

    /// When cleaning or a checkpoint would start.
    pub fn log_due(&self, context: &JobContext) -> u64 {
        self.cleaning.due(context).min(self.checkpoint.due(context))
    }

    /// Stops read-ahead in favour of other work at `at`. Returns when the mechanism is free; 0 if there was
    /// no read-ahead.
    #[inline]
    pub fn stop_read_ahead(&mut self, context: &mut JobContext, at: u64) -> u64 {
        if !self.read_ahead.is_under_way() {
            return 0;
        }
        let free = self.read_ahead.give_way(context, at);
        context.mechanism.free = context.mechanism.free.max(free);
        free
    }
}
