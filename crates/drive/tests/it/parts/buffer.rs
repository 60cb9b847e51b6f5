mod blocks;
mod dirty;
mod index;
mod segments;
