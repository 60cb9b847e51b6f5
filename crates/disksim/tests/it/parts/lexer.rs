use headstack_disksim::lexer::{number, Number};

#[test]
fn words_and_numbers() {
    assert_eq!(number("12"), Some(Number::Integer(12)));
    assert_eq!(number("-0x1F"), Some(Number::Integer(-31)));
    assert_eq!(number("1.5e+2"), Some(Number::Real(150.0)));
    assert_eq!(number("-.5"), Some(Number::Real(-0.5)));
    for word in ["2nd", "inf", "nan", "-", ".", "..", "a1", "1e999", "0x", "--1"] {
        assert_eq!(number(word), None, "{word}");
    }
}
