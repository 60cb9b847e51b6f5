//! What clients can do to a page of metrics, and where it may be.
#![cfg(target_os = "linux")]

use headstack_metrics::Page;
use headstack_testkit::damage::damage;
use headstack_testkit::{cases, XorShift};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

const HEAD: &[u8] = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
const BODY: &str = "up 1\n";

fn page(at: &str) -> Result<Page, String> {
    Page::serve(at, false, Box::new(|| Some(BODY.into()))).map_err(|e| e.to_string())
}

/// A page at a port, and where that is.
fn at_port() -> (Page, String) {
    let page = page("127.0.0.1:0").expect("a port");
    let at = page.address.replace("http://", "").replace("/metrics", "");
    (page, at)
}

fn ask(at: &str, request: &[u8]) -> String {
    let mut client = TcpStream::connect(at).expect("a connection");
    client.write_all(request).expect("sent");
    let mut text = String::new();
    client.read_to_string(&mut text).expect("an answer");
    text
}

/// RFC 9112: a response to HEAD has the same head and no body; what is not a request line is 400.
#[test]
fn answers_are_those_of_http() {
    let (_page, at) = at_port();
    let got = ask(&at, HEAD);
    assert!(got.starts_with("HTTP/1.1 200 OK\r\n"), "{got}");
    assert!(got.contains("\r\nConnection: close\r\n"), "{got}");
    assert!(got.ends_with(&format!("\r\n\r\n{BODY}")), "{got}");
    let head = ask(&at, b"HEAD /metrics?x HTTP/1.0\r\n\r\n");
    assert_eq!(head, got.strip_suffix(BODY).expect("a body"));
    for (request, status) in [
        ("GET / HTTP/1.1\r\n\r\n", "404"),
        ("POST /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", "405"),
        ("GET /metrics\r\n\r\n", "400"),
        ("\r\n\r\n", "400"),
        ("\u{0}\u{1}\n\n", "400"),
    ] {
        let got = ask(&at, request.as_bytes());
        assert!(got.starts_with(&format!("HTTP/1.1 {status} ")), "{got}");
    }
}

/// A request with a length and no body, clients that say nothing, and one in the middle of its line: others are answered,
/// and the end waits for none of them.
#[test]
fn no_client_holds_up_others_or_the_end() {
    let (page, at) = at_port();
    let hold = |request: &[u8]| {
        let mut client = TcpStream::connect(&at).expect("a connection");
        client.write_all(request).expect("sent");
        client
    };
    let mut held = vec![
        hold(b"POST /metrics HTTP/1.1\r\nContent-Length: 100\r\n\r\n"),
        hold(b"GET /metrics HTTP/1.1\r\nContent-Length: 100\r\n"),
        hold(b"GET /met"),
    ];
    assert!(ask(&at, HEAD).ends_with(BODY));
    held.extend((0..634).map(|_| hold(b"")));
    for _ in 0..3 {
        assert!(ask(&at, HEAD).ends_with(BODY));
    }
    // Those that are there now have sent nothing.
    held.extend((0..8).map(|_| hold(b"")));
    drop(page);
    assert!(TcpStream::connect(&at).is_err(), "nobody listens");
}

/// A line without end is answered after 8 KiB, and no more of it is kept: the client cannot send it.
#[test]
fn a_head_without_end_is_refused() {
    let (_page, at) = at_port();
    let mut client = TcpStream::connect(&at).expect("a connection");
    let line = [b'x'; 8192];
    client.write_all(b"GET /metrics HTTP/1.1\r\nX: ").expect("sent");
    // It may be closed in the middle.
    let sent = (0..16_384).take_while(|_| client.write_all(&line).is_ok());
    assert!(sent.count() < 16_384, "128 MiB were taken");
    let mut client = TcpStream::connect(&at).expect("a connection");
    client.write_all(&line).expect("sent");
    let mut text = String::new();
    client.read_to_string(&mut text).expect("an answer");
    assert!(text.starts_with("HTTP/1.1 431 "), "{text}");
}

/// What is damaged has an answer of HTTP or none, and others are served.
#[test]
fn damaged_requests_harm_nobody_else() {
    let (_page, at) = at_port();
    let seed = 19;
    println!("seed {seed}");
    let mut rng = XorShift::seeded(seed);
    for case in 0..cases(300) {
        let mut request = HEAD.to_vec();
        damage(&mut request, 8, &[b"\r\n", b"Content-Length: 9", b"\xff", b" "], &mut rng);
        let mut client = TcpStream::connect(&at).expect("a connection");
        client.write_all(&request).and_then(|()| client.shutdown(Shutdown::Write)).expect("sent");
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).expect("an end");
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 "), "case {case}: {request:?} {answer:?}");
    }
    assert!(ask(&at, HEAD).ends_with(BODY));
}

fn ask_unix(path: &Path) -> String {
    let mut client = UnixStream::connect(path).expect("a connection");
    client.write_all(HEAD).expect("sent");
    let mut text = String::new();
    client.read_to_string(&mut text).expect("an answer");
    text
}

/// What a killed program has left is replaced; a live socket, a file and a link stay as they are; and at its end a page removes
/// only its own socket.
#[test]
fn only_a_socket_of_nobody_is_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let at = format!("unix:{}", path.display());
    // A listener of the standard library leaves its file behind.
    drop(UnixListener::bind(&path).expect("a socket"));
    let first = page(&at).expect("nobody listens there");
    assert!(ask_unix(&path).ends_with(BODY));
    let error = page(&at).map(drop).expect_err("it is in use");
    assert!(error.contains("in use") && error.contains("need one that is free"), "{error}");
    assert!(ask_unix(&path).ends_with(BODY), "the first is still there");
    // Another one's socket at the same place outlives the first page.
    std::fs::remove_file(&path).expect("removed");
    let other = UnixListener::bind(&path).expect("a socket");
    drop(first);
    assert!(UnixStream::connect(&path).is_ok());
    drop(other);
    let link = folder.path().join("link");
    symlink(&path, &link).expect("a link");
    let file = folder.path().join("file");
    std::fs::write(&file, "data").expect("a file");
    for there in [&link, &file] {
        assert!(page(&format!("unix:{}", there.display())).is_err());
    }
    assert!(link.is_symlink() && path.exists());
    assert_eq!(std::fs::read_to_string(&file).expect("it"), "data");
    drop(page(&at).expect("nobody listens there"));
    assert!(!path.exists(), "its own is removed");
}
