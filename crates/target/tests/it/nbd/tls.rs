//! Encrypted connections: clients of rustls, and clients that write bytes of their own.

use crate::nbd::client::{folder, options, read_reply, send_option, Client, Server};
use headstack_target::clients::{Connection as _, Work, WORK_BYTES};
use headstack_target::live::Live;
use headstack_target::nbd::connection::Connection;
use headstack_target::nbd::tls::{Mode, Tls, TlsOptions};
use headstack_testkit::damage::damage;
use headstack_testkit::{cases, Takes, XorShift};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

const SMALL: &str = "ibm-18es";
const STARTTLS: u32 = 5;
const ACK: u32 = 1;
const UNSUP: u32 = 0x8000_0001;
const INVALID: u32 = 0x8000_0003;
const TLS_REQD: u32 = 0x8000_0005;

/// Makes a list of the authority with the client's certificate in it.
const REVOKE: &str = "
cat > ca.cnf <<END
[ca]
default_ca = own
[own]
database = index
crlnumber = number
default_md = sha256
END
: > index
echo 01 > number
ask='openssl ca -config ca.cnf -keyfile ca-key.pem -cert ca-cert.pem'
$ask -revoke client-cert.pem && $ask -gencrl -crldays 30 -out ca-crl.pem";

/// Certificates of an authority of its own, in a folder; `None` where openssl is absent.
pub fn certificates() -> Option<TempDir> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/certificates.sh");
    let folder = folder();
    let made = Command::new("sh").arg(script).arg(folder.path()).status();
    if made.is_ok_and(|made| made.success()) {
        return Some(folder);
    }
    println!("skipped: openssl is absent");
    None
}

fn asked(mode: Mode, certificates: &TempDir, verify_peer: bool) -> TlsOptions {
    TlsOptions { mode: Some(mode), certificates: Some(certificates.path().into()), verify_peer }
}

fn server(tls: TlsOptions) -> Server {
    let folder = folder();
    let mut options = options(&folder, SMALL, 0.0);
    options.nbd = options.nbd.map(|(address, _)| (address, tls));
    Server::with(folder, &options)
}

/// A client that trusts the authority, and shows a certificate if there is a folder for it.
fn config(authority: &TempDir, own: Option<&TempDir>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    let root = CertificateDer::from_pem_file(authority.path().join("ca-cert.pem")).unwrap();
    roots.add(root).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    Arc::new(match own {
        None => builder.with_no_client_auth(),
        Some(own) => {
            let chain = CertificateDer::from_pem_file(own.path().join("client-cert.pem")).unwrap();
            let key = PrivateKeyDer::from_pem_file(own.path().join("client-key.pem")).unwrap();
            builder.with_client_auth_cert(vec![chain], key).unwrap()
        }
    })
}

type Encrypted = StreamOwned<ClientConnection, UnixStream>;

/// Asks for encryption, and begins it.
fn encrypted(server: &Server, config: Arc<ClientConfig>) -> Encrypted {
    let mut stream = server.greeted();
    send_option(&mut stream, STARTTLS, b"");
    assert_eq!(read_reply(&mut stream).1, ACK);
    let name = ServerName::try_from("localhost").unwrap();
    StreamOwned::new(ClientConnection::new(config, name).unwrap(), stream)
}

#[test]
fn data_are_the_same_with_and_without_encryption() {
    let Some(certificates) = certificates() else { return };
    let server = server(asked(Mode::On, &certificates, false));
    let config = config(&certificates, None);
    let mut secret = Client::new(encrypted(&server, config.clone()), true);
    let mut open = server.client(false);
    let seed = 41;
    println!("seed {seed}");
    let mut rng = XorShift::seeded(seed);
    for _ in 0..cases(20) {
        let (offset, length) = (rng.below(1 << 20), 1 + rng.below(300_000));
        let data: Vec<u8> = (0..length).map(|_| rng.below(256) as u8).collect();
        secret.write(offset, &data);
        assert!(open.read(offset, length as u32) == data);
        open.write(offset, &data[..1]);
        assert!(secret.read(offset, length as u32) == data);
    }
    // More than fits into any buffer, in both directions.
    let data = vec![3; 8 << 20];
    secret.write(5, &data);
    assert!(secret.read(5, 8 << 20) == data);
    // Several options after encryption began, and the end of both layers.
    let mut stream = encrypted(&server, config);
    send_option(&mut stream, STARTTLS, b"");
    assert_eq!(read_reply(&mut stream).1, INVALID);
    send_option(&mut stream, 2, b"");
    assert_eq!(read_reply(&mut stream).1, ACK);
    // The server says that encryption ends: without that, rustls reports an error here.
    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0);
}

/// A client that asks for 4 GB and takes little, and then what was made for it: that is what was counted, and no more than
/// one reply beyond half of its share.
#[test]
fn what_is_encrypted_and_not_taken_is_counted() {
    // That of one of 125.
    const SHARE: usize = (16 << 20) / 125;
    let Some(certificates) = certificates() else { return };
    let tls = Tls::open(&asked(Mode::On, &certificates, false)).unwrap();
    let data_folder = folder();
    let mut live = Live::open(&options(&data_folder, SMALL, 0.0).live).unwrap();
    let mut connection = Connection::new(&tls);
    let name = ServerName::try_from("localhost").unwrap();
    let mut client = ClientConnection::new(config(&certificates, None), name).unwrap();
    let mut socket = Takes(usize::MAX, Vec::new());
    // What is sent to the server, and what it makes of it.
    let mut turn = |connection: &mut Connection, socket: &mut Takes, mut sent: &[u8]| {
        let mut buffer = vec![0; sent.len()];
        if !sent.is_empty() {
            connection.receive(&mut sent, &mut buffer).unwrap();
        }
        let (mut work, mut open) = (Work::of(WORK_BYTES), Vec::new());
        connection.step(&tls, &mut live, SHARE, &mut work, |_, _, request, _| open.push(request)).unwrap();
        open.iter().for_each(|request| assert!(connection.ended(request, None)));
        connection.send(socket, &mut live, SHARE, &mut work).unwrap();
    };
    turn(&mut connection, &mut socket, b"\0\0\0\x03IHAVEOPT\0\0\0\x05\0\0\0\0");
    socket.1.clear();
    let said = |client: &mut ClientConnection| {
        let mut said = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut said).unwrap();
        }
        said
    };
    while client.is_handshaking() || client.wants_write() {
        turn(&mut connection, &mut socket, &said(&mut client));
        client.read_tls(&mut &std::mem::take(&mut socket.1)[..]).unwrap();
        client.process_new_packets().unwrap();
    }
    // The export, and 128 reads of 32 MiB.
    let read = [&[0x25, 0x60, 0x95, 0x13, 0, 0, 0, 0][..], &[0; 16], &(32u32 << 20).to_be_bytes()].concat();
    let go = [&b"IHAVEOPT\0\0\0\x07\0\0\0\x06"[..], &[0; 6]].concat();
    for (bytes, takes) in [(go, usize::MAX), (read.repeat(128), 70_000)] {
        client.writer().write_all(&bytes).unwrap();
        socket = Takes(takes, Vec::new());
        turn(&mut connection, &mut socket, &said(&mut client));
    }
    (0..99).for_each(|_| turn(&mut connection, &mut socket, &[]));
    let held = connection.untaken();
    assert!(held > SHARE / 4 && held < SHARE / 2 + SHARE / 8, "got {held} bytes");
    socket = Takes(held, Vec::new());
    turn(&mut connection, &mut socket, &[]);
    assert_eq!((socket.1.len(), connection.untaken()), (held, 0));
}

#[test]
fn where_it_is_required_nothing_else_is_possible() {
    let Some(certificates) = certificates() else { return };
    let server = server(asked(Mode::Require, &certificates, false));
    let mut stream = server.greeted();
    for (code, data) in [(3, &b""[..]), (6, &[0; 6]), (7, &[0; 6]), (8, b""), (9, &[0; 8]), (99, b"")] {
        send_option(&mut stream, code, data);
        assert_eq!(read_reply(&mut stream).1, TLS_REQD, "{code}");
    }
    send_option(&mut stream, 99, &vec![0; 100_000]);
    assert_eq!(read_reply(&mut stream).1, TLS_REQD);
    send_option(&mut stream, STARTTLS, b"x");
    assert_eq!(read_reply(&mut stream).1, INVALID);
    send_option(&mut stream, 2, b"");
    assert_eq!(read_reply(&mut stream).1, ACK);
    // EXPORT_NAME has no error reply.
    let mut stream = server.greeted();
    send_option(&mut stream, 1, b"");
    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0);
    // A client of the handshake that is not fixed cannot ask for it.
    let mut stream = server.connect();
    stream.read_exact(&mut [0; 18]).unwrap();
    stream.write_all(&2u32.to_be_bytes()).unwrap();
    send_option(&mut stream, STARTTLS, b"");
    assert_eq!(read_reply(&mut stream).1, INVALID);
    Client::new(encrypted(&server, config(&certificates, None)), false).write(0, b"in");
    drop(server);
    // Where it is off, it is unknown.
    let server = Server::start(SMALL, 0.0);
    let mut stream = server.greeted();
    send_option(&mut stream, STARTTLS, b"");
    assert_eq!(read_reply(&mut stream).1, UNSUP);
}

#[test]
fn what_was_said_in_plain_text_does_not_count() {
    let Some(certificates) = certificates() else { return };
    let server = server(asked(Mode::On, &certificates, false));
    // Structured replies, asked for before: afterwards they are not in force, so metadata are refused.
    let mut stream = server.greeted();
    send_option(&mut stream, 8, b"");
    assert_eq!(read_reply(&mut stream).1, ACK);
    send_option(&mut stream, STARTTLS, b"");
    assert_eq!(read_reply(&mut stream).1, ACK);
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(config(&certificates, None), name).unwrap();
    let mut stream = StreamOwned::new(connection, stream);
    send_option(&mut stream, 9, &[0; 8]);
    assert_eq!(read_reply(&mut stream).1, INVALID);
    // An option behind STARTTLS in one packet, as somebody in between would add it: the connection ends.
    let mut stream = server.greeted();
    let mut both = Vec::new();
    send_option(&mut both, STARTTLS, b"");
    send_option(&mut both, 8, b"");
    stream.write_all(&both).unwrap();
    let mut rest = Vec::new();
    // It may be reset, because the rest was not read.
    let _ = stream.read_to_end(&mut rest);
    assert!(rest.len() <= 20, "{} bytes of answers", rest.len());
    // The next client is served.
    server.client(false).write(0, b"next");
}

#[test]
fn clients_are_verified() {
    let (Some(certificates), Some(stranger)) = (certificates(), certificates()) else { return };
    let server = server(asked(Mode::Require, &certificates, true));
    let known = config(&certificates, Some(&certificates));
    Client::new(encrypted(&server, known), true).write(0, b"known");
    for own in [None, Some(&stranger)] {
        let mut stream = encrypted(&server, config(&certificates, own));
        // With TLS 1.3 a client learns only later that it was refused.
        let sent = stream.write_all(b"IHAVEOPT\0\0\0\x03\0\0\0\0");
        let refused = sent.and_then(|()| stream.read(&mut [0; 8]));
        assert!(refused.is_err(), "{refused:?}");
    }
    drop(server);
    // The authority takes the certificate back.
    let revoked = Command::new("sh").args(["-c", REVOKE]).current_dir(certificates.path()).output().unwrap();
    let said = String::from_utf8_lossy(&revoked.stderr);
    assert!(certificates.path().join("ca-crl.pem").exists(), "{said}");
    let server = self::server(asked(Mode::Require, &certificates, true));
    let mut stream = encrypted(&server, config(&certificates, Some(&certificates)));
    let sent = stream.write_all(b"IHAVEOPT\0\0\0\x03\0\0\0\0");
    assert!(sent.and_then(|()| stream.read(&mut [0; 8])).is_err());
}

#[test]
fn damaged_records_harm_nobody_else() {
    let Some(certificates) = certificates() else { return };
    let server = server(asked(Mode::On, &certificates, false));
    let mut good = Client::new(encrypted(&server, config(&certificates, None)), true);
    good.write(0, b"kept");
    let seed = 43;
    println!("seed {seed}");
    let mut rng = XorShift::seeded(seed);
    for _ in 0..cases(100) {
        let mut stream = server.greeted();
        send_option(&mut stream, STARTTLS, b"");
        assert_eq!(read_reply(&mut stream).1, ACK);
        let name = ServerName::try_from("localhost").unwrap();
        let mut client = ClientConnection::new(config(&certificates, None), name).unwrap();
        let mut hello = Vec::new();
        client.write_tls(&mut hello).unwrap();
        damage(&mut hello, 30, &[], &mut rng);
        let _ = stream.write_all(&hello);
        stream.set_read_timeout(Some(Duration::from_millis(2))).unwrap();
        let mut answers = [0; 4096];
        while matches!(stream.read(&mut answers), Ok(n) if n > 0) {}
    }
    assert_eq!(good.read(0, 4), b"kept");
}

#[test]
fn wrong_certificates_are_named() {
    let Some(certificates) = certificates() else { return };
    let said = |options: &TlsOptions| Tls::open(options).unwrap_err().to_string();
    let mut options = asked(Mode::On, &certificates, true);
    std::fs::remove_file(certificates.path().join("ca-cert.pem")).unwrap();
    assert!(said(&options).contains("ca-cert.pem: got"));
    options.verify_peer = false;
    assert!(Tls::open(&options).is_ok());
    std::fs::write(certificates.path().join("server-key.pem"), "no key").unwrap();
    assert!(said(&options).contains("server-key.pem: got"));
    std::fs::write(certificates.path().join("server-cert.pem"), "").unwrap();
    let text = said(&options);
    assert!(text.contains("server-cert.pem: got no certificate, need PEM"), "{text}");
    options.certificates = None;
    assert_eq!(said(&options), "tls: got no certificates, need a folder of them");
    options = TlsOptions { verify_peer: true, ..TlsOptions::default() };
    assert!(said(&options).contains("need on or require"));
    let mode = "yes".parse::<Mode>().unwrap_err().to_string();
    assert_eq!(mode, "tls: got \"yes\", need one of off, on, require");
}
