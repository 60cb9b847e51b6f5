mod command;
mod fuse;
mod model;
