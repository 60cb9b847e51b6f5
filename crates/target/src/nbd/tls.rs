//! Encrypted connections: when, and with which certificates.
//!
//! # Model
//! TLS 1.2 and 1.3 by rustls. A folder has the files that QEMU, nbdkit and libnbd use too: `server-cert.pem` (the
//! server's certificate and those up to the authority), `server-key.pem`, and to verify clients `ca-cert.pem` (the
//! authorities) and, if it exists, `ca-crl.pem` (certificates that are no longer valid).
//!
//! # Scope
//! Pre-shared keys are not supported, because rustls has none. Sessions are not resumed: a server keeps nothing of a
//! client that has left.

use crate::TargetError;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// Bytes that wait to be encrypted or sent.
const BUFFER_BYTES: usize = 256 << 10;

/// Whether connections are encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Never.
    #[default]
    Off,
    /// If the client asks for it.
    On,
    /// Always: before, a client can do nothing else.
    Require,
}

impl FromStr for Mode {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Mode, TargetError> {
        match text {
            "off" => Ok(Mode::Off),
            "on" => Ok(Mode::On),
            "require" => Ok(Mode::Require),
            _ => Err(wrong(format!("got {text:?}, need one of off, on, require"))),
        }
    }
}

/// What was asked for.
#[derive(Debug, Clone, Default)]
pub struct TlsOptions {
    /// Whether connections are encrypted; without it they must be if there are certificates.
    pub mode: Option<Mode>,
    /// The folder with the certificates.
    pub certificates: Option<PathBuf>,
    /// Clients need a certificate of an authority in `ca-cert.pem`.
    pub verify_peer: bool,
}

/// How a server encrypts.
#[derive(Debug, Clone, Default)]
pub struct Tls {
    /// Whether.
    pub mode: Mode,
    config: Option<Arc<ServerConfig>>,
}

impl Tls {
    /// Reads the certificates.
    ///
    /// # Errors
    /// Options that contradict each other, or files that are absent or wrong.
    pub fn open(options: &TlsOptions) -> Result<Tls, TargetError> {
        let folder = options.certificates.as_deref();
        let mode = match (options.mode, folder) {
            (Some(mode), _) => mode,
            (None, Some(_)) => Mode::Require,
            (None, None) => Mode::Off,
        };
        if mode == Mode::Off {
            return match options.verify_peer {
                true => Err(wrong("got off with clients to verify, need on or require")),
                false => Ok(Tls::default()),
            };
        }
        let folder = folder.ok_or_else(|| wrong("got no certificates, need a folder of them"))?;
        let config = Some(Arc::new(config(folder, options.verify_peer)?));
        Ok(Tls { mode, config })
    }

    /// The server's side of one connection.
    ///
    /// # Errors
    /// Encryption is off, or rustls refuses.
    pub fn accept(&self) -> std::io::Result<Box<ServerConnection>> {
        let none = || std::io::Error::other("no certificates");
        let config = self.config.clone().ok_or_else(none)?;
        let mut connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
        connection.set_buffer_limit(Some(BUFFER_BYTES));
        Ok(Box::new(connection))
    }
}

fn wrong(what: impl Into<String>) -> TargetError {
    TargetError::Argument(format!("tls: {}", what.into()))
}

fn config(folder: &Path, verify_peer: bool) -> Result<ServerConfig, TargetError> {
    let provider = Arc::new(ring::default_provider());
    let chain = certificates(&folder.join("server-cert.pem"))?;
    let key_file = folder.join("server-key.pem");
    let key = PrivateKeyDer::from_pem_file(&key_file).map_err(|e| unread(&key_file, &e))?;
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|e| wrong(e.to_string()))?;
    let builder = match verify_peer {
        true => builder.with_client_cert_verifier(verifier(folder, provider)?),
        false => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(chain, key).map_err(|e| unread(&folder.join("server-cert.pem"), &e))?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// What verifies the certificates of clients.
fn verifier(
    folder: &Path,
    provider: Arc<rustls::crypto::CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, TargetError> {
    let file = folder.join("ca-cert.pem");
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&file)? {
        roots.add(certificate).map_err(|e| unread(&file, &e))?;
    }
    let mut builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let revoked = folder.join("ca-crl.pem");
    if revoked.exists() {
        let lists = CertificateRevocationListDer::pem_file_iter(&revoked);
        let lists: Result<Vec<_>, _> = lists.and_then(Iterator::collect);
        builder = builder.with_crls(lists.map_err(|e| unread(&revoked, &e))?);
    }
    builder.build().map_err(|e| unread(&file, &e))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TargetError> {
    let found = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = found.map_err(|e| unread(file, &e))?;
    match found.is_empty() {
        true => Err(unread(file, &"no certificate")),
        false => Ok(found),
    }
}

fn unread(file: &Path, why: &dyn std::fmt::Display) -> TargetError {
    TargetError::Certificates { path: file.into(), why: why.to_string() }
}
