//! Power caps of the drives of a Linux host: the policies of `headstack-control` on real settings and real meters, and
//! the daemon `headstack-capd` around them.
//!
//! Nothing is touched that the configuration does not name. Before the first write to a drive its settings are saved;
//! they are restored at the end, at the next start after a crash, or by `headstack-capd restore`. Each write is read
//! back. Drives, meters and files that hang hold up only themselves.
#![cfg(target_os = "linux")]

pub mod burst;
pub mod cap;
pub mod check;
pub mod clock;
pub mod config;
pub mod daemon;
pub mod drive;
pub mod emergency;
pub mod group;
pub mod group_state;
pub mod hook;
pub mod knobs;
pub mod learned;
pub mod meter;
pub mod originals;
pub mod page;
pub mod rack;
pub mod settings;
pub mod socket;
pub mod stat;
pub mod state;
pub mod text_file;
pub mod watched;
pub mod worker;
