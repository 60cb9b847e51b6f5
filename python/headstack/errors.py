"""Every exception of the package; the Rust core raises these too."""


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
