//! The page of metrics over HTTP, for Prometheus: at a port of this machine, or at a Unix socket.

use crate::server::{Server, MOST_REQUEST_BYTES};
use crate::SocketPath;
use std::net::{TcpListener, ToSocketAddrs};
use std::path::Path;
use thiserror::Error;

/// Why a page cannot be served.
#[derive(Debug, Error)]
pub enum PageError {
    /// The address is none, or in use.
    #[error("{0}")]
    Address(String),
    /// The system has no more threads.
    #[error("metrics: {0}")]
    System(#[from] std::io::Error),
}

/// Makes the text of the page; `None` if what it tells of has ended.
type Render = Box<dyn Fn() -> Option<String> + Send>;

/// A page of metrics that is served until it is dropped. What clients can do to it is bounded as [`Server`] says.
pub struct Page {
    _server: Server,
    _socket: Option<SocketPath>,
    /// Where it is.
    pub address: String,
}

impl Page {
    /// Serves what `render` gives at `unix:PATH` or `HOST:PORT`; others than this machine's addresses need `remote`. A socket
    /// at `PATH` on which nobody listens is replaced.
    ///
    /// # Errors
    /// An address that is none, or that is in use.
    pub fn serve(address: &str, remote: bool, render: Render) -> Result<Page, PageError> {
        let wrong = |need: &str| PageError::Address(format!("metrics: got {address:?}, need {need}"));
        let failed =
            |why: std::io::Error| PageError::Address(format!("metrics: got {address}: {why}, need one that is free"));
        let (listener, socket, shown) = match address.strip_prefix("unix:") {
            Some(path) => {
                let (listener, socket) = SocketPath::listen(Path::new(path)).map_err(failed)?;
                (listener.into(), Some(socket), address.to_string())
            }
            None => {
                let form = "unix:PATH or HOST:PORT, such as 127.0.0.1:9100";
                let mut found = address.to_socket_addrs().map_err(|_| wrong(form))?;
                let at = found.next().ok_or_else(|| wrong(form))?;
                if !at.ip().is_loopback() && !remote {
                    return Err(wrong("an address of this machine alone, or --allow-remote"));
                }
                let listener = TcpListener::bind(at).map_err(failed)?;
                let shown = format!("http://{}/metrics", listener.local_addr()?);
                (listener.into(), None, shown)
            }
        };
        let answer = move |request: &[u8]| answer(request, &render);
        Ok(Page { _server: Server::start(listener, Box::new(answer))?, _socket: socket, address: shown })
    }
}

/// The answer to the head of a request; what may follow it is not read. `None` before the head is whole.
fn answer(request: &[u8], render: &Render) -> Option<Vec<u8>> {
    let ends = |end: &[u8]| request.windows(end.len()).any(|w| w == end);
    if !ends(b"\r\n\r\n") && !ends(b"\n\n") {
        let status = "431 Request Header Fields Too Large";
        let text = format!("need at most {MOST_REQUEST_BYTES} bytes\n");
        return (request.len() >= MOST_REQUEST_BYTES).then(|| response(status, &text, true));
    }
    let line = request.split(|b| *b == b'\n').next().unwrap_or_default();
    let line = std::str::from_utf8(line).unwrap_or_default().trim_end();
    let words: Vec<&str> = line.split(' ').collect();
    let [method, target, "HTTP/1.0" | "HTTP/1.1"] = words[..] else {
        return Some(response("400 Bad Request", "need HTTP/1.1\n", true));
    };
    let is_page = target.split('?').next() == Some("/metrics");
    let (status, text) = match (is_page, method) {
        (false, _) => ("404 Not Found", "need /metrics\n".to_string()),
        (_, "GET" | "HEAD") => match render() {
            Some(text) => ("200 OK", text),
            None => ("503 Service Unavailable", "it has ended\n".to_string()),
        },
        _ => ("405 Method Not Allowed", "need GET\n".to_string()),
    };
    Some(response(status, &text, method != "HEAD"))
}

fn response(status: &str, text: &str, has_body: bool) -> Vec<u8> {
    let allow = match status.starts_with("405") {
        true => "Allow: GET, HEAD\r\n",
        false => "",
    };
    let length = text.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {length}\r\n{allow}Connection: close\r\n\r\n"
    );
    let body = if has_body { text } else { "" };
    (head + body).into_bytes()
}
