//! Power by mode: spindle, electronics, and an adder for each active mode.
//!
//! # Model
//! `idle = spindle k + electronics + per_extra_arm (arms - 1)`;
//! `seek = idle + voice_coil`; `rotation = transfer = idle + access`; `standby` as given.
//! `k = stacks (speed / rotation_speed)^2.8 (platter_diameter / reference_diameter)^4.6 (number of platters /
//! platters)`. The electronics are counted once, the spindles once per stack.
//! # Source
//! The split by mode is that of S. Sankar, S. Gurumurthi, M. R. Stan, "Intra-Disk Parallelism: An Idea Whose
//! Time Has Come", ISCA 2008. The paper calls the effect of speed "nearly cubic"; 2.8 is the usual exponent
//! of air drag, and 4.6 that of the diameter (section 4 of the paper). It prints no constants, so the
//! profiles are fitted, for 7200 rpm and 4 platters. `main`: the Barracuda ES manual's idle of 9.30 W (12 V x
//! 0.520 A = 6.24 W spindle, 5 V x 0.611 A = 3.06 W electronics), 34 W with four arms moving (Table 1), and
//! 13.0 W for 40 % seek, 40 % access, 20 % idle. `table-1`: 13.2 W and 34 W with motor and voice coils alone.
//! `raid-fitted`: 34 W and the watts of section 7.3. Standby is 1 W unless given, as in the Barracuda 7200.7
//! manual.
//! # Validity
//! Mean power over seconds, no peaks. Waiting and transferring draw the same power, and so do reads and
//! writes. The power of a seek does not depend on its length. `raid-fitted` determines only the sum of
//! spindle and electronics; away from 7200 rpm its split is that of `main`.

use super::{power, seconds, Adders, LowPower, Spindle, PAUSES, POWERS};
use headstack_schema::{Choice, SpecError, Table};
use headstack_units::{Length, Span, Watts};

/// Named sets of values. Keys that are given replace the profile's values.
#[derive(Debug, Default, Clone, Copy, Choice)]
enum Profile {
    /// The Barracuda ES, 34 W with four arms in motion, 13.0 W at work.
    #[default]
    Main,
    /// 13.2 W and 34 W with motor and voice coils alone.
    #[choice("table-1")]
    Table1,
    /// 34 W and the watts of section 7.3 of the paper.
    RaidFitted,
}

impl Profile {
    /// Watts of: spindle, electronics, voice coil, access, each extra arm.
    fn watts(self) -> [f64; 5] {
        match self {
            Profile::Main => [6.24, 3.06, 6.175, 3.07, 0.0],
            Profile::Table1 => [6.24, 0.0, 6.94, 0.0, 0.0],
            Profile::RaidFitted => [12.54, 3.06, 2.35, 0.0, 3.0],
        }
    }
}

impl Parameters {
    /// The same with the profile's values for those that are not given.
    fn with_profile(mut self) -> Parameters {
        let [spindle, electronics, voice_coil, access, per_extra_arm] = self.profile.watts();
        if self.spindle.is_none() {
            // The profiles' spindles drive the 3.7 inch platters of Table 1.
            self.scale.reference_diameter.get_or_insert(Length(3.7 * 0.0254));
        }
        for (given, watts) in [
            (&mut self.spindle, spindle),
            (&mut self.electronics, electronics),
            (&mut self.voice_coil, voice_coil),
            (&mut self.access, access),
            (&mut self.per_extra_arm, per_extra_arm),
            (&mut self.standby, 1.0),
        ] {
            given.get_or_insert(Watts(watts));
        }
        self
    }
}

#[derive(Table)]
#[table(
    model = "spindle, electronics and an adder per active mode",
    example = "profile = \"main\"\nvoice_coil = \"6 W\"",
    build = |own, _| Ok(Box::new(own.adders()?)), complete = Parameters::with_profile
)]
pub(super) struct Parameters {
    /// Named values, for the keys that are not given.
    #[param(default)]
    profile: Profile,
    #[param(flatten)]
    scale: Spindle,
    /// Power of the spindle motor of one stack.
    #[param(range = POWERS)]
    spindle: Option<Watts>,
    /// Power of the electronics while spinning.
    #[param(range = POWERS)]
    electronics: Option<Watts>,
    /// Added while an arm moves.
    #[param(range = POWERS)]
    voice_coil: Option<Watts>,
    /// Added while the drive waits for a sector or transfers.
    #[param(range = POWERS)]
    access: Option<Watts>,
    /// Added at all times for each arm assembly after the first.
    #[param(range = POWERS)]
    per_extra_arm: Option<Watts>,
    /// Power when spun down.
    #[param(range = POWERS)]
    standby: Option<Watts>,
    /// Power when idle with part of the electronics off.
    #[param(range = POWERS)]
    idle_a: Option<Watts>,
    /// Power with heads unloaded as well.
    #[param(range = POWERS)]
    idle_b: Option<Watts>,
    /// Power at lower spindle speed as well.
    #[param(range = POWERS)]
    idle_c: Option<Watts>,
    /// Power when spun down with only the link active.
    #[param(range = POWERS)]
    sleep: Option<Watts>,
    /// Peak power while the spindle starts.
    #[param(range = POWERS)]
    spin_up: Option<Watts>,
    /// Time from a command to ready, out of standby.
    #[param(range = PAUSES)]
    spin_up_time: Option<Span>,
}

impl Parameters {
    fn adders(self) -> Result<Adders, SpecError> {
        let p = self.with_profile();
        // The profile has left none of these out.
        let watts = |given| power(given).unwrap_or_default();
        Ok(Adders {
            scale: p.scale.checked()?,
            spindle: watts(p.spindle),
            electronics: watts(p.electronics),
            per_extra_arm: watts(p.per_extra_arm),
            arms: 1,
            seek: [watts(p.voice_coil), 0.0],
            rotation: watts(p.access),
            transfer: watts(p.access),
            standby: watts(p.standby),
            low_power: LowPower {
                idle_a: power(p.idle_a),
                idle_b: power(p.idle_b),
                idle_c: power(p.idle_c),
                sleep: power(p.sleep),
                spin_up: power(p.spin_up),
                spin_up_s: seconds(p.spin_up_time),
            },
        })
    }
}
