//! Pages of metrics for Prometheus: their text and their server, and the server of short requests and the socket at a path
//! on which that is built.
#![cfg(target_os = "linux")]

mod http;
mod path;
mod server;
mod text;

pub use http::{Page, PageError};
pub use path::SocketPath;
pub use server::{Answer, Server, MOST_REQUEST_BYTES};
pub use text::{label, Text};
