//! The Unix socket of the daemon: a line of JSON for a request, a line for the answer.

use crate::daemon::HostError;
use headstack_units::Watts;
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// Longest line of a request.
const MOST_BYTES: u64 = 4096;

/// The longest time that a client may take for its line.
const CLIENT_TIME: Duration = Duration::from_secs(2);

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

/// The daemon's side.
pub struct Socket {
    path: PathBuf,
    requests: Receiver<(Request, Reply)>,
}

impl Socket {
    /// Listens. Only the owner and the group of the file may connect.
    ///
    /// # Errors
    /// The file cannot be made, or another program listens there.
    pub fn bind(path: &Path) -> Result<Socket, HostError> {
        let failed = |why: io::Error| HostError::File {
            what: "socket",
            path: path.into(),
            why,
        };
        if let Some(folder) = path.parent() {
            // What fails here fails again below.
            let _ = std::fs::create_dir_all(folder);
        }
        if path.exists() {
            if UnixStream::connect(path).is_ok() {
                return Err(failed(io::ErrorKind::AddrInUse.into()));
            }
            // Left behind by a daemon that was killed.
            std::fs::remove_file(path).map_err(failed)?;
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        let mode = std::fs::Permissions::from_mode(0o660);
        std::fs::set_permissions(path, mode).map_err(failed)?;
        let (sender, requests) = channel();
        std::thread::Builder::new()
            .name("socket".into())
            .spawn(move || {
                // One client after another: each is bounded in time and length.
                for client in listener.incoming() {
                    let served = client.and_then(|client| serve(client, &sender));
                    match served {
                        Err(e) if e.kind() == io::ErrorKind::NotConnected => return,
                        Err(e) => tracing::debug!("socket: {e}"),
                        Ok(()) => {}
                    }
                }
            })?;
        Ok(Socket {
            path: path.into(),
            requests,
        })
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

impl Drop for Socket {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// An error of the kind `NotConnected` means that the daemon has ended.
fn serve(mut client: UnixStream, sender: &Sender<(Request, Reply)>) -> io::Result<()> {
    client.set_read_timeout(Some(CLIENT_TIME))?;
    client.set_write_timeout(Some(CLIENT_TIME))?;
    let mut line = String::new();
    BufReader::new(Read::take(&client, MOST_BYTES)).read_line(&mut line)?;
    let answer = match serde_json::from_str::<Request>(&line) {
        Err(e) => Err(format!(
            "request: got {e}, need {{\"do\": \"status\"}} or \"cap\""
        )),
        Ok(request) => {
            let (reply, answer) = channel();
            let ended = |_| io::Error::from(io::ErrorKind::NotConnected);
            sender.send((request, reply)).map_err(ended)?;
            answer
                .recv()
                .map_err(|_| io::Error::from(io::ErrorKind::NotConnected))?
        }
    };
    let document = match answer {
        Ok(value) => json!({ "ok": value }),
        Err(error) => json!({ "error": error }),
    };
    writeln!(client, "{document}")
}

/// Asks a daemon.
///
/// # Errors
/// No daemon at this socket, or what it answers.
pub fn ask(path: &Path, request: &Request) -> Result<Value, HostError> {
    let failed = |why: io::Error| HostError::File {
        what: "socket",
        path: path.into(),
        why,
    };
    let mut stream = UnixStream::connect(path).map_err(failed)?;
    stream
        .set_read_timeout(Some(Duration::from_secs(90)))
        .map_err(failed)?;
    let line = serde_json::to_string(request)
        .map_err(io::Error::other)
        .map_err(failed)?;
    writeln!(stream, "{line}").map_err(failed)?;
    let mut text = String::new();
    BufReader::new(stream)
        .read_line(&mut text)
        .map_err(failed)?;
    let mut document: Value = serde_json::from_str(&text)
        .map_err(io::Error::other)
        .map_err(failed)?;
    match document["error"].as_str() {
        Some(error) => Err(HostError::Argument(error.into())),
        None => Ok(document["ok"].take()),
    }
}
