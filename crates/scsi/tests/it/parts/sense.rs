use headstack_scsi::sense::*;

/// SPC-5, 4.4.2 and 4.4.3: bytes by hand.
#[test]
fn both_formats_have_the_bytes_of_the_standard() {
    let sense = Sense::in_cdb(0x0102, 4).with_information(0x11223344);
    let fixed = [0xf0, 0, 5, 0x11, 0x22, 0x33, 0x44, 10, 0, 0, 0, 0, 0x24, 0, 0, 0xcc, 1, 2];
    assert_eq!(sense.bytes(false), fixed);
    let wide = sense.with_information(0x1_0000_0000).bytes(false);
    assert_eq!((wide[0], &wide[3..7]), (0x70, &[0; 4][..]));
    let descriptors = [
        0x72, 5, 0x24, 0, 0, 0, 0, 20, // head
        0, 10, 0x80, 0, 0, 0, 0, 0, 0x11, 0x22, 0x33, 0x44, // information
        2, 6, 0, 0, 0xcc, 1, 2, 0,
    ];
    assert_eq!(sense.bytes(true), descriptors);
    let data = Sense::in_parameters(9).bytes(false);
    assert_eq!(data[15..], [0x80, 0, 9]);
    let away = Sense::new(Key::NotReady, Code::DEPOPULATION_IN_PROGRESS).with_progress(0x8001);
    assert_eq!(away.bytes(false)[12..], [0x04, 0x24, 0, 0x80, 0x80, 1]);
    assert_eq!(away.bytes(true)[8..], [2, 6, 0, 0, 0x80, 0x80, 1, 0]);
}
