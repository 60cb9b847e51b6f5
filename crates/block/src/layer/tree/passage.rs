//! The way of a request through a tree, as far as layers pass it on as it is: what is at its end, and what is on it.

use super::flow::{self, Message};
use super::{Layer, Tree, HOST};
use crate::layer::ANYONE;
use headstack_drive::{Drive, DriveRequest};
use headstack_units::Time;
use std::ops::Range;

impl Tree {
    /// Gives a request to the unit that has its blocks, as [`Member::submit`] does. Returns its number for [`Tree::abort`].
    ///
    /// [`Member::submit`]: crate::member::Member::submit
    pub fn submit_numbered(&mut self, now: Time, request: DriveRequest) -> u32 {
        // Which thread of a client submits is not known.
        self.submit_to(now, self.to_unit(request, ANYONE))
    }

    /// The host has no more use for the request with this number, which is under way. It ends soon if a layer can end it
    /// early; its end is told as usual.
    pub fn abort(&mut self, now: Time, number: u32) {
        self.flow.now = self.flow.now.max(now);
        if self.flow.ended.contains(&number) {
            return;
        }
        let unit = self.flow[number].member as usize;
        let Some(node) = self.units.get(unit).map(|unit| unit.node) else { return };
        self.flow.messages.push((Message::Abort, node, number));
        self.settle();
    }

    /// The first of these blocks of a unit of the roots that a drive reads only after some time.
    pub fn weak(&self, unit: usize, blocks: Range<u64>) -> Option<u64> {
        let mut way = self.way(unit);
        way.find_map(|at| self.nodes[at.node as usize].fault()?.weak(at.unit, blocks.clone()))
    }

    /// The drive to which requests to a unit come as they are, if they do.
    pub fn drive_of(&self, unit: usize) -> Option<&Drive> {
        let node = self.drive_node(unit)?;
        self.nodes[node].drive().map(|layer| &layer.drive)
    }

    /// The same, to change it.
    pub fn drive_of_mut(&mut self, unit: usize) -> Option<&mut Drive> {
        let node = self.drive_node(unit)?;
        self.nodes[node].drive_mut().map(|layer| &mut layer.drive)
    }

    /// Puts another drive in the place of that one, at `now`; see [`DriveLayer::exchange`](super::DriveLayer::exchange).
    pub fn exchange_drive(&mut self, now: Time, unit: usize, drive: Drive) -> bool {
        let Some(node) = self.drive_node(unit) else { return false };
        let own = self.nodes[node].drive_mut();
        let is_done = own.map(|own| own.exchange(now, drive)).is_some();
        self.note(node as u32);
        is_done
    }

    fn drive_node(&self, unit: usize) -> Option<usize> {
        self.way(unit).last().map(|at| at.node as usize)
    }

    /// The nodes that a request to a unit passes as it is, from the host down, each with its path: up to a drive, or to a
    /// layer that divides requests.
    pub fn passage(&self, unit: usize) -> Vec<(Vec<u32>, &dyn Layer)> {
        let mut found: Vec<(Vec<u32>, &dyn Layer)> = Vec::new();
        let (mut above, mut path) = (HOST, Vec::new());
        for at in self.way(unit) {
            let step = self.below(above).position(|n| n == at.node);
            path.push(step.unwrap_or_default() as u32);
            found.push((path.clone(), &*self.nodes[at.node as usize]));
            above = at.node;
        }
        found
    }

    /// The units that a request to a unit of the roots passes as it is, from the host down.
    fn way(&self, unit: usize) -> impl Iterator<Item = flow::Member> + '_ {
        std::iter::successors(self.units.get(unit).copied(), |at| self.same_below(*at))
    }

    /// The unit below a unit of a node that has the same blocks; `None` of a drive, and of a layer that divides requests.
    fn same_below(&self, at: flow::Member) -> Option<flow::Member> {
        let members = self.flow.places[at.node as usize].members.clone();
        let members = &self.flow.members[members.start as usize..members.end as usize];
        let is_alike = self.nodes[at.node as usize].units().len() == members.len();
        let below = members.get(at.unit as usize).filter(|_| is_alike);
        below.filter(|b| b.blocks == at.blocks).copied()
    }

    /// The numbers of the drives below a unit of the roots.
    pub fn drives_of(&self, unit: usize) -> Vec<u32> {
        let Some(at) = self.way(unit).last() else { return Vec::new() };
        let end = self.flow.places[at.node as usize].end;
        let below = self.nodes[at.node as usize..end as usize].iter();
        below.filter_map(|n| Some(n.drive()?.facts().number)).collect()
    }

    /// As [`DriveLayer::unwritten`](crate::layer::DriveLayer::unwritten), of a unit of the roots. False if a layer divides requests.
    pub fn unwritten(&self, unit: usize, blocks: Range<u64>, sink: &mut dyn FnMut(Range<u64>)) -> bool {
        let mut way = self.way(unit);
        let drive = way.find_map(|at| Some((at.unit, self.nodes[at.node as usize].drive()?)));
        drive.is_some_and(|(unit, drive)| drive.unwritten(unit, blocks, sink))
    }
}
