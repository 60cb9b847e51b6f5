//! Tests of the crate from outside, in one program: many would take longer to link than to run.
//! What changes or measures the whole process is `alone` in one.

mod bounds;
mod by_hand;
mod cleaning;
mod closed_forms;
mod dash;
mod drives;
mod firmware_order;
mod hostile_writes;
mod invariants;
mod limits;
mod logging;
mod mappings_of_shipped_drives;
mod media_cache;
mod media_scan;
mod memory;
mod memory_of_equal_drives;
mod memory_of_like_drives;
mod misspelt;
mod parts;
mod power;
mod roles;
mod running;
mod schema;
mod seek_energy;
mod sustained;
mod worlds;
mod write_cache;
mod zones;
