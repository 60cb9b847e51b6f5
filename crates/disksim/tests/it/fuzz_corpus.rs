//! Replays the corpus of the parser's fuzz target, and damages it.

use headstack_disksim::{parse, MemoryLoader};
use headstack_drive::layout::{build, PLUGINS};
use headstack_testkit::{cases, damage, first_seed, XorShift};
use std::path::Path;

fn run(main: &[u8], beside: &[(String, Vec<u8>)]) {
    let mut loader = MemoryLoader::default();
    for (name, bytes) in beside {
        loader.files.insert(name.clone(), String::from_utf8_lossy(bytes).into_owned());
    }
    loader.files.insert("main".into(), String::from_utf8_lossy(main).into_owned());
    match parse(Path::new("main"), &loader).and_then(|d| d.disks(&loader)) {
        // The contents of a layout map may be inconsistent; the layout checks them.
        Ok(imports) => {
            for import in imports {
                let _ = build(&import.spec.geometry, &PLUGINS);
            }
        }
        // Every error has a place and states what is needed.
        Err(e) => assert!(e.to_string().contains(", need "), "{e}"),
    }
}

/// What means something in such a file.
const PIECES: [&[u8]; 14] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b"=",
    b" .. ",
    b" source main ",
    b"-9223372036854775808",
    b"99999999999999999999",
    b"1e308",
    b"\xff\xfe",
    b"instantiate",
    b"-0x8000000000000000",
];

#[test]
fn the_corpus_and_its_damage_are_read_or_refused() {
    let corpus = damage::corpus("disksim_parser");
    corpus.iter().for_each(|(_, bytes)| run(bytes, &corpus));
    let seed = first_seed(7);
    println!("seed {seed}");
    let mut rng = XorShift::seeded(seed);
    for _ in 0..cases(4000) {
        let mut files = corpus.clone();
        let which = rng.below(files.len() as u64) as usize;
        damage::damage(&mut files[which].1, 200, &PIECES, &mut rng);
        // Tables are read through a drive that names them.
        let main = files[which].1.clone();
        run(&main, &files);
        let drive = files.iter().find(|f| f.0 == "table.model").unwrap().1.clone();
        run(&drive, &files);
    }
}
