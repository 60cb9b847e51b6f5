//! Parts of the policy `learning`: what is known of settings, how it is kept in a file, and how tiers share a budget.

pub(crate) mod book;
pub(crate) mod load;
pub(crate) mod memory;
pub(crate) mod search;
pub(crate) mod settings;
pub mod share;
pub(crate) mod shelf;
pub(crate) mod state;

use crate::policy::ModelOfFolder;
