//! A cap over several groups: at each period it is divided among them by [`headstack_control::rack`].

use crate::cap::CapFile;
use crate::config;
use crate::group::{Group, State};
use headstack_control::rack::{next, Member};
use headstack_schema::SpecError;
use headstack_units::{Time, Watts};
use serde_json::{json, Value};
use tracing::{error, info};

/// A rack at work.
pub struct Rack {
    /// Its configuration.
    pub config: config::Rack,
    /// The cap of all, with what draws besides the groups.
    pub cap: Option<Watts>,
    file: CapFile,
    /// Places of its members in the list of all groups.
    places: Vec<usize>,
    /// When shares are computed next.
    next: Time,
}

impl Rack {
    /// A rack whose members are found by name among all groups.
    pub fn new(config: &config::Rack, groups: &[config::Group]) -> Rack {
        let place = |m: &config::Member| groups.iter().position(|g| g.name == m.group);
        Rack {
            places: config.member.iter().filter_map(place).collect(),
            cap: config.cap,
            file: CapFile::new(config.cap_file.as_ref()),
            config: config.clone(),
            next: Time::ZERO,
        }
    }

    /// Gives it another cap, which is divided at the next step.
    ///
    /// # Errors
    /// A cap below what the groups always get.
    pub fn set_cap(&mut self, cap: Option<Watts>) -> Result<(), SpecError> {
        self.config.check_cap(cap)?;
        if self.cap != cap {
            info!(name = self.config.name, cap = cap.map(|c| c.0), "new cap");
            self.next = Time::ZERO;
        }
        self.cap = cap;
        Ok(())
    }

    /// Divides the cap among the groups, when it is time. `groups` are all groups, in the order of the configuration.
    pub fn step(&mut self, now: Time, groups: &mut [&mut Group]) {
        if let Some(cap) = self.file.changed() {
            if let Err(e) = self.set_cap(cap) {
                error!(name = self.config.name, "cap file: {e}");
            }
        }
        if now < self.next {
            return;
        }
        self.next = now + self.config.period;
        let Some(cap) = self.cap else {
            self.places.iter().for_each(|i| groups[*i].share = None);
            return;
        };
        let pairs = self.config.member.iter().zip(&self.places);
        let members: Vec<Member> = pairs.map(|(m, i)| member(m, groups[*i])).collect();
        let for_groups = Watts(cap.0 - self.config.base.0);
        let shares = next(for_groups, self.config.split, self.config.headroom, &members);
        for (i, share) in self.places.iter().zip(shares) {
            let group = &mut *groups[*i];
            if group.share != Some(share) {
                info!(rack = self.config.name, group = group.config.name, share = share.0);
            }
            group.share = Some(share);
        }
    }

    /// What `status` and the metrics show. `groups` are all groups, in the order of the configuration.
    pub fn shown(&self, groups: &[&Group]) -> Value {
        let powers = self.places.iter().map(|i| groups[*i].at_meters());
        let power: Option<f64> = powers.map(|w| w.map(|w| w.0)).sum();
        let members = self.config.member.iter().map(|m| m.group.as_str());
        json!({
            "name": self.config.name,
            "cap_w": self.cap.map(|c| c.0),
            "power_w": power.map(|w| w + self.config.base.0),
            "groups": members.collect::<Vec<_>>(),
        })
    }
}

fn member(config: &config::Member, group: &Group) -> Member {
    let is_silent = matches!(group.state, State::MeterSilent | State::MeterLost);
    Member {
        least: config.least,
        most: group.cap.unwrap_or(Watts(f64::INFINITY)),
        weight: config.weight,
        power: group.at_meters().filter(|_| !is_silent),
        share: group.share,
    }
}
