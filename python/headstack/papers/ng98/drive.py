"""The article's drives: its constants, and the same drives for the simulator.

The article describes an average drive (times and rates) and a hypothetical one (tracks of a
cylinder), but no seek curve and no number of cylinders. These are chosen here: `CYLINDERS`,
`SINGLE_S`, and A + B sqrt(d) with the mean of the average drive.
"""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from headstack.drives import formulas
from headstack.drives.formulas import KB, MB, Array
from headstack.schema import Drive, System
from headstack.schema.seek import SeekNg

#: The average drive ("Performance factors"): overhead of a miss and a hit, seek, speed, track,
#: interface.
OVERHEAD_S, HIT_OVERHEAD_S, SEEK_S = 0.5e-3, 0.1e-3, 10e-3
RPM, TRACK_SECTORS, INTERFACE_BYTES_PER_S = 5400, 111, 10 * MB

#: A request, in bytes and in sectors.
REQUEST_BYTES = 4 * KB
REQUEST_SECTORS = REQUEST_BYTES // formulas.SECTOR_BYTES

#: With locality the seek is this share of the random one.
LOCAL = 1 / 3

#: The limit of a drive's electronics at the time.
CHANNEL_BYTES_PER_S = 25 * MB

#: The hypothetical drive: tracks of a cylinder, and sectors of a track.
HEADS, WIDE_TRACK_SECTORS = 6, 160

#: Chosen: cylinders, and the seek to the next one.
CYLINDERS, SINGLE_S = 4000, 3e-3

#: Chosen: settling for each factor of e in track density, 0.2 ms for each doubling.
SETTLE_S = 0.2e-3 / float(np.log(2))

#: Chosen (the article states "in the order of milliseconds"): the values of its figure 5.
TRACK_SWITCH_S, CYLINDER_SWITCH_S = 2e-3, 4e-3


#: Chosen: sectors that the drive reads ahead.
LOOK_AHEAD = 192


@dataclass(frozen=True)
class Curve:
    """A seek curve A + B sqrt(cylinders), in seconds."""

    base_s: float
    travel_s: float

    def table_s(self, cylinders: int) -> Array:
        """Return the seek time of 0, 1, ... cylinders."""
        way = np.arange(cylinders, dtype=float)
        return np.where(way > 0, self.base_s + self.travel_s * np.sqrt(way), 0.0)


def curve(single_s: float = SINGLE_S, cylinders: int = CYLINDERS) -> Curve:
    """Return the curve with this shortest seek and the article's mean over random pairs, 10 ms."""
    mean_sqrt = formulas.MEAN_SQRT_DISTANCE * np.sqrt(cylinders)
    travel = (SEEK_S - single_s) / (mean_sqrt - 1)
    return Curve(float(single_s - travel), float(travel))


#: The default curve of all drives here.
CURVE = curve()


@dataclass(frozen=True)
class Disk:
    """A drive of one zone.

    Attributes:
        heads: tracks of a cylinder.
        track_sectors: sectors of a track.
        cylinders: number of cylinders.
        rpm: speed.
        tpi_factor: track density relative to the drive to which distances refer.
        settle_s: settling for each factor of e in track density.
        curve: seek curve of the drive with factor 1.
    """

    heads: int = HEADS
    track_sectors: int = WIDE_TRACK_SECTORS
    cylinders: int = CYLINDERS
    rpm: int = RPM
    tpi_factor: float = 1.0
    settle_s: float = 0.0
    curve: Curve = CURVE

    @property
    def cylinder_sectors(self) -> int:
        """Number of sectors in a cylinder."""
        return self.heads * self.track_sectors

    @property
    def sectors(self) -> int:
        """Number of sectors of the drive."""
        return self.cylinder_sectors * self.cylinders

    @property
    def media_rate(self) -> float:
        """Bytes per second under a head."""
        return float(formulas.media_rate_bytes_per_s(self.track_sectors, self.rpm))

    @property
    def switch_s(self) -> float:
        """Mean time of a head switch, as determined by the skew."""
        turn = float(formulas.rotation_time_s(self.rpm))
        track, cylinder = (self.skew(t) / self.track_sectors * turn for t in (TRACK_SWITCH_S, CYLINDER_SWITCH_S))
        return float(formulas.mean_switch_s(self.heads, track, cylinder))

    def seek_s(self, cylinders: npt.ArrayLike) -> Array:
        """Return the seek time over distances in this drive's cylinders."""
        way = np.asarray(cylinders, dtype=float) / self.tpi_factor
        c = self.curve
        return formulas.seek_time_s(way, self.tpi_factor, c.base_s, c.travel_s, self.settle_s)

    def system(self, name: str, *, switches: bool = False, **changes: Any) -> System:
        """Return the drive as a system of an experiment: no buffer, one command at a time.

        Args:
            name: name in results.
            switches: whether switches take time; sectors are skewed by it, in whole sectors.
            changes: tables of the drive that replace the defaults.
        """
        track, cylinder = (self.skew(TRACK_SWITCH_S), self.skew(CYLINDER_SWITCH_S)) if switches else (0, 0)
        zone = {
            "first_cylinder": 0,
            "last_cylinder": self.cylinders - 1,
            "sectors_per_track": self.track_sectors,
            "track_skew": track,
            "cylinder_skew": cylinder,
        }
        drive = {
            "name": "article",
            "geometry": {
                "rotation_speed": f"{self.rpm} rpm",
                "surfaces": self.heads,
                "cylinders": self.cylinders,
                "zones": [zone],
            },
            "seek": self._seek(),
            "positioning": {"head_switch": _ms(TRACK_SWITCH_S if switches else 0)},
            "overhead": {"per_request": _ms(OVERHEAD_S)},
            "cache": {"enabled": False},
            "queue": {"depth": 1, "scheduler": "fcfs"},
        }
        whole = cast("Drive", {**drive, **changes})
        return {"name": name, "drive": whole, "scheduler": "fcfs"}

    def skew(self, switch_s: float) -> int:
        """Return the number of sectors that pass in this time, rounded up."""
        turn = float(formulas.rotation_time_s(self.rpm))
        return int(np.ceil(switch_s / turn * self.track_sectors - 1e-9))

    def _seek(self) -> SeekNg:
        return {
            "model": "ng",
            "a": _ms(self.curve.base_s),
            "b": _ms(self.curve.travel_s),
            "c": _ms(self.settle_s),
            "tracks_per_inch": float(self.tpi_factor),
        }


def buffered(look_ahead: int = LOOK_AHEAD) -> dict[str, Any]:
    """Return the tables of a drive with a buffer of one segment, for `Disk.system`.

    Reads are answered over the interface; writes go to the medium.
    """
    miss, hit = ({k: _ms(t) for k in ("after_read", "after_write")} for t in (OVERHEAD_S, HIT_OVERHEAD_S))
    return {
        "cache": {
            "enabled": True,
            "segments": 1,
            "segment_sectors": 2 * look_ahead,
            "hit_check": "arrival",
            "read_ahead": "limit",
            "read_ahead_sectors": look_ahead,
            "almost_hits": True,
        },
        "overhead": {"read_miss": miss, "read_hit": hit, "write_miss": miss, "write_hit": miss},
        "link": {"rate": f"{INTERFACE_BYTES_PER_S} B/s"},
    }


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.9f} ms"


#: The average drive with the tracks of the text's rate, and the simulation's hypothetical one.
AVERAGE = Disk(track_sectors=TRACK_SECTORS)
HYPOTHETICAL = Disk()


def access_s(seek_s: float = SEEK_S, size_bytes: float = REQUEST_BYTES, rate: float = 1.0) -> float:
    """Return the time of a request to the average drive; `rate` multiplies its media rate."""
    media = AVERAGE.media_rate * rate
    return float(formulas.access_time_s(OVERHEAD_S, seek_s, RPM, size_bytes, media))
