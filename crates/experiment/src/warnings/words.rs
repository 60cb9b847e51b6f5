//! Numbers in the words of warnings.

/// A count, with commas between thousands.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A part of a whole in per cent.
pub fn share(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// A size in blocks of 512 bytes, in the largest unit in which it is at least 1, to three digits.
pub fn size(blocks: u64) -> String {
    let bytes = blocks as f64 * 512.0;
    let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let (mut value, mut unit) = (bytes, 0);
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let decimals = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    let text = format!("{value:.decimals$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text} {}", units[unit])
}

/// The first few of a list of names, in quotes, because a name may have commas.
pub fn names<'a>(all: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 4;
    let all: Vec<String> = all.into_iter().map(|name| format!("{name:?}")).collect();
    let mut text = all[..all.len().min(MOST)].join(", ");
    if all.len() > MOST {
        text += &format!(" and {} more", all.len() - MOST);
    }
    text
}
