//! The control directory as a file system in user space: a write that is refused fails with `EINVAL`, which plain files
//! cannot do.

use crate::control::Handle;
use crate::files::File;
use crate::TargetError;
use fuser::{
    BackgroundSession, FileAttr, FileType, Filesystem, MountOption, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyWrite, Request, TimeOrNow,
};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Names do not change.
const TTL: Duration = Duration::from_secs(3600);
/// What is read and written goes to the file system at once, whatever size is shown.
const DIRECT_IO: u32 = 1;
/// The size that is shown, as in `/sys`.
const SHOWN_BYTES: u64 = 4096;

/// A control directory that is there until it is dropped.
pub struct Directory {
    // Dropping it unmounts.
    _session: BackgroundSession,
}

impl Directory {
    /// Shows the files of a system in a folder, which must be empty or absent.
    ///
    /// # Errors
    /// The folder cannot be used, or the system has no FUSE.
    pub fn mount(folder: &Path, handle: Handle, files: Vec<File>) -> Result<Directory, TargetError> {
        let failed = |e: std::io::Error| TargetError::Control { path: folder.into(), why: e.to_string() };
        std::fs::create_dir_all(folder).map_err(|e| failed(abandoned(e, folder)))?;
        if std::fs::read_dir(folder).map_err(failed)?.next().is_some() {
            let why = std::io::Error::other("a folder with something in it");
            return Err(failed(why));
        }
        let options =
            [MountOption::FSName("headstack".into()), MountOption::NoDev, MountOption::NoSuid, MountOption::NoExec];
        let shown = Shown::new(handle, files);
        let session = fuser::spawn_mount2(shown, folder, &options).map_err(failed)?;
        Ok(Directory { _session: session })
    }
}

/// Says what to do with a folder whose server was killed: it is still mounted.
fn abandoned(error: std::io::Error, folder: &Path) -> std::io::Error {
    let code = std::fs::metadata(folder).err().and_then(|e| e.raw_os_error());
    match code == Some(Errno::NOTCONN.raw_os_error()) {
        true => std::io::Error::other(format!(
            "one that is mounted still, of a server that was killed (umount {0}, or fusermount3 -u {0})",
            folder.display()
        )),
        false => error,
    }
}

/// A folder, or a file.
struct Node {
    parent: u64,
    name: String,
    file: Option<Arc<File>>,
}

struct Shown {
    handle: Handle,
    /// By number minus one; the first is the root.
    nodes: Vec<Node>,
    /// What a file said when it was opened.
    opened: BTreeMap<u64, String>,
    next: u64,
    owner: (u32, u32),
}

impl Shown {
    fn new(handle: Handle, files: Vec<File>) -> Shown {
        let mut nodes = vec![Node { parent: 1, name: String::new(), file: None }];
        for file in files {
            let mut at = 1;
            let path = PathBuf::from(&file.path);
            let names: Vec<String> = path.iter().map(|n| n.to_string_lossy().into()).collect();
            let file = Arc::new(file);
            for (i, name) in names.iter().enumerate() {
                let found = nodes.iter().position(|n| n.parent == at && n.name == *name);
                at = match found {
                    Some(found) if found > 0 => found as u64 + 1,
                    _ => {
                        let is_last = i + 1 == names.len();
                        nodes.push(Node { parent: at, name: name.clone(), file: is_last.then(|| file.clone()) });
                        nodes.len() as u64
                    }
                };
            }
        }
        Shown {
            handle,
            nodes,
            opened: BTreeMap::new(),
            next: 1,
            owner: (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw()),
        }
    }

    fn node(&self, number: u64) -> Option<&Node> {
        self.nodes.get(number.checked_sub(1)? as usize)
    }

    fn file(&self, number: u64) -> Option<Arc<File>> {
        self.node(number)?.file.clone()
    }

    fn attributes(&self, number: u64) -> Option<FileAttr> {
        let node = self.node(number)?;
        let (kind, perm, size) = match &node.file {
            None => (FileType::Directory, 0o555, 0),
            Some(f) if f.write.is_some() => (FileType::RegularFile, 0o644, SHOWN_BYTES),
            Some(_) => (FileType::RegularFile, 0o444, SHOWN_BYTES),
        };
        Some(FileAttr {
            ino: number,
            size,
            blocks: 0,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink: 1,
            uid: self.owner.0,
            gid: self.owner.1,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }
}

impl Shown {
    fn tell(&self, number: u64, reply: ReplyAttr) {
        match self.attributes(number) {
            Some(attributes) => reply.attr(&TTL, &attributes),
            None => reply.error(code(Errno::NOENT)),
        }
    }
}

fn code(error: Errno) -> i32 {
    error.raw_os_error()
}

impl Filesystem for Shown {
    fn lookup(&mut self, _: &Request, parent: u64, name: &OsStr, reply: ReplyEntry) {
        let is_it = |n: &Node| n.parent == parent && OsStr::new(&n.name) == name;
        // The root is in no folder.
        let found = self.nodes.iter().skip(1).position(is_it);
        match found.and_then(|i| self.attributes(i as u64 + 2)) {
            Some(attributes) => reply.entry(&TTL, &attributes, 0),
            None => reply.error(code(Errno::NOENT)),
        }
    }

    fn getattr(&mut self, _: &Request, number: u64, _: Option<u64>, reply: ReplyAttr) {
        self.tell(number, reply);
    }

    fn setattr(
        &mut self,
        _: &Request,
        number: u64,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        _size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _handle: Option<u64>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<u32>,
        reply: ReplyAttr,
    ) {
        // A shell truncates before it writes.
        self.tell(number, reply);
    }

    fn open(&mut self, _: &Request, number: u64, flags: i32, reply: ReplyOpen) {
        let Some(file) = self.file(number) else { return reply.error(code(Errno::ISDIR)) };
        let reads = flags & 3 != 1;
        let writes = flags & 3 != 0;
        if writes && file.write.is_none() {
            return reply.error(code(Errno::ACCESS));
        }
        if reads {
            let Some(text) = self.handle.ask(move |live| file.read(live)) else { return reply.error(code(Errno::IO)) };
            self.opened.insert(self.next, text);
        }
        reply.opened(self.next, DIRECT_IO);
        self.next += 1;
    }

    fn read(
        &mut self,
        _: &Request,
        _: u64,
        handle: u64,
        offset: i64,
        size: u32,
        _: i32,
        _: Option<u64>,
        reply: ReplyData,
    ) {
        let text = self.opened.get(&handle).map_or("", |t| t.as_str());
        let rest = text.as_bytes().get(offset as usize..).unwrap_or_default();
        reply.data(&rest[..rest.len().min(size as usize)]);
    }

    fn write(
        &mut self,
        _: &Request,
        number: u64,
        _: u64,
        _: i64,
        data: &[u8],
        _: u32,
        _: i32,
        _: Option<u64>,
        reply: ReplyWrite,
    ) {
        let (Some(file), Ok(text)) = (self.file(number), std::str::from_utf8(data)) else {
            return reply.error(code(Errno::INVAL));
        };
        let text = text.to_string();
        match self.handle.ask(move |live| file.write(live, &text)) {
            Some(Ok(())) => reply.written(data.len() as u32),
            Some(Err(_)) => reply.error(code(Errno::INVAL)),
            None => reply.error(code(Errno::IO)),
        }
    }

    fn release(&mut self, _: &Request, _: u64, handle: u64, _: i32, _: Option<u64>, _: bool, reply: ReplyEmpty) {
        self.opened.remove(&handle);
        reply.ok();
    }

    fn flush(&mut self, _: &Request, _: u64, _: u64, _: u64, reply: ReplyEmpty) {
        reply.ok();
    }

    fn readdir(&mut self, _: &Request, number: u64, _: u64, offset: i64, mut reply: ReplyDirectory) {
        let Some(node) = self.node(number) else { return reply.error(code(Errno::NOENT)) };
        let mut all = vec![(number, FileType::Directory, "."), (node.parent, FileType::Directory, "..")];
        for (i, inside) in self.nodes.iter().enumerate().skip(1) {
            if inside.parent == number {
                let kind = match inside.file {
                    None => FileType::Directory,
                    Some(_) => FileType::RegularFile,
                };
                all.push((i as u64 + 1, kind, &inside.name));
            }
        }
        for (i, (inside, kind, name)) in all.iter().enumerate().skip(offset as usize) {
            if reply.add(*inside, i as i64 + 1, *kind, name) {
                break;
            }
        }
        reply.ok();
    }
}
