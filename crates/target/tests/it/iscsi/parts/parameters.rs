use headstack_target::iscsi::parameters::*;

/// Each key with an offer and the answer that the rules of RFC 7143, section 13, give for a target that offers both
/// digests, InitialR2T=No, ImmediateData=Yes, bursts of 256 and 64 KiB, one connection and level 0.
#[test]
fn each_key_is_answered_by_its_rule() {
    for (key, offer, answer) in [
        ("HeaderDigest", "CRC32C,None", Some("CRC32C")),
        ("HeaderDigest", "None,CRC32C", Some("None")),
        ("DataDigest", "SHA,CRC32C", Some("CRC32C")),
        ("DataDigest", "SHA", Some("Reject")),
        ("MaxConnections", "8", Some("1")),
        ("InitialR2T", "No", Some("No")),
        ("InitialR2T", "Yes", Some("Yes")),
        ("InitialR2T", "Maybe", Some("Reject")),
        ("ImmediateData", "No", Some("No")),
        ("MaxBurstLength", "16776192", Some("262144")),
        ("FirstBurstLength", "512", Some("512")),
        ("FirstBurstLength", "1", Some("Reject")),
        ("MaxRecvDataSegmentLength", "262144", None),
        ("DefaultTime2Wait", "2", Some("2")),
        ("DefaultTime2Retain", "20", Some("0")),
        ("MaxOutstandingR2T", "16", Some("1")),
        ("DataPDUInOrder", "No", Some("Yes")),
        ("ErrorRecoveryLevel", "2", Some("0")),
        ("IFMarker", "Yes", Some("No")),
        ("X-org.example.new", "1", Some("NotUnderstood")),
        ("TargetName", "iqn.x", None),
    ] {
        let mut agreed = Parameters::default();
        let found = agreed.negotiate(key, offer, false);
        assert_eq!(found.as_deref(), answer, "{key}={offer}");
    }
    let mut agreed = Parameters::default();
    let found = agreed.negotiate("MaxBurstLength", "1000", true);
    assert_eq!(found.as_deref(), Some("Irrelevant"));
    assert_eq!(agreed, Parameters::default());
}
