//! Drives of members that were taken out of their volumes: they are out of the system, and draw nothing.

use super::{Tree, HOST};
use crate::layer::{Setting, VolumeSetting};
use headstack_units::Time;

impl Tree {
    /// As [`Tree::note_removed`], if a setting may have removed a member or put one back.
    pub(super) fn note_set(&mut self, setting: &Setting) {
        if matches!(setting, Setting::Volume(of) if !matches!(of, VolumeSetting::RebuildRate(_))) {
            self.note_removed(self.flow.now);
        }
    }

    /// From `now` on drives draw nothing where a member above them is removed, and all others draw power.
    pub(super) fn note_removed(&mut self, now: Time) {
        let places = &self.flow.places;
        let mut removed = vec![false; self.nodes.len()];
        // Nodes come before those below them.
        for node in 0..removed.len() as u32 {
            let above = places[node as usize].above;
            if above == HOST {
                continue;
            }
            let (layer, first) = (&self.nodes[above as usize], &places[above as usize].members);
            let all = self.flow.members[first.start as usize..first.end as usize].iter();
            let mut own = (0..).zip(all).filter(|(_, m)| m.node == node);
            // A drive with several units is several members.
            removed[node as usize] = removed[above as usize] || own.all(|(i, _)| layer.is_removed(i));
        }
        for (node, removed) in self.nodes.iter_mut().zip(removed) {
            if let Some(drive) = node.drive_mut() {
                drive.set_removed(now, removed);
            }
        }
    }
}
