//! Where sourced files come from: the file system, or memory.

use headstack_engine::told;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// No file may be longer than this many bytes; the largest known one has 60 kB.
pub const MAX_FILE_BYTES: usize = 16 << 20;

/// Finds and reads the files that parameter files name.
pub trait Loader {
    /// The file `name` as the file `from` names it (`None`: the first file): its path, and text.
    ///
    /// # Errors
    /// Says why there is no text.
    fn load(&self, name: &str, from: Option<&Path>) -> Result<(PathBuf, String), String>;
}

/// Where the files lie that parameter files name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sources {
    /// In the folder of the file that names them, or below it: a parameter file that somebody else wrote
    /// reads no other files.
    #[default]
    Inside,
    /// Anywhere.
    Anywhere,
}

/// Reads from disk: beside the naming file, then along a search path.
#[derive(Debug, Clone, Default)]
pub struct FileLoader {
    /// Folders that are searched after the naming file's own.
    pub search: Vec<PathBuf>,
    /// Which files may be named; those along the search path always may.
    pub sources: Sources,
}

impl FileLoader {
    /// Refuses a file that is not to be read; links are followed before.
    fn check(&self, path: &Path, from: Option<&Path>) -> Result<(), String> {
        let (Some(from), Sources::Inside) = (from, self.sources) else {
            return Ok(());
        };
        // The folder of a name alone is empty, and means the present one.
        let folder = from.parent().filter(|f| *f != Path::new(""));
        let folder = folder.unwrap_or(Path::new("."));
        let whole = |path: &Path| path.canonicalize().map_err(|e| told(&e));
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
        let file = std::fs::File::open(&path).map_err(|e| told(&e))?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|e| told(&e))?;
        if bytes.len() > MAX_FILE_BYTES {
            return Err(format!("more than {MAX_FILE_BYTES} bytes"));
        }
        // The files are from the 1990s: Latin-1 in comments must not stop them.
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
