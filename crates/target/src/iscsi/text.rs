//! Keys and values of login and text units.

/// Keys with their values, in order.
pub type Keys = Vec<(String, String)>;

/// Longest key of the standard.
const LONGEST_KEY: usize = 63;
/// Most keys that are answered at once, or in one login. The standard has about thirty.
pub const MOST_KEYS: usize = 256;

/// Reads `key=value` pairs that end with a zero each; `None` if they are something else, or too many.
pub fn read(data: &[u8]) -> Option<Keys> {
    let pairs = || data.split(|b| *b == 0).filter(|pair| !pair.is_empty());
    if pairs().count() > MOST_KEYS {
        return None;
    }
    pairs()
        .map(|pair| {
            let (key, value) = std::str::from_utf8(pair).ok()?.split_once('=')?;
            let is_key = !key.is_empty() && key.len() <= LONGEST_KEY;
            is_key.then(|| (key.to_string(), value.to_string()))
        })
        .collect()
}

/// Writes pairs.
pub fn write<'a>(keys: impl IntoIterator<Item = &'a (String, String)>) -> Vec<u8> {
    let mut out = Vec::new();
    for (key, value) in keys {
        out.extend_from_slice(key.as_bytes());
        out.push(b'=');
        out.extend_from_slice(value.as_bytes());
        out.push(0);
    }
    out
}

/// A number as the standard writes it: decimal or `0x`.
pub fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Binary data: hexadecimal after `0x`, or base64 after `0b`.
pub fn binary(text: &str) -> Option<Vec<u8>> {
    if let Some(hex) = text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        // An odd digit stands alone in the first byte.
        let padded = if hex.len() % 2 == 1 { format!("0{hex}") } else { hex.to_string() };
        if !padded.is_ascii() {
            return None;
        }
        let pairs = (0..padded.len()).step_by(2);
        return pairs.map(|i| u8::from_str_radix(&padded[i..i + 2], 16).ok()).collect();
    }
    base64(text.strip_prefix("0b").or(text.strip_prefix("0B"))?)
}

fn base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=').bytes();
    let (mut bits, mut count, mut out) = (0u32, 0, Vec::new());
    for digit in digits {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(out)
}

/// Binary data in hexadecimal.
pub fn hex(data: &[u8]) -> String {
    let digits = data.iter().map(|b| format!("{b:02x}"));
    format!("0x{}", digits.collect::<String>())
}
