//! What a change applies to.

/// The drives or layers that a change applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Drive numbers in the system; all drives if empty.
    Drives(Vec<u32>),
    /// Layers that one entry of the system makes.
    Layers {
        /// Level above the drives: 1 for the last entry.
        level: u32,
        /// Numbers of the instances; all if empty.
        instances: Vec<u32>,
    },
}

impl Target {
    /// Whether the target includes this drive of the system.
    pub fn has_drive(&self, drive: u32) -> bool {
        matches!(self, Target::Drives(list) if list.is_empty() || list.contains(&drive))
    }
}
