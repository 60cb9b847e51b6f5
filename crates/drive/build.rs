//! Lists the drive files of the project, so that they are part of each program.
use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let home = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let folder = home.join("../../drives");
    println!("cargo::rerun-if-changed={}", folder.display());
    // A source distribution of one crate has no such folder.
    let entries = fs::read_dir(&folder).into_iter().flatten();
    let paths = entries.map(|entry| Ok(entry?.path()));
    let mut paths = paths.collect::<io::Result<Vec<PathBuf>>>()?;
    paths.retain(|path| path.extension().is_some_and(|e| e == "toml"));
    paths.sort();
    let mut list = String::from("&[\n");
    for path in paths {
        println!("cargo::rerun-if-changed={}", path.display());
        let name = path.file_stem().unwrap_or_default();
        list.push_str(&format!("    ({name:?}, include_str!({path:?})),\n"));
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("shipped.rs"), list + "]\n")
}
