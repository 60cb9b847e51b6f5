use headstack_experiment::provenance::*;
use serde_json::json;

/// FIPS 180-4, examples.
#[test]
fn files_are_hashed_by_sha_256() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("abc");
    std::fs::write(&path, "abc").unwrap();
    let got = hash_file(&path, &|| false);
    let want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(got, Some((3, want.to_string())));
    assert_eq!(hash_file(&path, &|| true), None);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(hash_file(&path, &|| false), None);
    assert_eq!(hash_file(folder.path(), &|| false), None);
}

#[test]
fn the_identity_depends_on_all_that_decides() {
    let input = |sha: &str| Input {
        kind: "trace",
        path: Some("a".into()),
        name: None,
        format: None,
        bytes: Some(1),
        sha256: Some(sha.into()),
    };
    let id =
        |seed: u32, sha: &str, version: &str| run_id(&json!({ "run": { "seed": seed } }), &[input(sha)], &[], version);
    let first = id(1, "a", "1");
    assert_eq!(first, id(1, "a", "1"));
    for other in [id(2, "a", "1"), id(1, "b", "1"), id(1, "a", "2")] {
        assert_ne!(first, other);
    }
    assert_eq!(first.len(), 12);
}
