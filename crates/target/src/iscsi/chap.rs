//! The challenge-handshake of a login (CHAP), one-way and mutual.
//!
//! # Source
//! RFC 7143, section 12.1.3; RFC 1994.

use crate::iscsi::text::{binary, hex, Keys};
use md5::{Digest, Md5};
use sha2::Sha256;
use std::path::Path;

/// Names and secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secrets {
    /// The name that initiators give.
    pub name: String,
    /// Their secret.
    pub secret: String,
    /// Name and secret of the target, if initiators may ask for them.
    pub mutual: Option<(String, String)>,
}

/// Shortest secret: the standard asks for 96 bits without further protection.
const SHORTEST: usize = 12;
/// Longest challenge that is answered.
const LONGEST: usize = 1024;

impl Secrets {
    /// Reads a file with `name`, `secret` and perhaps `mutual_name` and `mutual_secret`, in TOML.
    ///
    /// # Errors
    /// In words, what is wrong with it. Secrets are not repeated.
    pub fn read(path: &Path) -> Result<Secrets, String> {
        let placed = |why: String| format!("iscsi-chap: {}: {why}", path.display());
        let text =
            std::fs::read_to_string(path).map_err(|e| placed(format!("got {e}, need a file that can be read")))?;
        let table: toml::Table =
            (text.parse()).map_err(|_| placed("got something else, need name and secret in TOML".into()))?;
        let mut known = ["name", "secret", "mutual_name", "mutual_secret"].map(|key| {
            let value = table.get(key).map(|v| v.as_str().map(String::from));
            (key, value)
        });
        if let Some(key) = table.keys().find(|k| known.iter().all(|(n, _)| n != k)) {
            return Err(placed(format!("got the key {key:?}, need name, secret, mutual_name, mutual_secret")));
        }
        for (key, value) in &known {
            let is_secret = key.ends_with("secret");
            match value {
                Some(None) => return Err(placed(format!("{key}: got no text, need text"))),
                Some(Some(text)) if is_secret && text.len() < SHORTEST => {
                    let got = text.len();
                    return Err(placed(format!("{key}: got {got} characters, need {SHORTEST} or more")));
                }
                _ => {}
            }
        }
        let [name, secret, mutual_name, mutual_secret] = known.each_mut().map(|(_, value)| value.take().flatten());
        let (Some(name), Some(secret)) = (name, secret) else {
            return Err(placed("got no name or secret, need both".into()));
        };
        let mutual = match (mutual_name, mutual_secret) {
            (None, None) => None,
            (Some(name), Some(own)) if own != secret => Some((name, own)),
            (Some(_), Some(_)) => {
                let why = "mutual_secret: got the same as secret, need another one";
                return Err(placed(why.into()));
            }
            _ => {
                let why = "got one of mutual_name and mutual_secret, need both";
                return Err(placed(why.into()));
            }
        };
        Ok(Secrets { name, secret, mutual })
    }
}

/// How responses are computed. The numbers are those of IANA.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    Md5 = 5,
    Sha256 = 7,
}

impl Algorithm {
    pub fn response(self, id: u8, secret: &str, challenge: &[u8]) -> Vec<u8> {
        let parts = [&[id], secret.as_bytes(), challenge].concat();
        match self {
            Algorithm::Md5 => Md5::digest(&parts).to_vec(),
            Algorithm::Sha256 => Sha256::digest(&parts).to_vec(),
        }
    }
}

/// Where a handshake is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stage {
    /// The initiator is to name algorithms.
    Begun,
    /// It is to answer the challenge.
    Challenged {
        algorithm: Algorithm,
        id: u8,
        challenge: Vec<u8>,
    },
    Done,
}

/// A handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chap {
    stage: Stage,
}

/// The initiator is not who it says, or does not keep to the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

fn find<'a>(keys: &'a Keys, key: &str) -> Option<&'a str> {
    keys.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
}

impl Chap {
    /// The initiator has agreed to it.
    pub fn new() -> Chap {
        Chap { stage: Stage::Begun }
    }

    /// Whether the initiator has proved who it is.
    pub fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// Answers keys of the initiator; the others are left. `random` fills bytes; false if it cannot.
    ///
    /// # Errors
    /// The login must fail.
    pub fn step(
        &mut self,
        keys: &Keys,
        secrets: &Secrets,
        random: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> Result<Keys, Refused> {
        match &self.stage {
            Stage::Begun => {
                let Some(offered) = find(keys, "CHAP_A") else { return Ok(Keys::new()) };
                self.challenge(offered, random)
            }
            Stage::Challenged { algorithm, id, challenge } => {
                let answers = answer(keys, secrets, *algorithm, *id, challenge)?;
                self.stage = Stage::Done;
                Ok(answers)
            }
            Stage::Done => Err(Refused),
        }
    }

    fn challenge(&mut self, offered: &str, random: &mut dyn FnMut(&mut [u8]) -> bool) -> Result<Keys, Refused> {
        let known = offered.split(',').find_map(|number| match number {
            "5" => Some(Algorithm::Md5),
            "7" => Some(Algorithm::Sha256),
            _ => None,
        });
        let algorithm = known.ok_or(Refused)?;
        let mut bytes = [0; 33];
        if !random(&mut bytes) {
            return Err(Refused);
        }
        let (id, challenge) = (bytes[0], bytes[1..].to_vec());
        let keys = vec![
            ("CHAP_A".into(), (algorithm as u8).to_string()),
            ("CHAP_I".into(), id.to_string()),
            ("CHAP_C".into(), hex(&challenge)),
        ];
        self.stage = Stage::Challenged { algorithm, id, challenge };
        Ok(keys)
    }
}

impl Default for Chap {
    fn default() -> Chap {
        Chap::new()
    }
}

/// Whether two texts are equal, in a time that does not tell where they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

/// Checks the response of the initiator, and answers its own challenge.
fn answer(keys: &Keys, secrets: &Secrets, algorithm: Algorithm, id: u8, challenge: &[u8]) -> Result<Keys, Refused> {
    let (name, response) = (find(keys, "CHAP_N"), find(keys, "CHAP_R"));
    let response = response.and_then(binary).ok_or(Refused)?;
    let wanted = algorithm.response(id, &secrets.secret, challenge);
    if name != Some(&secrets.name) || !same(&response, &wanted) {
        return Err(Refused);
    }
    match (find(keys, "CHAP_I"), find(keys, "CHAP_C"), &secrets.mutual) {
        (None, None, _) => Ok(Keys::new()),
        (Some(id), Some(theirs), Some((name, secret))) => {
            let id: u8 = id.parse().map_err(|_| Refused)?;
            let theirs = binary(theirs).ok_or(Refused)?;
            // Our own challenge sent back would have us give away the answer.
            if theirs == challenge || theirs.is_empty() || theirs.len() > LONGEST {
                return Err(Refused);
            }
            let response = algorithm.response(id, secret, &theirs);
            Ok(vec![("CHAP_N".into(), name.clone()), ("CHAP_R".into(), hex(&response))])
        }
        _ => Err(Refused),
    }
}
