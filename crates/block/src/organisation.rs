//! Array organisations: how the addresses of the workload's devices map to member drives.
//!
//! # Contract
//! - A device's usable blocks are `0..device_blocks(device)`; a device that does not exist is an
//!   error that names the device and the drives.
//! - [`Organisation::plan`] maps every usable block to exactly one block of one member, inside
//!   that member, and no two blocks to the same place; [`Organisation::origin`] is its inverse.
//! - A plan's parts cover the request exactly. Parts on one member never overlap.
//! - A plan that is reused does not allocate again.
//!
//! Each is the layer of the same name over all drives, or over all layers that the system lists. One without redundancy
//! has no state, so a run divides requests by it itself: that costs less than a node, and drives stay independent. One
//! with redundancy is put over the drives as a layer (`System::all_layers`), and the devices lie end to end in its one unit. A
//! new one is a function here and a word in the list; a program adds its own in the inputs of a run.

use crate::layer::concatenate::end_to_end;
use crate::layer::volume::copies::Joined;
use crate::layer::{independent, raid0, raid1, raid10, raid5};
use headstack_schema::{ModelKind, NoParameters, Plugin, Plugins, SpecError, Table};
use std::sync::LazyLock;

/// The part of a request that lies on one member drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Index of the member drive.
    pub member: u32,
    /// First 512-byte block on the member.
    pub lba: u64,
    /// Number of 512-byte blocks.
    pub blocks: u32,
}

/// The parts of one request; reused for the next request.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// In ascending order of the request's addresses.
    pub parts: Vec<Part>,
}

impl Plan {
    /// Adds a part. If it continues the last part on the same member, that part is extended instead.
    #[inline]
    pub fn push(&mut self, member: u32, lba: u64, blocks: u32) {
        for part in self.parts.iter_mut().rev() {
            if part.member == member {
                if part.lba + part.blocks as u64 == lba {
                    part.blocks += blocks;
                    return;
                }
                break;
            }
        }
        self.parts.push(Part { member, lba, blocks });
    }
}

/// A mapping from devices of the workload to member drives.
pub trait Organisation: Send + Sync {
    /// Number of blocks of this device that can be addressed.
    ///
    /// # Errors
    /// A text that names the device and the drives, if there is no such device.
    fn device_blocks(&self, device: u32) -> Result<u64, String>;
    /// The member and the block there at which a device begins that lies on this member as a whole, block for block. If so,
    /// no plan is needed.
    fn whole(&self, _device: u32) -> Option<(u32, u64)> {
        None
    }
    /// Appends the parts of the blocks `lba..lba + blocks` of `device`, which must be in range.
    fn plan(&self, device: u32, lba: u64, blocks: u32, plan: &mut Plan);
    /// The device and block that a member's block holds; `None` for unused space.
    fn origin(&self, member: u32, lba: u64) -> Option<(u32, u64)>;
    /// The members that a flush of this device must flush.
    fn members_of(&self, device: u32) -> std::ops::Range<u32>;
}

/// What an organisation is built from.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// Capacity of each member drive in 512-byte blocks.
    pub member_blocks: Vec<u64>,
    /// Size of each device of the workload in 512-byte blocks; empty if unknown.
    pub device_blocks: Vec<u64>,
}

impl ModelKind for dyn Organisation {
    const NAME: &'static str = "organisation";
    type For<'a> = &'a Context;
    type Facts = DeviceSizes;
    type Error = SpecError;
}

/// Whether an organisation is built for the sizes of the workload's devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceSizes {
    /// They must be known.
    Needed,
    /// They make no difference.
    Unused,
}

/// An organisation with the parameters `P`, for which the sizes of the workload's devices must be known.
fn sized<P: Table + 'static>(
    name: &'static str,
    summary: &'static str,
    build: impl Fn(P, &Context) -> Result<Box<dyn Organisation>, SpecError> + Send + Sync + 'static,
) -> Plugin<dyn Organisation> {
    Plugin::<dyn Organisation>::with_facts(name, summary, "", DeviceSizes::Needed, build)
}

/// Every organisation that comes with this crate.
pub static PLUGINS: LazyLock<Plugins<dyn Organisation>> = LazyLock::new(|| {
    Plugins::new([
        each_alone(),
        concatenate(),
        sized(raid0::NAME, "striped over all drives, no redundancy", |p, context| {
            Ok(linear(context, raid0::striped(&context.member_blocks, &p)?))
        }),
        volume::<raid1::Parameters>(raid1::NAME, "every block on every drive"),
        volume::<raid10::Parameters>(raid10::NAME, "striped copies: near, far and offset layouts")
            .completed_by(raid10::Parameters::complete),
        volume::<raid5::Parameters>(raid5::NAME, "striped with rotating parity: one drive may be gone"),
    ])
});

/// The organisations that are layers of the same names.
pub const VOLUMES: [&str; 3] = [raid1::NAME, raid10::NAME, raid5::NAME];

/// Device `i` of the workload is drive `i`, as in the arrays on which the field's traces were recorded ("MD" in Sankar,
/// Gurumurthi & Stan, "Intra-disk parallelism", ISCA 2008, section 7).
fn each_alone() -> Plugin<dyn Organisation> {
    let summary = "device i of the workload is drive i";
    Plugin::<dyn Organisation>::with_facts(
        independent::NAME,
        summary,
        "",
        DeviceSizes::Unused,
        |NoParameters {}, context| Ok(Box::new(Independent { member_blocks: context.member_blocks.clone() })),
    )
}

/// The workload's devices end to end, over drives end to end: "HC-SD", the data of an array moved onto one large drive,
/// each device's data contiguous (Sankar, Gurumurthi & Stan, ISCA 2008, section 7.1). Devices that do not fit on the drives
/// are truncated.
pub fn concatenate() -> Plugin<dyn Organisation> {
    volume::<NoParameters>("concatenate", "devices end to end over drives end to end")
}

/// The entry of an organisation that is the layer `name`: the layer is below, with the parameters, and the devices lie
/// end to end in its one unit.
pub fn volume<P: Table + 'static>(name: &'static str, summary: &'static str) -> Plugin<dyn Organisation> {
    sized(name, summary, |_: P, context| Ok(linear(context, end_to_end(&context.member_blocks))))
}

/// The workload's devices end to end on joined drives.
fn linear(context: &Context, drives: impl Joined + 'static) -> Box<dyn Organisation> {
    Box::new(Linear { space: DeviceSpace::new(&context.device_blocks, drives.blocks()), drives })
}

struct Independent {
    member_blocks: Vec<u64>,
}

impl Organisation for Independent {
    fn device_blocks(&self, device: u32) -> Result<u64, String> {
        self.member_blocks.get(device as usize).copied().ok_or_else(|| {
            let n = self.member_blocks.len();
            format!("got device {device}, need one below the {n} drives; raise count or choose \"concatenate\"")
        })
    }
    fn whole(&self, device: u32) -> Option<(u32, u64)> {
        Some((device, 0))
    }
    fn plan(&self, device: u32, lba: u64, blocks: u32, plan: &mut Plan) {
        plan.push(device, lba, blocks);
    }
    fn origin(&self, member: u32, lba: u64) -> Option<(u32, u64)> {
        (lba < *self.member_blocks.get(member as usize)?).then_some((member, lba))
    }
    fn members_of(&self, device: u32) -> std::ops::Range<u32> {
        device..device + 1
    }
}

/// The workload's devices end to end on joined drives.
struct Linear<J> {
    space: DeviceSpace,
    drives: J,
}

impl<J: Joined> Organisation for Linear<J> {
    fn device_blocks(&self, device: u32) -> Result<u64, String> {
        self.space.device_blocks(device)
    }
    fn whole(&self, device: u32) -> Option<(u32, u64)> {
        let blocks = self.space.device_blocks(device).ok()?;
        let at = self.space.linear(device, 0);
        // Devices behind the end of the space are empty.
        let (member, lba, end) = (blocks > 0).then(|| self.drives.place(at))?;
        (at + blocks <= end).then_some((member, lba))
    }
    #[inline]
    fn plan(&self, device: u32, lba: u64, blocks: u32, plan: &mut Plan) {
        let mut at = self.space.linear(device, lba);
        let end = at + blocks as u64;
        while at < end {
            let (member, lba, stop) = self.drives.place(at);
            let stop = stop.min(end);
            plan.push(member, lba, (stop - at) as u32);
            at = stop;
        }
    }
    fn origin(&self, member: u32, lba: u64) -> Option<(u32, u64)> {
        self.space.origin(self.drives.at(member, lba)?)
    }
    fn members_of(&self, _device: u32) -> std::ops::Range<u32> {
        0..self.drives.members()
    }
}

/// Devices laid end to end in one linear space, truncated at the end of the space.
struct DeviceSpace {
    starts: Vec<u64>,
    total: u64,
}

impl DeviceSpace {
    /// One device fills the space if `devices` is empty.
    pub fn new(devices: &[u64], total: u64) -> DeviceSpace {
        let mut starts = vec![0];
        if devices.is_empty() {
            starts.push(total);
        }
        for blocks in devices {
            starts.push(starts[starts.len() - 1].saturating_add(*blocks));
        }
        DeviceSpace { starts, total }
    }
    pub fn device_blocks(&self, device: u32) -> Result<u64, String> {
        let i = device as usize;
        match (self.starts.get(i), self.starts.get(i + 1)) {
            (Some(from), Some(to)) => Ok(to.min(&self.total).saturating_sub(*from)),
            _ => Err(format!(
                "got device {device}, need one of the {} devices whose size is known; give workload.device_blocks",
                self.starts.len() - 1
            )),
        }
    }
    #[inline]
    fn linear(&self, device: u32, lba: u64) -> u64 {
        self.starts[device as usize] + lba
    }
    pub fn origin(&self, linear: u64) -> Option<(u32, u64)> {
        if linear >= self.total {
            return None;
        }
        let i = self.starts.partition_point(|s| *s <= linear) - 1;
        (i + 1 < self.starts.len()).then(|| (i as u32, linear - self.starts[i]))
    }
}
