mod elevator;
mod host_queue;
mod raid10;
mod volume;
