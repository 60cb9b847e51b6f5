//! Streams of requests.

use crate::error::TraceError;
use crate::request::Request;

/// Requests in time order, one at a time or many. An error names where in the source it was found; what
/// comes after it, if anything, is not promised.
pub trait Requests: Iterator<Item = Result<Request, TraceError>> {
    /// Appends the next requests, up to `most` of them: fewer only at the end of the stream, or before
    /// what is wrong.
    ///
    /// # Errors
    /// What is wrong with the next record; the requests before it have been appended.
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

/// An iterator over requests as a stream of them.
pub struct Each<I>(pub I);

impl<I: Iterator<Item = Result<Request, TraceError>>> Iterator for Each<I> {
    type Item = Result<Request, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

impl<I: Iterator<Item = Result<Request, TraceError>>> Requests for Each<I> {}
