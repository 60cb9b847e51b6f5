//! The Unix socket of the daemon: a line of JSON for a request, a line for the answer.

use crate::daemon::HostError;
use headstack_metrics::{Server, SocketPath};
use headstack_units::Watts;
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// What may be asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// What the daemon knows.
    Status,
    /// A new cap of a group.
    Cap {
        /// The group; may be left out if there is one.
        group: Option<String>,
        /// The cap; none for no cap.
        cap: Option<Watts>,
    },
}

type Reply = Sender<Result<Value, String>>;

/// The daemon's side. What clients can do is bounded as [`Server`] says.
pub struct Socket {
    // In this order: the server may wait for the answer to a request.
    requests: Receiver<(Request, Reply)>,
    _server: Server,
    _path: SocketPath,
}

impl Socket {
    /// Listens. Only the owner and the group of the file may connect. A socket on which nobody listens is replaced.
    ///
    /// # Errors
    /// The file cannot be made, is no socket, or another program listens there.
    pub fn bind(path: &Path) -> Result<Socket, HostError> {
        let failed = |why: io::Error| HostError::File { what: "socket", path: path.into(), why };
        if let Some(folder) = path.parent() {
            // What fails here fails again below.
            let _ = std::fs::create_dir_all(folder);
        }
        let (listener, socket) = SocketPath::listen(path).map_err(failed)?;
        let mode = std::fs::Permissions::from_mode(0o660);
        std::fs::set_permissions(path, mode).map_err(failed)?;
        let (sender, requests) = channel();
        let answer = move |request: &[u8]| answer(request, &sender);
        Ok(Socket { requests, _server: Server::start(listener.into(), Box::new(answer))?, _path: socket })
    }

    /// The next request and where its answer goes, if one comes within this time.
    pub fn request(&self, within: Duration) -> Option<(Request, Reply)> {
        match self.requests.recv_timeout(within) {
            Ok(request) => Some(request),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(within);
                None
            }
        }
    }
}

/// The answer to a line, once it is whole; nothing if the daemon has ended.
fn answer(request: &[u8], sender: &Sender<(Request, Reply)>) -> Option<Vec<u8>> {
    let line = request.split_inclusive(|b| *b == b'\n').next()?;
    if line.last() != Some(&b'\n') {
        return None;
    }
    let answer = match serde_json::from_slice::<Request>(line) {
        Err(e) => Err(format!("request: got {e}, need {{\"do\": \"status\"}} or \"cap\"")),
        Ok(request) => {
            let (reply, answer) = channel();
            let asked = sender.send((request, reply));
            match asked.ok().and_then(|()| answer.recv().ok()) {
                Some(answer) => answer,
                None => return Some(Vec::new()),
            }
        }
    };
    let document = match answer {
        Ok(value) => json!({ "ok": value }),
        Err(error) => json!({ "error": error }),
    };
    Some(format!("{document}\n").into_bytes())
}

/// Asks a daemon.
///
/// # Errors
/// No daemon at this socket, or what it answers.
pub fn ask(path: &Path, request: &Request) -> Result<Value, HostError> {
    let failed = |why: io::Error| HostError::File { what: "socket", path: path.into(), why };
    let mut stream = UnixStream::connect(path).map_err(failed)?;
    stream.set_read_timeout(Some(Duration::from_secs(90))).map_err(failed)?;
    let line = serde_json::to_string(request).map_err(io::Error::other).map_err(failed)?;
    writeln!(stream, "{line}").map_err(failed)?;
    let mut text = String::new();
    BufReader::new(stream).read_line(&mut text).map_err(failed)?;
    let mut document: Value = serde_json::from_str(&text).map_err(io::Error::other).map_err(failed)?;
    match document["error"].as_str() {
        Some(error) => Err(HostError::Argument(error.into())),
        None => Ok(document["ok"].take()),
    }
}
