"""Every exception of the package; the Rust core raises these too."""

import errno

#: What the operating system says of paths that cannot be used: the user's input is wrong.
UNUSABLE = frozenset(
    {
        errno.ENOENT,
        errno.EISDIR,
        errno.ENOTDIR,
        errno.EEXIST,
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENAMETOOLONG,
        errno.ELOOP,
    }
)

_TOLD = {
    errno.EISDIR: "a directory",
    errno.ENOTDIR: "a file in place of a directory",
    errno.EEXIST: "a file in place of a directory",
}


def told(error: OSError) -> str:
    """Return what the operating system says of a path, in the words of all messages."""
    return _TOLD.get(error.errno or 0) or (error.strerror or str(error)).lower()


class HeadstackError(Exception):
    """Anything that went wrong, told as ``<where>: got <value>, need <bound>``."""


class ConfigError(HeadstackError):
    """An experiment, a drive file or an argument that cannot be used."""


class TraceError(HeadstackError, ValueError):
    """A trace that cannot be read, with file, line and column where known."""


class DeviceError(HeadstackError, OSError):
    """A device or file that the operating system would not let us use."""

    def __str__(self) -> str:
        """Return the message alone, not ``OSError``'s tuple."""
        return " ".join(str(a) for a in self.args)
