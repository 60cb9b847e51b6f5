//! A pass: the sectors of a request pass under the head, run by run.

use super::channels::Channels;
use crate::layout::Place;
use crate::mechanics::{Arm, Mechanics};
use crate::phase::{MechanicalAccess, Track, Work};
use headstack_units::{nearest, Span, Time};
use std::collections::VecDeque;

/// The times of a pass, and when its data were available to the link.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pass {
    /// When the last sector had passed.
    pub end: Time,
    pub seek: Span,
    pub rotation: Span,
    pub transfer: Span,
    /// Seek distance to the first sector, in cylinders.
    pub distance: u32,
    /// Rotational wait for the first sector, and time of one sector of its run: to find out which sectors
    /// before it passed meanwhile.
    pub first_wait: Span,
    pub first_sector_ns: f64,
    /// When sector `watermark` had been read. Used for reads only, like the next field.
    pub ready: Time,
    /// The latest of all (time at which sector k was read + link time of the sectors from k on).
    pub link_bound: Time,
    /// For writes: when the last sector was in the buffer.
    pub last_arrival: Time,
}

/// Buffers for passes over several runs, kept from one pass to the next.
#[derive(Debug, Default)]
pub struct Scratch {
    /// For writes longer than the buffer: when each of the latest sectors was written, as many as the buffer
    /// holds.
    media: VecDeque<Time>,
    /// The latest pass over several runs. It is not a return value, so that the usual pass stays in
    /// registers.
    pub pass: Pass,
    /// The accesses of the latest pass over several runs. The caller sets their kind of work and head set.
    pub(crate) accesses: Vec<MechanicalAccess>,
}

/// The parameters of a pass.
#[derive(Debug, Clone, Copy)]
pub struct AccessRequest<'a> {
    /// The place of the first sector, if it is known.
    pub place: Option<&'a Place>,
    pub sector: u64,
    pub count: u32,
    pub write: bool,
    /// Earliest start of the arm's movement.
    pub start: Time,
    /// A cylinder to which the arm moves before it moves to the first sector.
    pub reversal_cylinder: Option<u32>,
    /// Lower bound of the time of the first movement.
    pub minimum_move: Span,
    /// Whether sectors of a track are taken in the order in which they pass.
    pub on_arrival: bool,
    /// Index of the sector that must have been read before the link starts.
    pub watermark: u32,
    /// Link time of one sector.
    pub link_ns: f64,
    /// For writes: when the sectors are in the buffer.
    pub supply: Option<Supply>,
}

impl Pass {
    /// This pass and the next one as one pass.
    pub fn then(self, next: Pass) -> Pass {
        Pass {
            seek: self.seek + next.seek,
            rotation: self.rotation + next.rotation,
            transfer: self.transfer + next.transfer,
            distance: self.distance + next.distance,
            ..next
        }
    }
}

impl AccessRequest<'_> {
    /// A read of `count` sectors from `sector` on that starts at `start` and does not use the link.
    pub fn plain(sector: u64, count: u32, start: Time) -> AccessRequest<'static> {
        AccessRequest {
            place: None,
            sector,
            count,
            write: false,
            start,
            reversal_cylinder: None,
            minimum_move: Span::ZERO,
            on_arrival: false,
            watermark: 0,
            link_ns: 0.0,
            supply: None,
        }
    }
}

/// When the sectors of a write are in the buffer.
#[derive(Debug, Clone, Copy)]
pub struct Supply {
    /// When the link starts.
    pub start: Time,
    /// Number of sectors that must be in the buffer before the first is written.
    pub gate: u32,
    /// Size of the buffer in sectors: sector k needs the room of sector k - `buffer`.
    pub buffer: u64,
}

/// Where the pieces of a pass lie.
pub trait Places {
    /// The place of sector `done` of an order, for an arm that is free at `at`; `None` past
    /// the end of the drive.
    fn place(&mut self, m: &Mechanics, order: &AccessRequest, done: u32, arm: &Arm, at: Time) -> Option<Place>;
}

/// The places of the layout, without a mapping.
pub struct LayoutPlaces;

impl Places for LayoutPlaces {
    fn place(&mut self, m: &Mechanics, order: &AccessRequest, done: u32, _: &Arm, _: Time) -> Option<Place> {
        m.layout.locate(order.sector + u64::from(done))
    }
}

/// A time as a float. Times stay below 2^63, and signed integers convert in one instruction.
#[inline]
fn float(at: Time) -> f64 {
    at.0 as i64 as f64
}

impl AccessRequest<'_> {
    /// The rotational wait at the arm's place, reached at `there`: `wait`, or whole turns more if data that
    /// are needed `ahead` ns after the wait are in the buffer only at `have`.
    #[inline]
    fn turn_if_late(wait: Span, there: Time, ahead: f64, have: f64, period: f64) -> Span {
        let at = float(there.after(wait)) + ahead;
        if have <= at + 1.0 {
            wait
        } else {
            wait + Span((((have - at) / period).ceil() * period + 0.5) as i64)
        }
    }

    /// When the first `count` sectors are in the buffer, in nanoseconds.
    #[inline]
    fn have(&self, supply: &Supply, count: u32) -> f64 {
        float(supply.start) + count as f64 * self.link_ns
    }

    /// The sector of a run that decides whether the data of a write come in time, and how long after the
    /// first sector it passes. It is the first one if the link is faster than the medium, else the last.
    #[inline]
    fn critical(&self, count: u32, place: &Place) -> (u32, f64) {
        let k = if self.link_ns <= place.sector_ns { 0 } else { count - 1 };
        (k, f64::from(k) * place.sector_ns)
    }

    /// Whether all sectors lie in one run and fit the buffer. This is the usual case.
    #[inline]
    pub fn is_plain(&self, place: &Place) -> bool {
        (1..=place.run).contains(&self.count)
            && self.reversal_cylinder.is_none()
            && self.supply.is_none_or(|s| self.count as u64 <= s.buffer)
    }
}

/// Carries out a pass and leaves the arm on its last track. The pass ends at the end of the drive. If there
/// are fewer channels than arms, each run reserves one, and sectors are taken in order even if the drive
/// reads on arrival.
#[inline(always)]
pub fn run<P: Places>(
    m: &Mechanics,
    places: &mut P,
    arm: &mut Arm,
    order: &AccessRequest,
    scratch: &mut Scratch,
    channels: Option<&mut Channels>,
) -> Pass {
    let found;
    let place = match order.place {
        None => {
            found = places.place(m, order, 0, arm, order.start);
            found.as_ref()
        }
        known => known,
    };
    match place {
        Some(place) if channels.is_none() && order.is_plain(place) => {
            if let Some(pass) = run_in_order::<true>(m, arm, order, place) {
                return pass;
            }
        }
        _ => {}
    }
    // By value, so that the usual pass keeps its parameters in registers.
    run_pieces(m, places, arm, *order, place.copied(), scratch, channels);
    scratch.pass
}

/// A pass over one run whose sectors are taken in order. `None`, with the arm as it was, if the drive takes the rear
/// part first, because the head arrives inside the run.
#[inline(always)]
pub(super) fn run_in_order<const SCALED: bool>(
    m: &Mechanics,
    arm: &mut Arm,
    order: &AccessRequest,
    place: &Place,
) -> Option<Pass> {
    let before = *arm;
    let pass = run_plain::<SCALED>(m, arm, order, place);
    if order.on_arrival && comes_round(m, place, pass.rotation, pass.transfer) {
        *arm = before;
        return None;
    }
    Some(pass)
}

/// Whether a run begins to pass before the head is there: wait and transfer take more than a turn.
#[inline]
fn comes_round(m: &Mechanics, place: &Place, wait: Span, whole: Span) -> bool {
    wait.0 as f64 + whole.0 as f64 > m.rotation.period_ns + place.sector_ns
}

/// As [`Mechanics::late_by`], for a head that did not wait; at most the time of one sector.
#[inline(always)]
fn late(m: &Mechanics, arm: &Arm, place: &Place, wait: Span, there: Time) -> Span {
    if wait > Span::ZERO {
        return Span::ZERO;
    }
    let late = m.late_by(arm, place.angle, there);
    late.min(Span(place.sector_ns as i64))
}

/// A pass over one run. Gives exactly what [`run_pieces`] would. `SCALED`: rotational waits may be scaled.
#[inline(always)]
pub(super) fn run_plain<const SCALED: bool>(
    m: &Mechanics,
    arm: &mut Arm,
    order: &AccessRequest,
    place: &Place,
) -> Pass {
    let distance = arm.cylinder.abs_diff(place.cylinder);
    let seek = m.move_time(arm, place.cylinder, place.head, order.write).max(order.minimum_move);
    arm.cylinder = place.cylinder;
    arm.head = place.head;
    let there = order.start.after(seek);
    let mut wait = match SCALED {
        true => m.wait_time(arm, place.angle, there),
        false => m.rotation.time_for(m.ahead(arm, place.angle, there)),
    };
    let transfer = Mechanics::pass_time(order.count, place.sector_ns) - late(m, arm, place, wait, there);
    if SCALED {
        m.skip_rest(arm, place.angle, there);
    }
    let (mut ready, mut link_bound, mut last_arrival) = (Time::ZERO, Time::ZERO, Time::ZERO);
    if let Some(supply) = &order.supply {
        let period = m.rotation.period_ns;
        if supply.gate > 1 {
            let have = order.have(supply, supply.gate.min(order.count));
            wait = AccessRequest::turn_if_late(wait, there, 0.0, have, period);
        }
        let (k, ahead) = order.critical(order.count, place);
        let have = order.have(supply, k + 1);
        wait = AccessRequest::turn_if_late(wait, there, ahead, have, period);
        last_arrival = supply.start.after(Mechanics::pass_time(order.count, order.link_ns));
    } else {
        let count = f64::from(order.count);
        let first = place.sector_ns + count * order.link_ns;
        let last = count * place.sector_ns + order.link_ns;
        link_bound = there.after(wait + Span(nearest(if first > last { first } else { last })));
        if order.watermark < order.count {
            ready = there.after(wait + Mechanics::pass_time(order.watermark + 1, place.sector_ns));
        }
    }
    Pass {
        end: there.after(wait + transfer),
        seek,
        rotation: wait,
        transfer,
        distance,
        first_wait: wait,
        first_sector_ns: place.sector_ns,
        ready,
        link_bound,
        last_arrival,
    }
}

/// A pass run by run, with its result in `scratch`; `first` is the place of its first sector.
#[inline(never)]
pub fn run_pieces<P: Places>(
    m: &Mechanics,
    places: &mut P,
    arm: &mut Arm,
    order: AccessRequest,
    first: Option<Place>,
    scratch: &mut Scratch,
    mut channels: Option<&mut Channels>,
) {
    scratch.accesses.clear();
    scratch.media.clear();
    scratch.pass = Pass { end: order.start, ..Pass::default() };
    let mut pieces = Pieces {
        m,
        order: &order,
        long: order.supply.is_some_and(|s| order.count as u64 > s.buffer),
        done: 0,
        arrived: order.supply.map_or(0.0, |s| s.start.0 as f64),
        scratch,
    };
    while pieces.done < order.count {
        let place = match pieces.done {
            0 => first,
            done => places.place(m, &order, done, arm, pieces.scratch.pass.end),
        };
        let Some(place) = place else { break };
        let count = place.run.min(order.count - pieces.done);
        pieces.take(arm, &place, count, channels.as_deref_mut());
        pieces.done += count;
    }
    pieces.finish();
}

/// The progress of a pass over several runs.
struct Pieces<'a> {
    m: &'a Mechanics,
    order: &'a AccessRequest<'a>,
    /// Whether it is a write that does not fit the buffer.
    long: bool,
    /// Number of sectors that have passed.
    done: u32,
    /// When the latest sector of a long write was in the buffer, in nanoseconds.
    arrived: f64,
    scratch: &'a mut Scratch,
}

impl Pieces<'_> {
    /// The next `count` sectors, which are the start of a run.
    fn take(&mut self, arm: &mut Arm, place: &Place, count: u32, mut channels: Option<&mut Channels>) {
        let m = self.m;
        let (seek, distance) = self.go_to(arm, place);
        let there = self.scratch.pass.end.after(seek);
        let wait = m.wait_time(arm, place.angle, there);
        let late = late(m, arm, place, wait, there);
        m.skip_rest(arm, place.angle, there);
        let mut wait = self.wait_for_data(place, count, there, wait);
        let whole = Mechanics::pass_time(count, place.sector_ns) - late;
        if let Some(channels) = &mut channels {
            let period = m.rotation.period_ns;
            wait = channels.reserve(there.after(wait), whole, period).span_from(there);
        }
        self.scratch.pass.seek += seek;
        let inside = count > 1
            && self.order.on_arrival
            && channels.is_none()
            && self.has_all_data(there)
            && comes_round(m, place, wait, whole);
        match inside {
            true => self.rear_first(place, count, distance, there, wait),
            false => self.in_order(place, count, distance, there, (wait, whole)),
        }
    }

    /// Moves to a place. Returns the time and the distance of the movement.
    fn go_to(&mut self, arm: &mut Arm, place: &Place) -> (Span, u32) {
        let (m, order, pass) = (self.m, self.order, &mut self.scratch.pass);
        let mut distance = arm.cylinder.abs_diff(place.cylinder);
        let mut seek = Span::ZERO;
        if let (0, Some(reversal_cylinder)) = (self.done, order.reversal_cylinder) {
            seek = m.move_time(arm, reversal_cylinder, arm.head, false);
            pass.distance = arm.cylinder.abs_diff(reversal_cylinder);
            distance = pass.distance + reversal_cylinder.abs_diff(place.cylinder);
            arm.cylinder = reversal_cylinder;
        }
        seek += m.move_time(arm, place.cylinder, place.head, order.write);
        if self.done == 0 {
            pass.distance += arm.cylinder.abs_diff(place.cylinder);
            seek = seek.max(order.minimum_move);
        }
        arm.cylinder = place.cylinder;
        arm.head = place.head;
        (seek, distance)
    }

    /// The wait for the first of `count` sectors of a head that is at their place from `there` on and would otherwise
    /// wait for `wait`. A sector of a write whose data are not there when the head reaches it costs whole turns.
    fn wait_for_data(&mut self, place: &Place, count: u32, there: Time, mut wait: Span) -> Span {
        let (order, period) = (self.order, self.m.rotation.period_ns);
        let Some(supply) = order.supply else { return wait };
        if self.done == 0 && supply.gate > 1 {
            let have = order.have(&supply, supply.gate.min(order.count));
            wait = AccessRequest::turn_if_late(wait, there, 0.0, have, period);
        }
        if !self.long {
            let (k, ahead) = order.critical(count, place);
            let have = order.have(&supply, self.done + k + 1);
            return AccessRequest::turn_if_late(wait, there, ahead, have, period);
        }
        let media = &mut self.scratch.media;
        for k in 0..count {
            if media.len() as u64 == supply.buffer {
                // It needs the room of the sector that was written longest ago.
                let freed = media.pop_front().unwrap_or_default().0 as f64;
                self.arrived = self.arrived.max(freed);
            }
            self.arrived += order.link_ns;
            let ahead = f64::from(k) * place.sector_ns;
            wait = AccessRequest::turn_if_late(wait, there, ahead, self.arrived, period);
            media.push_back(there.after(wait + Mechanics::pass_time(k + 1, place.sector_ns)));
        }
        wait
    }

    /// Whether all data of a write are in the buffer at `at`.
    fn has_all_data(&self, at: Time) -> bool {
        let order = self.order;
        order.supply.is_none_or(|s| (s.start.0 as f64 + order.count as f64 * order.link_ns) <= at.0 as f64)
    }

    /// The head arrives inside the run: its rear part passes now, its front part one turn later.
    fn rear_first(&mut self, place: &Place, count: u32, distance: u32, there: Time, wait: Span) {
        let passed = (self.m.rotation.period_ns - wait.0 as f64) / place.sector_ns;
        let tail = (passed.ceil() as u32).min(count - 1).max(1);
        let at = there.after(Span(((tail as f64 - passed) * place.sector_ns).max(0.0) as i64));
        self.bound(place, (tail, count), at);
        self.bound(place, (0, tail), there.after(wait));
        let end = there.after(wait + Mechanics::pass_time(tail, place.sector_ns));
        // Rounding must not make the two parts overlap.
        let tail_end = at.after(Mechanics::pass_time(count - tail, place.sector_ns)).min(there.after(wait));
        let tail_start = at.min(tail_end);
        self.add(place, distance, there, tail_start, tail_end);
        self.add(place, 0, tail_end, there.after(wait), end);
        let transfer = tail_end.span_from(tail_start) + (end.span_from(there) - wait);
        self.passes(place, at.span_from(there), transfer, end.span_from(there) - transfer);
    }

    /// The sectors pass in order, after a wait.
    fn in_order(&mut self, place: &Place, count: u32, distance: u32, there: Time, (wait, whole): (Span, Span)) {
        self.bound(place, (0, count), there.after(wait));
        self.add(place, distance, there, there.after(wait), there.after(wait + whole));
        self.passes(place, wait, whole, wait);
    }

    /// Counts a run: the wait for the sector that passed first, and the times of transfer and rotation.
    fn passes(&mut self, place: &Place, first_wait: Span, transfer: Span, rotation: Span) {
        let pass = &mut self.scratch.pass;
        pass.transfer += transfer;
        pass.rotation += rotation;
        if self.done == 0 {
            pass.first_wait = first_wait;
            pass.first_sector_ns = place.sector_ns;
        }
    }

    /// Adds an access to the track of `place`: a movement, until `there`, a wait and a transfer. The caller of the pass
    /// sets its head set.
    fn add(&mut self, place: &Place, distance: u32, there: Time, first: Time, end: Time) {
        self.scratch.accesses.push(MechanicalAccess {
            work: Work::Request,
            write: self.order.write,
            start: self.scratch.pass.end,
            distance,
            there,
            first,
            end,
            track: Track { cylinder: place.cylinder, head: place.head, head_set: 0 },
        });
        self.scratch.pass.end = end;
    }

    /// Bounds the link by the sectors `part` of a run, which pass from `at` on. They are read at constant rate, so the
    /// first and the last one give the bound.
    #[inline]
    fn bound(&mut self, place: &Place, (first, last): (u32, u32), at: Time) {
        let (order, pass) = (self.order, &mut self.scratch.pass);
        for k in [first, last - 1] {
            let media = f64::from(k - first + 1) * place.sector_ns;
            let rest = f64::from(order.count - (self.done + k)) * order.link_ns;
            pass.link_bound = pass.link_bound.max(at.after(Span(nearest(media + rest))));
        }
        let mark = order.watermark.wrapping_sub(self.done);
        if (first..last).contains(&mark) {
            pass.ready = at.after(Mechanics::pass_time(mark - first + 1, place.sector_ns));
        }
    }

    /// Completes the result.
    fn finish(self) {
        let order = self.order;
        self.scratch.pass.last_arrival = match order.supply {
            Some(s) if !self.long => s.start.after(Mechanics::pass_time(order.count, order.link_ns)),
            Some(_) => Time(self.arrived as u64),
            None => Time::ZERO,
        };
    }
}
