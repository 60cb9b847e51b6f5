mod choice;
mod locks;
mod parity;
pub mod walk;
