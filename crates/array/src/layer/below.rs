//! The layers directly below a layer: their units as members, and which of them has the earliest event.

use super::{Layer, LayerCompletion, Request, Setting};
use crate::timetable::Timetable;
use headstack_drive::DriveEnergy;
use headstack_engine::SpecError;
use headstack_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The layers below a layer. The units of all of them, numbered in order, are the members.
pub(crate) struct LowerLayers {
    layers: Vec<Box<dyn Layer>>,
    /// For each member: index of its layer, unit within that layer, size in 512-byte blocks.
    members: Vec<(u32, u32, u64)>,
    events: Timetable,
}

impl LowerLayers {
    pub fn new(layers: Vec<Box<dyn Layer>>) -> LowerLayers {
        let mut members = Vec::new();
        for (i, layer) in layers.iter().enumerate() {
            for (unit, blocks) in layer.units().into_iter().enumerate() {
                members.push((i as u32, unit as u32, blocks));
            }
        }
        let mut below = LowerLayers {
            events: Timetable::new(layers.len().max(1)),
            layers,
            members,
        };
        (0..below.layers.len()).for_each(|i| below.note(i));
        below
    }

    /// The layers by themselves.
    pub fn into_layers(self) -> Vec<Box<dyn Layer>> {
        self.layers
    }

    /// Size of each member in 512-byte blocks.
    pub fn member_blocks(&self) -> Vec<u64> {
        self.members.iter().map(|m| m.2).collect()
    }

    /// Size of one member in 512-byte blocks.
    pub fn blocks_of(&self, member: u32) -> u64 {
        self.members[member as usize].2
    }

    /// Number of members.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    pub fn layers(&self) -> &[Box<dyn Layer>] {
        &self.layers
    }

    pub fn layers_mut(&mut self) -> &mut [Box<dyn Layer>] {
        &mut self.layers
    }

    /// The earliest next event of the layers below; [`Time::NEVER`] if none has one.
    #[inline]
    pub fn next_event(&self) -> Time {
        self.events.earliest()
    }

    fn note(&mut self, layer: usize) {
        self.events.set(layer, self.layers[layer].next_event());
    }

    /// Submits a request to a member at `now`; `request.unit` is overwritten.
    #[inline]
    pub fn submit(&mut self, now: Time, member: u32, mut request: Request) {
        let (layer, unit, _) = self.members[member as usize];
        request.unit = unit;
        self.layers[layer as usize].submit(now, request);
        self.note(layer as usize);
    }

    /// Advances the layer with the earliest event by that one point in time. Its completions go to `sink`.
    #[inline]
    pub fn step(&mut self, sink: &mut dyn FnMut(&LayerCompletion)) {
        let (time, layer) = self.events.first();
        if time != Time::NEVER {
            self.layers[layer].advance(Time(time.0 + 1), sink);
            self.note(layer);
        }
    }

    /// As [`LowerLayers::step`], but goes on with the same layer until `until` or until another layer has an event. For
    /// layers that submit nothing because of a completion.
    #[inline]
    pub fn step_until(&mut self, until: Time, sink: &mut dyn FnMut(&LayerCompletion)) {
        let time = self.events.earliest();
        if time != Time::NEVER {
            let (layer, second) = self.events.first_and_second();
            let until = until.min(second).max(Time(time.0 + 1));
            self.layers[layer].advance(until, sink);
            self.note(layer);
        }
    }

    /// Aborts a waiting request of a member, which then ends with an error.
    pub fn abort(&mut self, now: Time, member: u32, id: u64) {
        let (layer, _, _) = self.members[member as usize];
        // A layer that cannot abort completes the request as usual. Callers wait for its end in both cases.
        let _ = self.layers[layer as usize].set(now, &[], &Setting::Abort { id });
        self.note(layer as usize);
    }

    /// Passes a setting on to the layer that the first element of `path` names.
    ///
    /// # Errors
    /// The path is empty or names no layer, or that layer refuses the setting.
    pub fn set(&mut self, now: Time, path: &[u32], setting: &Setting) -> Result<(), SpecError> {
        let result = self.pass_on(now, path, setting);
        result.map_err(|e| match path.first() {
            Some(first) => e.within(&format!("below[{first}]")),
            None => e,
        })
    }

    /// As [`LowerLayers::set`]; the error does not name the layer.
    pub fn pass_on(&mut self, now: Time, path: &[u32], setting: &Setting) -> Result<(), SpecError> {
        let n = self.layers.len();
        let Some((&first, rest)) = path.split_first() else {
            return Err(SpecError::new("setting", "no path", "one below this layer"));
        };
        let Some(layer) = self.layers.get_mut(first as usize) else {
            let need = format!("one of the {n} layers below, counted from 0");
            return Err(SpecError::new("setting.path", first, need));
        };
        let result = layer.set(now, rest, setting);
        self.note(first as usize);
        result
    }

    /// Energy of all drives below, from the last reset to `until`.
    pub fn meter(&mut self, until: Time) -> DriveEnergy {
        let mut sum = DriveEnergy::default();
        for layer in &mut self.layers {
            sum.add(&layer.meter(until));
        }
        sum
    }

    /// Restarts the statistics of all layers below at `now`.
    pub fn reset_statistics(&mut self, now: Time) {
        self.layers.iter_mut().for_each(|l| l.reset_statistics(now));
    }
}

/// Completions that were announced and whose time has not come. Ordered by time, then by member, then by the
/// number of the request; the three are one number, which is compared at once.
#[derive(Debug, Default)]
pub(crate) struct PendingCompletions {
    order: BinaryHeap<Reverse<u128>>,
    /// By number of the request; those that are not in `order` have no meaning.
    announced: Vec<LayerCompletion>,
}

impl PendingCompletions {
    /// Request number `name` of `member` ends at `time`.
    #[inline]
    pub fn push(&mut self, time: Time, member: u32, name: u32) {
        let rest = u64::from(member) << 32 | u64::from(name);
        let key = u128::from(time.0) << 64 | u128::from(rest);
        self.order.push(Reverse(key));
    }

    /// A request of `member` ends as `done` says.
    #[inline]
    pub fn announce(&mut self, member: u32, done: &LayerCompletion) {
        let name = done.id as usize;
        if name >= self.announced.len() {
            self.announced.resize(name + 1, LayerCompletion::default());
        }
        self.announced[name] = *done;
        self.push(done.completion, member, name as u32);
    }

    /// What was announced of request number `name`.
    #[inline]
    pub fn announced(&self, name: u32) -> &LayerCompletion {
        &self.announced[name as usize]
    }

    #[inline]
    pub fn next(&self) -> Time {
        let first = self.order.peek();
        first.map_or(Time::NEVER, |Reverse(key)| Time((key >> 64) as u64))
    }

    /// Removes the earliest and returns the number of its request.
    #[inline]
    pub fn pop(&mut self) -> Option<u32> {
        self.order.pop().map(|Reverse(key)| key as u32)
    }
}
