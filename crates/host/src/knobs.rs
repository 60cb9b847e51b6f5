//! The settings of a drive, as Linux has them in files.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

/// A setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Knob {
    /// Places of the host's queue: `queue/nr_requests`.
    NrRequests,
    /// Commands that the drive may hold: `device/queue_depth`.
    QueueDepth,
    /// Time from a read's arrival to its deadline, in milliseconds: `queue/iosched/read_expire`.
    ReadExpire,
    /// Limits of a control group for this drive: a line of `io.max`.
    IoMax,
}

impl Knob {
    /// All of them, in the order in which they are written. What does not empty the queue comes first.
    pub const ALL: [Knob; 4] = [Knob::IoMax, Knob::ReadExpire, Knob::QueueDepth, Knob::NrRequests];

    /// As in messages and files.
    pub fn name(self) -> &'static str {
        match self {
            Knob::NrRequests => "nr_requests",
            Knob::QueueDepth => "queue_depth",
            Knob::ReadExpire => "read_expire",
            Knob::IoMax => "io.max",
        }
    }

    /// The setting of this name.
    pub fn of(name: &str) -> Option<Knob> {
        Knob::ALL.into_iter().find(|k| k.name() == name)
    }
}

/// Access to the settings of one drive. Reading and writing may take long: Linux empties the queue first.
pub trait Knobs: Send + Sync {
    /// The value; `None` if the drive does not have this setting.
    ///
    /// # Errors
    /// The drive is gone, or the file may not be read.
    fn read(&self, knob: Knob) -> io::Result<Option<String>>;

    /// Writes a value.
    ///
    /// # Errors
    /// As the kernel says: `EBUSY`, `EINVAL`, `EACCES`, `ENODEV`.
    fn write(&self, knob: Knob, value: &str) -> io::Result<()>;

    /// The elevator in use, such as `mq-deadline`.
    ///
    /// # Errors
    /// As [`Knobs::read`].
    fn elevator(&self) -> io::Result<String>;

    /// Why its settings may not be changed now; `None` if they may.
    fn held(&self) -> Option<String>;

    /// Whether it is there.
    fn is_present(&self) -> bool;

    /// The model, as the drive names itself; empty if it does not.
    fn model(&self) -> String;

    /// What names the drive itself, whatever its device is called; `None` if nothing does.
    fn serial(&self) -> Option<String>;

    /// The state of its device in words, such as `offline`; `None` while it works or has no such file.
    fn trouble(&self) -> Option<String>;

    /// Takes the drive for this process, as long as the claim is held.
    ///
    /// # Errors
    /// Another process has it.
    fn claim(&self) -> io::Result<Claim>;

    /// What Linux has counted (`stat`), as its text.
    ///
    /// # Errors
    /// As [`Knobs::read`].
    fn stat(&self) -> io::Result<String>;
}

/// A drive that is taken, whatever the configuration: two daemons would take each other's settings for those of before. It is
/// an abstract socket with the number of the drive's folder in its name, which ends with the process.
#[derive(Debug, Default)]
pub struct Claim {
    _socket: Option<UnixListener>,
}

impl Claim {
    fn of(folder: &Path) -> io::Result<Claim> {
        let of = std::fs::metadata(folder)?;
        let name = format!("headstack-capd/{:x}:{:x}", of.dev(), of.ino());
        let address = SocketAddr::from_abstract_name(name)?;
        let taken = UnixListener::bind_addr(&address).map_err(|e| match e.kind() {
            io::ErrorKind::AddrInUse => io::Error::other("another headstack-capd controls it"),
            _ => e,
        });
        taken.map(|socket| Claim { _socket: Some(socket) })
    }
}

/// The files of `/sys/block/DEVICE`, or of the control directory of an emulated drive.
#[derive(Debug, Clone)]
pub struct Files {
    folder: PathBuf,
    cgroup: Option<PathBuf>,
}

impl Files {
    /// Of the drive with this folder; its rate is limited by the control group in `cgroup`.
    pub fn new(folder: PathBuf, cgroup: Option<PathBuf>) -> Files {
        Files { folder, cgroup }
    }

    /// Whether this process may write the setting.
    pub fn is_writable(&self, knob: Knob) -> bool {
        let access = |file: PathBuf| rustix::fs::access(file, rustix::fs::Access::WRITE_OK);
        self.file(knob).is_some_and(|file| access(file).is_ok())
    }

    fn file(&self, knob: Knob) -> Option<PathBuf> {
        let place = match knob {
            Knob::NrRequests => "queue/nr_requests",
            Knob::QueueDepth => "device/queue_depth",
            Knob::ReadExpire => "queue/iosched/read_expire",
            Knob::IoMax => return Some(self.cgroup.as_ref()?.join("io.max")),
        };
        Some(self.folder.join(place))
    }

    /// Major and minor number, which name the drive in `io.max`.
    fn number(&self) -> io::Result<String> {
        Ok(read(&self.folder.join("dev"))?.unwrap_or_default())
    }
}

/// The text of a file without its last line feed; `None` if there is no such file.
fn read(file: &Path) -> io::Result<Option<String>> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text.trim_end().to_string())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

impl Knobs for Files {
    fn read(&self, knob: Knob) -> io::Result<Option<String>> {
        let Some(file) = self.file(knob) else { return Ok(None) };
        let text = read(&file)?;
        if knob != Knob::IoMax {
            return Ok(text);
        }
        // A drive without limits has no line.
        let number = self.number()?;
        let limits = text.map(|text| {
            let mut lines = text.lines().filter_map(|l| l.split_once(' '));
            let line = lines.find(|(device, _)| *device == number);
            line.map_or(NO_LIMITS.to_string(), |(_, limits)| limits.to_string())
        });
        Ok(limits)
    }

    fn write(&self, knob: Knob, value: &str) -> io::Result<()> {
        let file = self.file(knob).ok_or(io::ErrorKind::NotFound)?;
        let text = match knob {
            Knob::IoMax => format!("{} {value}", self.number()?),
            _ => value.to_string(),
        };
        // The kernel takes a value in one write; files are not to be made.
        let mut file = std::fs::OpenOptions::new().write(true).open(file)?;
        io::Write::write_all(&mut file, text.as_bytes())
    }

    fn elevator(&self) -> io::Result<String> {
        let text = read(&self.folder.join("queue/scheduler"))?.unwrap_or_default();
        let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        Ok(chosen.map_or(text.trim(), |(name, _)| name).to_string())
    }

    fn held(&self) -> Option<String> {
        let mut folders = vec![self.folder.clone()];
        // A partition is a folder inside that of its drive.
        for entry in std::fs::read_dir(&self.folder).ok()?.flatten() {
            if entry.path().join("partition").exists() {
                folders.push(entry.path());
            }
        }
        for folder in folders {
            let holders = std::fs::read_dir(folder.join("holders"));
            for holder in holders.into_iter().flatten().flatten() {
                let action = read(&holder.path().join("md/sync_action")).ok().flatten();
                let at_rest = ["", "idle", "frozen"];
                if let Some(action) = action.filter(|a| !at_rest.contains(&a.as_str())) {
                    let name = holder.file_name().to_string_lossy().into_owned();
                    return Some(format!("{name} is at work: {action}"));
                }
            }
        }
        None
    }

    fn is_present(&self) -> bool {
        self.folder.join("stat").exists()
    }

    fn model(&self) -> String {
        let text = read(&self.folder.join("device/model")).ok().flatten();
        text.unwrap_or_default().trim().to_string()
    }

    fn serial(&self) -> Option<String> {
        let files = ["device/wwid", "wwid", "device/serial"];
        let mut texts = files.iter().map(|file| read(&self.folder.join(file)));
        texts.find_map(|text| text.ok().flatten().filter(|t| !t.is_empty()))
    }

    fn trouble(&self) -> Option<String> {
        let state = read(&self.folder.join("device/state")).ok().flatten()?;
        // Those of SCSI and of NVMe.
        (!["running", "live", ""].contains(&state.as_str())).then_some(state)
    }

    fn claim(&self) -> io::Result<Claim> {
        Claim::of(&self.folder)
    }

    fn stat(&self) -> io::Result<String> {
        std::fs::read_to_string(self.folder.join("stat"))
    }
}

/// A line of `io.max` that limits nothing.
pub const NO_LIMITS: &str = "rbps=max wbps=max riops=max wiops=max";
