use headstack_target::iscsi::chap::*;
use headstack_target::iscsi::text::{hex, Keys};

fn keys(of: &[(&str, &str)]) -> Keys {
    of.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect()
}

fn secrets() -> Secrets {
    Secrets {
        name: "host".into(),
        secret: "twelve-chars".into(),
        mutual: Some(("disk".into(), "another-secret".into())),
    }
}

/// Digests by coreutils: `printf '\001twelve-charsAB' | md5sum`.
#[test]
fn responses_are_digests_of_id_secret_and_challenge() {
    let md5 = Algorithm::Md5.response(1, "twelve-chars", b"AB");
    assert_eq!(hex(&md5), "0x98e22f04f8639baeee699904959a4c3f");
    let sha = Algorithm::Sha256.response(1, "twelve-chars", b"AB");
    assert_eq!(hex(&sha), "0x7aa24f6630ad4f02e2d0540708c968b2bdb8697de6a3fb230b7deeecf235951f");
}

#[test]
fn only_the_right_answer_is_taken() {
    let mut zero = |bytes: &mut [u8]| {
        bytes.fill(7);
        true
    };
    let right = hex(&Algorithm::Md5.response(7, "twelve-chars", &[7; 32]));
    let own = hex(&[7; 32]);
    let more = [("CHAP_N", "host"), ("CHAP_R", &*right)];
    let mutual = |c| [&more[..], &[("CHAP_I", "3"), ("CHAP_C", c)]].concat();
    for (said, is_taken) in [
        (more.to_vec(), true),
        (vec![("CHAP_N", "other"), ("CHAP_R", &*right)], false),
        (vec![("CHAP_N", "host"), ("CHAP_R", "0x00")], false),
        (vec![("CHAP_N", "host")], false),
        (mutual("0x0102"), true),
        // A reflected challenge.
        (mutual(&own), false),
    ] {
        let mut chap = Chap::new();
        let first = chap.step(&keys(&[("CHAP_A", "9,5")]), &secrets(), &mut zero);
        assert_eq!(first.unwrap()[0].1, "5");
        let second = chap.step(&keys(&said), &secrets(), &mut zero);
        assert_eq!(second.is_ok(), is_taken, "{said:?}");
        assert_eq!(chap.is_done(), is_taken);
        if said.len() == 4 && is_taken {
            let wanted = hex(&Algorithm::Md5.response(3, "another-secret", &[1, 2]));
            assert_eq!(second.unwrap()[1].1, wanted);
        }
    }
    let mut chap = Chap::new();
    let unknown = keys(&[("CHAP_A", "6,8")]);
    assert_eq!(chap.step(&unknown, &secrets(), &mut zero), Err(Refused));
}
