use bytes::BytesMut;
use headstack_target::iscsi::pdu::*;

/// The examples of RFC 7143, appendix A.4 (from RFC 3720, B.4).
#[test]
fn digests_are_those_of_the_standard() {
    let rising: Vec<u8> = (0..32).collect();
    for (bytes, digest) in [(vec![0; 32], 0x8a9136aau32), (vec![0xff; 32], 0x62a8ab43), (rising, 0x46dd794e)] {
        assert!(fits(&bytes, &digest.to_le_bytes()));
        assert!(!fits(&bytes, &(digest ^ 1).to_le_bytes()));
    }
}

#[test]
fn units_come_back_as_they_were_sent() {
    for (header, data) in [(false, false), (true, false), (false, true), (true, true)] {
        let digests = Digests { header, data };
        let mut out = BytesMut::new();
        let mut sent: Request = zeroed();
        sent.opcode = opcode::TEXT_REQUEST;
        sent.lengths = Lengths::of(5);
        put(&mut out, &sent, b"a=bc\0", digests);
        let whole = out.clone();
        for cut in 0..whole.len() {
            let mut part = BytesMut::from(&whole[..cut]);
            assert_eq!(take(&mut part, digests, 100), Taken::More);
        }
        let Taken::Whole(pdu) = take(&mut out, digests, 100) else {
            panic!("{digests:?}");
        };
        assert_eq!(&pdu.data[..], b"a=bc\0");
        assert!(out.is_empty());
        assert_eq!(take(&mut whole.clone(), digests, 4), Taken::Damaged);
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            let found = take(&mut damaged, digests, 100);
            if header && at < HEADER + 4 {
                assert_eq!(found, Taken::Damaged);
            } else if data && at >= HEADER {
                assert!(matches!(found, Taken::DamagedData(_)));
            }
        }
    }
}

#[test]
fn a_long_descriptor_block_is_found() {
    // 20 bytes of block: length 17 = 1 reserved + 16.
    let mut ahs = vec![0, 17, 1, 0];
    ahs.extend(1..=16);
    assert_eq!(long_cdb(&ahs), (1..=16).collect::<Vec<u8>>());
    assert_eq!(long_cdb(&[0, 200, 1, 0, 7]), [7]);
    assert_eq!(long_cdb(&[0, 5, 2, 0, 0, 0, 0, 8, 0, 2, 1, 0, 9]), [9]);
}
