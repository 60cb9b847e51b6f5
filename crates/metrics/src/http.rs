//! The page of metrics over HTTP, for Prometheus: at a port of this machine, or at a Unix socket.

use std::net::ToSocketAddrs;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use thiserror::Error;
use tiny_http::{Header, Method, Response, Server};

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

/// A page of metrics that is served until it is dropped.
pub struct Page {
    server: Arc<Server>,
    thread: Option<JoinHandle<()>>,
    socket: Option<PathBuf>,
    address: String,
}

impl Page {
    /// Serves what `render` gives at `unix:PATH` or `HOST:PORT`; others than this machine's addresses need `remote`.
    ///
    /// # Errors
    /// An address that is none, or that is in use.
    pub fn serve(address: &str, remote: bool, render: Render) -> Result<Page, PageError> {
        let wrong =
            |need: &str| PageError::Address(format!("metrics: got {address:?}, need {need}"));
        let failed = |why: String| {
            PageError::Address(format!(
                "metrics: got {address}: {why}, need one that is free"
            ))
        };
        let (server, socket) = match address.strip_prefix("unix:") {
            Some(path) => {
                let path = PathBuf::from(path);
                let server = Server::http_unix(&path).map_err(|e| failed(e.to_string()))?;
                (server, Some(path))
            }
            None => {
                let form = "unix:PATH or HOST:PORT, such as 127.0.0.1:9100";
                let mut found = address.to_socket_addrs().map_err(|_| wrong(form))?;
                let at = found.next().ok_or_else(|| wrong(form))?;
                if !at.ip().is_loopback() && !remote {
                    return Err(wrong("an address of this machine alone, or --allow-remote"));
                }
                (Server::http(at).map_err(|e| failed(e.to_string()))?, None)
            }
        };
        let address = match (&socket, server.server_addr().to_ip()) {
            (None, Some(at)) => format!("http://{at}/metrics"),
            _ => address.to_string(),
        };
        let server = Arc::new(server);
        let serving = server.clone();
        let thread = std::thread::Builder::new().spawn(move || {
            for request in serving.incoming_requests() {
                answer(request, &render);
            }
        })?;
        Ok(Page {
            server,
            thread: Some(thread),
            socket,
            address,
        })
    }

    /// Where it is.
    pub fn address(&self) -> &str {
        &self.address
    }
}

fn answer(request: tiny_http::Request, render: &Render) {
    let is_page = request.url().split('?').next() == Some("/metrics");
    let is_get = matches!(request.method(), Method::Get | Method::Head);
    let (code, text) = match (is_page, is_get) {
        (false, _) => (404, "need /metrics\n".to_string()),
        (_, false) => (405, "need GET\n".to_string()),
        _ => match render() {
            Some(text) => (200, text),
            None => (503, "it has ended\n".to_string()),
        },
    };
    let mut response = Response::from_string(text).with_status_code(code);
    let kind = Header::from_bytes("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    if let Ok(kind) = kind {
        response = response.with_header(kind);
    }
    // The client may have left.
    let _ = request.respond(response);
}

impl Drop for Page {
    fn drop(&mut self) {
        self.server.unblock();
        if let Some(thread) = self.thread.take() {
            // It has no result.
            let _ = thread.join();
        }
        if let Some(path) = &self.socket {
            // It may be gone already.
            let _ = std::fs::remove_file(path);
        }
    }
}
