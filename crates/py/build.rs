//! Copies the drive files to where the wheel takes them from, so that they keep one home.
use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let home =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../drives");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("drives");
    println!("cargo::rerun-if-changed={}", home.display());
    // A drive that was removed or renamed must not stay behind.
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    fs::create_dir_all(&out)?;
    let Ok(entries) = fs::read_dir(&home) else {
        return Ok(()); // a source distribution of one crate carries no drives
    };
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            println!("cargo::rerun-if-changed={}", path.display());
            fs::copy(&path, out.join(path.file_name().unwrap_or_default()))?;
        }
    }
    Ok(())
}
