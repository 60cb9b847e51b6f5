//! Reads sourced files, from the file system or from memory.

use headstack_engine::io_error_text;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Most bytes of a file; the largest known one has 60 kB.
pub const MAX_FILE_BYTES: usize = 16 << 20;

/// Finds and reads the files that parameter files name.
pub trait Loader {
    /// Path and text of the file that `from` refers to as `name` (`None`: the first file).
    ///
    /// # Errors
    /// The reason why the text cannot be read.
    fn load(&self, name: &str, from: Option<&Path>) -> Result<(PathBuf, String), String>;
}

/// Folders in which sourced files may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sources {
    /// In the folder of the file that names them, or below it, so that a parameter file from others cannot read
    /// other files.
    #[default]
    Inside,
    /// Anywhere.
    Anywhere,
}

/// Reads from disk: from the folder of the naming file, then along a search path.
#[derive(Debug, Clone, Default)]
pub struct FileLoader {
    /// Folders that are searched after that of the naming file.
    pub search: Vec<PathBuf>,
    /// Folders in which files may be; the search path is always allowed.
    pub sources: Sources,
}

impl FileLoader {
    /// Refuses a file that may not be read; links are resolved first.
    fn check(&self, path: &Path, from: Option<&Path>) -> Result<(), String> {
        let (Some(from), Sources::Inside) = (from, self.sources) else { return Ok(()) };
        // A name without a folder means the current one.
        let folder = from.parent().filter(|f| *f != Path::new(""));
        let folder = folder.unwrap_or(Path::new("."));
        let whole = |path: &Path| path.canonicalize().map_err(|e| io_error_text(&e));
        let path = whole(path)?;
        let allowed = std::iter::once(folder).chain(self.search.iter().map(PathBuf::as_path));
        for folder in allowed {
            if path.starts_with(whole(folder)?) {
                return Ok(());
            }
        }
        Err("a file outside the folder, which is read only if that is allowed".into())
    }
}

impl Loader for FileLoader {
    fn load(&self, name: &str, from: Option<&Path>) -> Result<(PathBuf, String), String> {
        let beside = match from {
            Some(from) => from.parent().unwrap_or(Path::new("")).join(name),
            None => PathBuf::from(name),
        };
        let path = std::iter::once(beside)
            .chain(self.search.iter().map(|folder| folder.join(name)))
            .find(|path| path.is_file())
            .ok_or("no such file")?;
        self.check(&path, from)?;
        let file = std::fs::File::open(&path).map_err(|e| io_error_text(&e))?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|e| io_error_text(&e))?;
        if bytes.len() > MAX_FILE_BYTES {
            return Err(format!("more than {MAX_FILE_BYTES} bytes"));
        }
        // The files are from the 1990s and may have comments in Latin-1.
        Ok((path, String::from_utf8_lossy(&bytes).into_owned()))
    }
}

/// Files in memory by name, for tests and fuzzing.
#[derive(Debug, Clone, Default)]
pub struct MemoryLoader {
    /// Text by name.
    pub files: BTreeMap<String, String>,
}

impl Loader for MemoryLoader {
    fn load(&self, name: &str, _from: Option<&Path>) -> Result<(PathBuf, String), String> {
        let text = self.files.get(name).ok_or("no such file")?;
        Ok((PathBuf::from(name), text.clone()))
    }
}
