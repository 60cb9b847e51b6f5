use headstack_trace::reader::footer::*;
use headstack_trace::reader::groups::Stored;

fn fits(footer: &[u8]) -> bool {
    let mut file = footer.to_vec();
    file.extend((footer.len() as u32).to_le_bytes());
    file.extend(b"PAR1");
    lists_fit(&Stored::Bytes(file.into()))
}

/// By hand: field 1 of type i32, field 3 by its number as a text, field 4 as a list of three truth values.
#[test]
fn a_list_that_states_more_than_there_is_does_not_fit() {
    let whole = [0x15, 0x02, 0x08, 0x06, 2, b'a', b'b', 0x19, 0x31, 1, 2, 1, 0];
    assert!(fits(&whole));
    for end in 0..whole.len() {
        assert!(!fits(&whole[..end]), "{end}");
    }
    let mut more = whole;
    more[8] = 0x51;
    assert!(!fits(&more));
    // Two thousand million structures.
    assert!(!fits(&[0x19, 0xfc, 0x80, 0x80, 0x80, 0x80, 0x07, 0, 0]));
    assert!(!fits(&[0x1c; 100]));
}
