//! DiskSim 4.0 parameter files, read into the drive schema.
//!
//! [`parse`] parses the grammar into [`ast`]; [`Document::disks`] turns every disk into an [`Import`]: a
//! drive for the simulator, and a report that names each parameter and its treatment. [`Document::experiment`]
//! makes an experiment of the whole system. [`validate`] measures the difference between simulated and measured
//! response times.

pub mod ast;
pub mod checks;
mod convert;
mod error;
mod experiment;
#[doc(hidden)]
pub mod lexer;
mod loader;
mod parser;
pub mod validate;

pub use ast::Document;
pub use convert::{Import, Note, Treatment};
pub use error::{Error, Position};
pub use experiment::{import_experiment, SystemImport};
pub use loader::{FileLoader, Loader, MemoryLoader, Sources};
pub use parser::parse;

use std::path::Path;

/// Reads the main drive of a file: the first instantiated disk of a system, or the first disk block of a file
/// without instances.
///
/// # Errors
/// As [`parse`] and [`Document::disks`]; also when the file has no disk.
pub fn import_file(path: impl AsRef<Path>) -> Result<Import, Error> {
    import_with(path, Sources::default())
}

/// As [`import_file`], with a choice of the folders of sourced files.
///
/// # Errors
/// As [`import_file`].
pub fn import_with(path: impl AsRef<Path>, sources: Sources) -> Result<Import, Error> {
    let path = path.as_ref();
    let loader = FileLoader { sources, ..FileLoader::default() };
    let document = parse(path, &loader)?;
    document
        .disks(&loader)?
        .into_iter()
        .next()
        .ok_or_else(|| Error::new(Position::start(path), "no disk", "a block of type disksim_disk or dm_disk"))
}
