//! Copies drive files, pages and examples to where the wheel takes them from, so that each keeps one home.
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// What is copied: a folder of the project, and the ends of the names of its files. Pictures would triple the wheel.
const SHIPPED: [(&str, &[&str]); 3] = [
    ("drives", &[".toml"]),
    ("docs", &[".md"]),
    ("examples", &[".toml", ".fio", ".parv", ".py", ".md", ".zst", ".ipynb"]),
];

fn main() -> io::Result<()> {
    let home = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    for (folder, ends) in SHIPPED {
        let to = out.join(folder);
        // A file that was removed or renamed must not stay behind.
        if to.exists() {
            fs::remove_dir_all(&to)?;
        }
        copy(&home.join(folder), &to, ends)?;
    }
    Ok(())
}

/// Copies the files of a folder and of those below it. A source distribution of one crate has no such folder.
fn copy(from: &Path, to: &Path, ends: &[&str]) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", from.display());
    let Ok(entries) = fs::read_dir(from) else {
        return Ok(());
    };
    fs::create_dir_all(to)?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            copy(&path, &to.join(&*name), ends)?;
        } else if ends.iter().any(|end| name.ends_with(end)) {
            println!("cargo::rerun-if-changed={}", path.display());
            fs::copy(&path, to.join(&*name))?;
        }
    }
    Ok(())
}
