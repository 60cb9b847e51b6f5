"""Settings of a SCSI disk that a probe may change: bits of its mode pages, never saved.

# Source
SBC-5: caching page 08h (WCE, RCD, DRA); SPC-6: power condition page 1Ah, REQUEST SENSE,
LOG SENSE page 0Dh.
"""

from collections.abc import Collection
from typing import Any, NamedTuple

from headstack.errors import ConfigError, HeadstackError
from headstack.suggest import need_one_of


class _Bits(NamedTuple):
    """Bits of a mode page that switch something on, or off."""

    page: int
    byte: int
    mask: int
    on: int


#: The settings by name.
SETTINGS = {
    "write-cache": _Bits(0x08, 2, 0x04, 0x04),
    "read-cache": _Bits(0x08, 2, 0x01, 0x00),
    "read-ahead": _Bits(0x08, 12, 0x20, 0x00),
    "idle": _Bits(0x1A, 3, 0x0F, 0x0F),
}

#: Additional sense codes of a disk that stands still: (5Eh, ..), of standby.
_STANDBY, _BYTES = (2, 4, 9, 10), 252

#: So far below its reference temperature a disk must be at the start, K.
ROOM_K = 10


def wanted(given: Collection[str]) -> dict[str, bool]:
    """Return which settings are to be on or off, of words such as ``write-cache=off``.

    Raises:
        ConfigError: there is no setting of that name, or it is neither on nor off.
    """
    found = {}
    for each in given:
        name, _, state = each.partition("=")
        if name not in SETTINGS:
            raise ConfigError(need_one_of("--change-settings", name, tuple(SETTINGS)))
        if state not in ("on", "off"):
            raise ConfigError(f'--change-settings: got "{each}", need {name}=on or {name}=off')
        found[name] = state == "on"
    return found


def check_awake(core: Any) -> None:
    """Check that a disk turns and is cool enough, as far as it says so.

    Raises:
        ConfigError: it stands still, or is too warm.
    """
    asked = _asked(core, [0x03, 0, 0, 0, _BYTES])
    if asked is None or len(asked) < 14:
        return
    key, code, qualifier = asked[2] & 0x0F, asked[12], asked[13]
    if (code == 0x5E and qualifier in _STANDBY) or (key == 2 and code == 0x04):
        raise ConfigError("probe: got a disk that stands still, need one that turns: start it")
    log = _asked(core, [0x4D, 0, 0x40 | 0x0D, 0, 0, 0, 0, 0, _BYTES])
    # Two parameters of 6 bytes: the temperature, and the highest one of reliable use; FFh: unknown.
    if log is None or len(log) < 16 or 0xFF in (log[9], log[15]):
        return
    if log[9] > log[15] - ROOM_K:
        raise ConfigError(f"probe: got a disk at {log[9]} C, need at most {log[15] - ROOM_K} C")


def change(core: Any, settings: dict[str, bool]) -> dict[int, tuple[bytes, bytes]]:
    """Return the mode pages that change, as they are now and as they are to be.

    Raises:
        ConfigError: the target has no such settings, or cannot change them.
    """
    pages: dict[int, tuple[bytes, bytes]] = {}
    for name, on in settings.items():
        bits = SETTINGS[name]
        now = page(core, bits.page)
        free = page(core, bits.page, changeable=True)
        if now is None or free is None or not free[bits.byte] & bits.mask:
            raise ConfigError(
                f"--change-settings: got {name}, which this target cannot change (not supported), "
                "need a SCSI disk that can"
            )
        # Of the bits, those that may change.
        mask = bits.mask & free[bits.byte]
        bits_on = bits.on if on else bits.on ^ bits.mask
        changed = bytearray(pages.get(bits.page, (now, now))[1])
        changed[bits.byte] = (changed[bits.byte] & ~mask) | (bits_on & mask)
        pages[bits.page] = now, bytes(changed)
    return pages


def page(core: Any, code: int, *, changeable: bool = False) -> bytes | None:
    """Return a mode page as it is, or the bits of it that may change; None if it has none."""
    which = 0x40 if changeable else 0
    answer = _asked(core, [0x5A, 0x08, which | code, 0, 0, 0, 0, 0, _BYTES])
    return None if answer is None or len(answer) < 10 else answer[8 : 8 + 2 + answer[9]]


def select(core: Any, code: int, now: bytes) -> None:
    """Set a mode page until the disk is reset.

    Raises:
        HeadstackError: the disk refuses it, or does not do it.
    """
    # The bit PS is reserved here.
    data = bytes(8) + bytes([now[0] & 0x3F]) + now[1:]
    command = [0x55, 0x10, 0, 0, 0, 0, 0, 0, len(data)]
    answer = core.command(bytes(command + [0] * (16 - len(command))), data, 0)
    if answer is None or answer[0] != 0 or page(core, code) != now:
        raise HeadstackError(f"probe: mode page {code:#04x} was not set, need a disk that does it")


def _asked(core: Any, cdb: list[int]) -> bytes | None:
    """Return the data of a command; None if the target takes none, or refuses it."""
    for _ in range(4):  # the first ones may be told what happened before
        answer = core.command(bytes(cdb + [0] * (16 - len(cdb))), b"", _BYTES)
        if answer is None:
            return None
        if answer[0] == 0:
            return bytes(answer[2])
    return None
