//! The test function that the fuzzer and the replay of its corpus share.

use crate::options::{OnError, Order, ReadOptions};
use crate::reader::{open_with, Input, PLUGINS};

/// Reading stops after this many requests. Uncompressed formats have fewer requests than bytes, but Parquet's
/// run lengths can expand a few bytes to many rows.
const MAX_REQUESTS: usize = 100_000;

/// Reads `data` as the format that its first byte selects (or as the detected one), with both settings of
/// `on_error`. Panics if a reader breaks its contract: time order, sizes, nothing after an error.
pub fn read_hostile(data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else { return };
    let chosen = PLUGINS.iter().nth(usize::from(first) % (PLUGINS.len() + 1));
    let example = chosen.map_or("", |format| format.example());
    let parameters = match first & 0x40 {
        0 => serde_json::Map::new(),
        _ => toml::from_str(example).unwrap_or_default(),
    };
    for on_error in [OnError::Fail, OnError::Skip] {
        let options = ReadOptions {
            on_error,
            order: if first & 0x80 == 0 { Order::Format } else { Order::Sort(16) },
            parameters: parameters.clone(),
            ..ReadOptions::default()
        };
        let input = Input::from_bytes(rest.to_vec(), "fuzz");
        let Ok(mut source) = open_with(input, chosen, &options) else { continue };
        let mut last = headstack_units::Time::ZERO;
        for request in source.by_ref().take(MAX_REQUESTS) {
            let Ok(request) = request else {
                assert!(source.next().is_none(), "something follows an error");
                break;
            };
            assert!(request.time >= last, "time runs backwards");
            assert!(request.blocks > 0 || request.op == crate::Command::Flush);
            assert!(request.lba.0 + u64::from(request.blocks) <= 1 << 55);
            last = request.time;
        }
    }
}
