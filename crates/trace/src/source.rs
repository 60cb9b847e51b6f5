//! Streams of requests.

use crate::error::TraceError;
use crate::request::Request;

/// Requests in time order, one at a time or in batches. An error names its place in the source; the behaviour
/// after an error is not defined.
pub trait Requests: Iterator<Item = Result<Request, TraceError>> {
    /// Appends the next requests, up to `most` of them; fewer only at the end of the stream, or before an
    /// error.
    ///
    /// # Errors
    /// The error in the next record; the requests before it have been appended.
    fn fill(&mut self, batch: &mut Vec<Request>, most: usize) -> Result<(), TraceError> {
        for _ in 0..most {
            match self.next() {
                Some(request) => batch.push(request?),
                None => break,
            }
        }
        Ok(())
    }
}

/// Any stream of requests.
pub type Source = Box<dyn Requests + Send>;

impl Requests for Source {
    fn fill(&mut self, batch: &mut Vec<Request>, most: usize) -> Result<(), TraceError> {
        (**self).fill(batch, most)
    }
}

/// Makes a stream of an iterator over requests.
pub struct Each<I>(pub I);

impl<I: Iterator<Item = Result<Request, TraceError>>> Iterator for Each<I> {
    type Item = Result<Request, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

impl<I: Iterator<Item = Result<Request, TraceError>>> Requests for Each<I> {}
