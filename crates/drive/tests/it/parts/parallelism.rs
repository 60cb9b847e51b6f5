use headstack_drive::parallelism::*;

#[test]
fn dash_reads_what_it_writes() {
    for text in ["D1A1S1H1", "D2A4S1H16", "D16A1S3H2"] {
        assert_eq!(text.parse::<Dash>().unwrap().to_string(), text);
    }
    assert_eq!("d1a2s1h1".parse::<Dash>().unwrap().arms, 2);
    for text in ["", "D1", "D1A1S1", "D0A1S1H1", "D1A17S1H1", "D1A1S1H1x", "A1D1S1H1", "D1A1S1H99999999999"] {
        let error = text.parse::<Dash>().unwrap_err().to_string();
        assert!(error.contains("e.g. \"D1A2S1H1\""), "{error}");
    }
}
