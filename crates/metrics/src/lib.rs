//! Pages of metrics for Prometheus: their text, and a server of one page.

mod http;
mod text;

pub use http::{Page, PageError};
pub use text::{label, Text};
