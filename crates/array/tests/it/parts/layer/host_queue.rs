mod admission;
mod waking;
