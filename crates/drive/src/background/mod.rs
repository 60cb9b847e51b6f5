//! What an assembly does when no command wants it: jobs.
//!
//! # Contract
//! - A job works only while its assembly has nothing else under way; of jobs that could begin, the one
//!   that is due first does, then the one that stands first in the list.
//! - Jobs are brought up to a time when somebody asks ([`BackgroundJob::go_on`]); in how many steps
//!   changes nothing.
//! - All that a job does with the mechanism goes through its [`Site`] and thus into the timeline.
//! - A command may take the mechanism at any time: [`BackgroundJob::give_way`] says when it has it.
//!
//! To add one: write `crates/drive/src/background/NAME.rs` with a type that implements
//! [`BackgroundJob`], add `NAME: Type` to the list.

use crate::assembly::Mechanism;
use crate::buffer::Buffer;
use crate::mechanics::Mechanics;
use crate::parallelism::Path;
use crate::phase::{ActiveByWork, Stretch, Work};
use crate::service::channels::Channels;
use crate::service::pass::{self, Order, Pass, Scratch};
use crate::spec::CacheSpec;

/// A time that does not come.
pub(crate) const NEVER: u64 = u64::MAX;

/// What a job, or a command, works with: one assembly and what the drive has only once.
pub(crate) struct Site<'a> {
    /// The clock: nothing is asked about earlier times any more.
    pub now: u64,
    pub mechanics: &'a Mechanics,
    pub cache: &'a CacheSpec,
    /// What all head sets reach, and which is the first of the assembly.
    pub all_paths: &'a [Path],
    pub first_path: usize,
    /// Some head set does not reach everything.
    pub restricted: bool,
    /// Since when a command waits for the mechanism: no job begins then.
    pub wanted_since: u64,
    /// When something last happened that may make a job due: none that it makes due begins before.
    pub happened: u64,
    pub mechanism: &'a mut Mechanism,
    pub buffer: &'a mut Buffer,
    pub scratch: &'a mut Scratch,
    pub channels: Option<&'a mut Channels>,
}

impl Site<'_> {
    /// What the head sets of the assembly reach, the first of them first.
    #[inline]
    pub fn paths(&self) -> &[Path] {
        &self.all_paths[self.first_path..]
    }

    /// Whether the acting head set reaches a surface.
    #[inline]
    pub fn reaches(&self, head: u16) -> bool {
        !self.restricted || self.paths()[self.mechanism.acting].surfaces >> head & 1 == 1
    }

    /// Runs a pass with the acting head set.
    #[inline(always)]
    pub fn pass(&mut self, order: &Order, work: Work) -> Pass {
        let mechanism = &mut *self.mechanism;
        let before = mechanism.arms[mechanism.acting];
        let arm = &mut mechanism.arms[mechanism.acting];
        let channels = self.channels.as_deref_mut();
        let pass = pass::run(self.mechanics, arm, order, self.scratch, channels);
        let cylinders = self.mechanics.seek.cylinders();
        let paths = &self.all_paths[self.first_path..];
        mechanism.carry(paths, cylinders, &before, order.start);
        if self.scratch.stretches.is_empty() {
            let there = order.start + pass.seek;
            let stretch = Stretch {
                work,
                write: order.write,
                start: order.start,
                distance: pass.distance,
                there,
                first: there + pass.rotation,
                end: pass.end,
            };
            mechanism.timeline.add(self.now, stretch);
        } else {
            for stretch in self.scratch.stretches.drain(..) {
                mechanism
                    .timeline
                    .add(self.now, Stretch { work, ..stretch });
            }
        }
        mechanism.free = pass.end;
        pass
    }

    /// Some sectors of the pass that was just run are written in part: they were read in this turn
    /// and are written in the next.
    pub fn write_in_next_turn(&mut self, pass: &mut Pass, work: Work) {
        let turn = self.mechanics.rotation.period_ns() as u64;
        let wait = Stretch {
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

/// Work of an assembly that no command waits for.
pub(crate) trait BackgroundJob {
    /// Whether the mechanism is at work for it, or about to be.
    fn is_under_way(&self) -> bool;
    /// When it would begin on the idle mechanism if nothing else came; [`NEVER`]: it has nothing to do.
    #[inline]
    fn due(&self, _site: &Site) -> u64 {
        NEVER
    }
    /// Begins at `at`, when it is due.
    fn begin(&mut self, _site: &mut Site, _at: u64) {}
    /// Does what happens before `until`; the time at which it ended, if it did.
    fn go_on(&mut self, site: &mut Site, until: u64) -> Option<u64>;
    /// When it ends if nothing else comes, where that is known already; else [`NEVER`].
    fn ends(&self) -> u64 {
        NEVER
    }
    /// Ends early, because a command wants the mechanism at `at`; returns when it can have it.
    fn give_way(&mut self, site: &mut Site, at: u64) -> u64;
    /// Adds the time that it has under way outside the timeline, up to `until`.
    fn add_active(&self, _until: u64, _sum: &mut ActiveByWork) {}
    /// Since when it has something under way outside the timeline; [`NEVER`]: it has nothing.
    fn begun(&self) -> u64 {
        NEVER
    }
}

/// Makes the modules, the jobs of an assembly, and what is asked of whichever is under way.
macro_rules! jobs {
    ($($name:ident: $type:ident),+ $(,)?) => {
        $(pub(crate) mod $name;)+

        /// The jobs of an assembly. At most one is under way.
        #[derive(Debug, Default)]
        pub(crate) struct Jobs {
            $(pub $name: $name::$type,)+
        }

        impl Jobs {
            /// Whether one of them is under way.
            #[inline]
            pub fn any_under_way(&self) -> bool {
                $(self.$name.is_under_way())||+
            }

            /// Brings the assembly's background up to `until`.
            #[inline(always)]
            pub fn run(&mut self, site: &mut Site, until: u64) {
                loop {
                    $(if self.$name.is_under_way() {
                        match self.$name.go_on(site, until) {
                            None => return,
                            Some(end) => site.mechanism.free = site.mechanism.free.max(end),
                        }
                        continue;
                    })+
                    if !self.begin_next(site, until) {
                        return;
                    }
                }
            }

            /// The next time at which one ends, as far as that is known, or begins.
            pub fn next_event(&self, site: &Site) -> u64 {
                let mut first = NEVER;
                $(if self.$name.is_under_way() {
                    return self.$name.ends();
                })+
                $(first = first.min(self.$name.due(site));)+
                first
            }

            /// Brings the one that is under way up to `until` and begins no other; true if it ended.
            pub fn go_on(&mut self, site: &mut Site, until: u64) -> bool {
                $(if self.$name.is_under_way() {
                    let Some(end) = self.$name.go_on(site, until) else {
                        return false;
                    };
                    site.mechanism.free = site.mechanism.free.max(end);
                    return true;
                })+
                false
            }

            /// Begins the one that is due first, if that is before `until`.
            #[inline]
            fn begin_next(&mut self, site: &mut Site, until: u64) -> bool {
                let mut first = NEVER;
                $(first = first.min(self.$name.due(site));)+
                if first >= until {
                    return false;
                }
                $(if self.$name.due(site) == first {
                    self.$name.begin(site, first);
                    return true;
                })+
                false
            }

            /// Time that they have under way outside the timeline, up to `until`.
            pub fn add_active(&self, until: u64, sum: &mut ActiveByWork) {
                $(self.$name.add_active(until, sum);)+
            }

            /// Since when one of them has something under way outside the timeline, or [`NEVER`].
            pub fn begun(&self) -> u64 {
                let mut first = NEVER;
                $(first = first.min(self.$name.begun());)+
                first
            }
        }
    };
}

jobs! { read_ahead: ReadAhead, destage: Destage, media_scan: MediaScan }

impl Jobs {
    /// Stops read-ahead, if there is any, for other work at `at`; returns when the mechanism is free.
    #[inline]
    pub fn stop_read_ahead(&mut self, site: &mut Site, at: u64) -> u64 {
        if !self.read_ahead.is_under_way() {
            return 0;
        }
        let free = self.read_ahead.give_way(site, at);
        site.mechanism.free = site.mechanism.free.max(free);
        free
    }
}
