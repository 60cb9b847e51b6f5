mod cleaning;
mod log;
mod media_cache;
mod zoned;
