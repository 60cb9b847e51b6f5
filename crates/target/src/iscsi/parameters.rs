//! Operational parameters: what target and initiator agree on.
//!
//! # Source
//! RFC 7143, section 13, which has the rule of each key.

use crate::clients::LEAST_WRITTEN;
use crate::iscsi::pdu::Digests;
use crate::iscsi::text::number;

/// Most data of a unit that is received.
pub const MOST_RECEIVED: usize = 64 << 10;
/// Most data of a sequence.
const MOST_BURST: u32 = 256 << 10;
/// Most data before the first R2T.
pub const FIRST_BURST: u32 = LEAST_WRITTEN as u32;
/// Least value of lengths.
const LEAST: u32 = 512;

/// What was agreed on, with the defaults of the standard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Digests, from the full feature phase on.
    pub digests: Digests,
    /// Most data of a unit that the initiator receives.
    pub most_sent: u32,
    /// Data before the first R2T only come with the command.
    pub initial_r2t: bool,
    /// Data may come with the command.
    pub immediate_data: bool,
    /// Most data of a sequence.
    pub most_burst: u32,
    /// Most data before the first R2T.
    pub first_burst: u32,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            digests: Digests::default(),
            most_sent: 8192,
            initial_r2t: true,
            immediate_data: true,
            most_burst: MOST_BURST,
            first_burst: FIRST_BURST,
        }
    }
}

fn word(value: bool) -> String {
    if value { "Yes" } else { "No" }.into()
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "Yes" => Some(true),
        "No" => Some(false),
        _ => None,
    }
}

impl Parameters {
    /// The answer to a key; `None` if it needs none. A value that is none is answered with `Reject`.
    pub fn negotiate(&mut self, key: &str, value: &str, is_discovery: bool) -> Option<String> {
        // What is about SCSI commands has no meaning in a discovery session.
        let of_commands = matches!(
            key,
            "MaxConnections"
                | "InitialR2T"
                | "ImmediateData"
                | "MaxBurstLength"
                | "FirstBurstLength"
                | "MaxOutstandingR2T"
                | "DataPDUInOrder"
                | "DataSequenceInOrder"
        );
        if is_discovery && of_commands {
            return Some("Irrelevant".into());
        }
        Some(match key {
            "HeaderDigest" => digest(value, &mut self.digests.header),
            "DataDigest" => digest(value, &mut self.digests.data),
            "MaxRecvDataSegmentLength" => match number(value) {
                Some(n @ LEAST..=0xff_ffff) => {
                    self.most_sent = n;
                    return None;
                }
                _ => REJECT.into(),
            },
            "InitialR2T" => boolean(value, &mut self.initial_r2t, |theirs| theirs),
            "ImmediateData" => boolean(value, &mut self.immediate_data, |theirs| theirs),
            "MaxBurstLength" => smaller(value, &mut self.most_burst, MOST_BURST),
            "FirstBurstLength" => smaller(value, &mut self.first_burst, FIRST_BURST),
            _ => return fixed(key, value),
        })
    }

    /// What the target declares by itself when the initiator negotiates.
    pub fn declared() -> (String, String) {
        ("MaxRecvDataSegmentLength".into(), MOST_RECEIVED.to_string())
    }
}

const REJECT: &str = "Reject";

/// Keys whose value does not depend on the initiator.
fn fixed(key: &str, value: &str) -> Option<String> {
    Some(match (key, number(value)) {
        ("InitiatorName" | "InitiatorAlias" | "TargetName" | "SessionType" | "AuthMethod", _) => return None,
        ("MaxConnections" | "MaxOutstandingR2T", Some(1..=65535)) => "1".into(),
        ("ErrorRecoveryLevel", Some(0..=2)) => "0".into(),
        // The greater one, and ours is 0; nothing is kept after a connection has ended.
        ("DefaultTime2Wait", Some(n @ 0..=3600)) => n.to_string(),
        ("DefaultTime2Retain", Some(0..=3600)) => "0".into(),
        ("iSCSIProtocolLevel", Some(0..=31)) => "1".into(),
        ("DataPDUInOrder" | "DataSequenceInOrder", None) if truth(value).is_some() => word(true),
        ("TaskReporting", None) if value.split(',').any(|v| v == "RFC3720") => "RFC3720".into(),
        ("IFMarker" | "OFMarker", _) => word(false),
        ("IFMarkInt" | "OFMarkInt", _) => "Irrelevant".into(),
        (
            "MaxConnections"
            | "MaxOutstandingR2T"
            | "ErrorRecoveryLevel"
            | "DefaultTime2Wait"
            | "DefaultTime2Retain"
            | "iSCSIProtocolLevel"
            | "DataPDUInOrder"
            | "DataSequenceInOrder"
            | "TaskReporting",
            _,
        ) => REJECT.into(),
        _ => "NotUnderstood".into(),
    })
}

/// The first digest of the list that is known here.
fn digest(value: &str, own: &mut bool) -> String {
    let known = value.split(',').find(|v| matches!(*v, "CRC32C" | "None"));
    *own = known == Some("CRC32C");
    known.unwrap_or(REJECT).into()
}

fn boolean(value: &str, own: &mut bool, decide: impl Fn(bool) -> bool) -> String {
    match truth(value) {
        Some(theirs) => {
            *own = decide(theirs);
            word(*own)
        }
        None => REJECT.into(),
    }
}

/// The smaller number of both sides.
fn smaller(value: &str, own: &mut u32, ours: u32) -> String {
    match number(value) {
        Some(theirs @ LEAST..=0xff_ffff) => {
            *own = theirs.min(ours);
            own.to_string()
        }
        _ => REJECT.into(),
    }
}
