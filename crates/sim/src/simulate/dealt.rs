//! Open requests that are dealt to their drives, and the drives then worked on one after the other.
//!
//! # Model
//! Open requests come at times of their own, and drives do not influence each other. So requests are collected up to
//! the next mark, or up to [`ROOM`] of them; then each drive gets its own, which keeps it in the core's cache, and several
//! threads work on different drives. What a drive completes when it is advanced to the time of a request is counted where
//! that request stands among all: in the order in which it would be without dealing.

use super::Run;
use crate::crew::Crew;
use crate::request_tracker::RequestTracker;
use headstack_block::member::{CompletionReport, Member};
use headstack_drive::DriveRequest;
use headstack_units::Time;

/// Most requests, or parts of requests, that are collected.
const ROOM: usize = 1 << 16;

/// With fewer requests than these, waking other threads takes longer than the drives.
const WORTH: usize = 1 << 9;

/// Shares of the drives that threads take: more than threads, because some have more to do than others.
const SHARES: usize = 32;

/// A request, or a part of one, for a drive.
#[derive(Clone, Copy)]
struct Dealt {
    now: Time,
    member: u32,
    submitter: u32,
    request: DriveRequest,
}

/// Neighbouring drives: their requests, and what they complete.
struct Share<R> {
    /// Drive and number among all requests.
    requests: Vec<(u32, u32)>,
    reports: Vec<R>,
    /// By place in `requests`: the end, in `reports`, of those that come before that request.
    ends: Vec<u32>,
}

/// Where the reports that come before a request are: share, begin and end.
type Before = (u32, u32, u32);

/// Requests that are collected for their drives.
pub(super) struct Deal<R> {
    /// Drives in a share.
    width: usize,
    dealt: Vec<Dealt>,
    shares: Vec<Share<R>>,
    before: Vec<Before>,
}

impl<R: CompletionReport> Deal<R> {
    /// For so many drives.
    pub fn new(members: usize) -> Deal<R> {
        let width = members.div_ceil(SHARES).max(1);
        let share = |_| Share { requests: Vec::new(), reports: Vec::new(), ends: Vec::new() };
        Deal { width, dealt: Vec::new(), shares: (0..members.div_ceil(width)).map(share).collect(), before: Vec::new() }
    }

    #[inline]
    pub fn push(&mut self, now: Time, member: usize, request: DriveRequest, submitter: u32) {
        let number = (member as u32, self.dealt.len() as u32);
        self.shares[member / self.width].requests.push(number);
        self.dealt.push(Dealt { now, member: number.0, submitter, request });
    }

    pub fn is_full(&self) -> bool {
        self.dealt.len() >= ROOM
    }

    /// Gives the drives their requests and counts what they complete.
    pub fn play<M: Member<Report = R>>(&mut self, members: &mut [M], crew: &Crew, host: &mut RequestTracker) {
        let (dealt, width) = (&self.dealt, self.width);
        let drives = members.chunks_mut(width);
        let mut hands: Vec<_> = drives.zip(&mut self.shares).enumerate().collect();
        let play = |(i, (drives, share)): &mut (usize, (&mut [M], &mut Share<R>))| {
            share.play(drives, *i * width, dealt);
        };
        match dealt.len() >= WORTH {
            true => crew.each(&mut hands, play),
            false => hands.iter_mut().for_each(play),
        }
        drop(hands);
        self.before.resize(self.dealt.len(), (0, 0, 0));
        for (i, share) in self.shares.iter().enumerate() {
            let mut begin = 0;
            for ((_, number), end) in share.requests.iter().zip(&share.ends) {
                self.before[*number as usize] = (i as u32, begin, *end);
                begin = *end;
            }
        }
        for (dealt, (share, begin, end)) in self.dealt.iter().zip(&self.before) {
            let reports = &self.shares[*share as usize].reports;
            for report in &reports[*begin as usize..*end as usize] {
                host.part_done(dealt.member as usize, report);
            }
        }
        self.dealt.clear();
        for share in &mut self.shares {
            share.requests.clear();
            share.reports.clear();
            share.ends.clear();
        }
    }
}

impl<R: CompletionReport> Share<R> {
    /// Submits to each drive its requests. `first` is the number of the first drive.
    fn play<M: Member<Report = R>>(&mut self, drives: &mut [M], first: usize, dealt: &[Dealt]) {
        self.requests.sort_unstable();
        let reports = &mut self.reports;
        for (member, number) in &self.requests {
            let drive = &mut drives[*member as usize - first];
            let given = dealt[*number as usize];
            drive.advance(given.now, &mut |report| reports.push(*report));
            self.ends.push(reports.len() as u32);
            drive.submit(given.now, given.request, given.submitter);
        }
    }
}

impl<M: Member> Run<'_, '_, M> {
    /// Whether open requests are dealt: to several drives, whose changes and samples are all at marks.
    pub(super) fn deal_out(&mut self) {
        if self.members.len() > 1 {
            self.deal = Some(Box::new(Deal::new(self.members.len())));
        }
    }

    /// Gives the drives the requests that are collected, before something that concerns them or comes after them in the
    /// log.
    pub(super) fn play(&mut self) {
        if let Some(deal) = &mut self.deal {
            deal.play(self.members, &self.options.crew, &mut self.tracker);
        }
    }

    /// The same if there are many.
    pub(super) fn play_if_full(&mut self) {
        if self.deal.as_ref().is_some_and(|d| d.is_full()) {
            self.play();
        }
    }
}
