//! The deadline elevator of Linux 3.x.
//!
//! # Model
//! Reads and writes are kept apart, each sorted by address, and each request has a deadline. Requests are
//! dispatched in batches of one direction, in order of address. When a request is taken, its successor becomes
//! the next one of the batch; deadlines are not checked inside a batch. A new batch is of reads, unless
//! `writes_starved` batches of reads have gone before waiting writes. It begins with the oldest request if that
//! is past its deadline or if the direction has changed; otherwise where the last batch stopped.
//! # Source
//! Linux 3.x, `block/deadline-iosched.c`.
//! # Validity
//! Front merges are always tried; Linux can switch them off.

use super::mq_deadline::{MqDeadline, Next};
use super::sorted::Parameters;
use headstack_schema::Table;

#[derive(Table)]
#[table(
    model = "sorted batches, deadlines between them (Linux 3.x)",
    example = "fifo_batch = 4\nread_expire = \"100 ms\"",
    build = |own, _| Ok(Box::new(MqDeadline::new(own.each, Next::SuccessorOfLast)))
)]
pub(super) struct Deadline {
    #[param(flatten)]
    each: Parameters,
}
