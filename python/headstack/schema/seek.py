"""Seek models; written by `scripts/schema_types.py`, do not edit."""

from collections.abc import Sequence
from typing import Literal, Required, TypeAlias, TypedDict

from headstack.schema.quantities import Acceleration, Length, LengthOfTime, Speed


class SeekBangBang(TypedDict, total=False):
    """Parameters of `bang-bang`."""

    model: Required[Literal["bang-bang"]]

    acceleration: Required[Acceleration]
    """Acceleration of the head, in m/s2 or g. 0.000000001 m/s2 to 1000000 m/s2. Unit: one of m/s2, g."""

    velocity_limit: Required[Speed]
    """Speed limit of the head, in m/s. 0.000000001 m/s to 10000 m/s. Unit: one of m/s."""

    track_pitch: Length
    """Distance between neighbouring tracks (m, mm, um, nm); or give `tracks_per_inch`. 0.000000000001 m to 1 m. Unit:
    one of m, mm, um, nm."""

    tracks_per_inch: float
    """Tracks per inch. 0.000001 to 1000000000."""

    settle: Required[LengthOfTime]
    """Settling time, added to every seek. 0 ms to 4 s. Unit: one of s, ms, us, ns, min, h."""


class SeekConstant(TypedDict, total=False):
    """Parameters of `constant`."""

    model: Required[Literal["constant"]]

    time: Required[LengthOfTime]
    """Time of every seek. 0.001 us to 4 s. Unit: one of s, ms, us, ns, min, h."""


class SeekHpl(TypedDict, total=False):
    """Parameters of `hpl`."""

    model: Required[Literal["hpl"]]

    short_limit: Required[int]
    """First distance of the long piece, in cylinders. 0 to 50000000."""

    short_base: Required[LengthOfTime]
    """Constant of the short piece. 0 ms to 4000 ms. Unit: one of s, ms, us, ns."""

    short_sqrt: Required[LengthOfTime]
    """Time per square root of a cylinder. 0 ms to 4000 ms. Unit: one of s, ms, us, ns."""

    long_base: Required[LengthOfTime]
    """Constant of the long piece. 0 ms to 4000 ms. Unit: one of s, ms, us, ns."""

    long_slope: Required[LengthOfTime]
    """Time per cylinder. 0 ms to 4000 ms. Unit: one of s, ms, us, ns."""

    single: LengthOfTime
    """Time over one cylinder, if the short formula does not hold for it. 0.001 us to 4 s. Unit: one of s, ms, us, ns,
    min, h."""

    first: Sequence[LengthOfTime]
    """Times over 1, 2, ... cylinders; they replace all other values. 0.001 us to 4 s. Each: Unit: one of s, ms, us, ns,
    min, h."""


class SeekLinear(TypedDict, total=False):
    """Parameters of `linear`."""

    model: Required[Literal["linear"]]

    single: Required[LengthOfTime]
    """Time over one cylinder. 0.001 us to 4 s. Unit: one of s, ms, us, ns, min, h."""

    full: Required[LengthOfTime]
    """Time over `cylinders - 1` cylinders. 0.001 us to 4 s. Unit: one of s, ms, us, ns, min, h."""

    cylinders: Required[int]
    """Cylinders of the drive. 3 to 50000000."""


class SeekNg(TypedDict, total=False):
    """Parameters of `ng`."""

    model: Required[Literal["ng"]]

    a: Required[LengthOfTime]
    """The constant part; it may be negative, because settling is added to it. -4000 ms to 4000 ms. Unit: one of s, ms,
    us, ns."""

    b: Required[LengthOfTime]
    """Travel time over one inch. 0 ms to 4000 ms. Unit: one of s, ms, us, ns."""

    c: Required[LengthOfTime]
    """Settling time for each factor of e in track density. 0 ms to 4000 ms. Unit: one of s, ms, us, ns."""

    tracks_per_inch: Required[float]
    """Tracks per inch. 0.000001 to 1000000000."""


class SeekTable(TypedDict, total=False):
    """Parameters of `table`."""

    model: Required[Literal["table"]]

    points: Required[Sequence[Sequence[int | LengthOfTime]]]
    """Distance in cylinders and time, by increasing distance. Each: 2 entries."""


class SeekThreePoint(TypedDict, total=False):
    """Parameters of `three-point`."""

    model: Required[Literal["three-point"]]

    single: Required[LengthOfTime]
    """Time over one cylinder. 0.001 us to 4 s. Unit: one of s, ms, us, ns, min, h."""

    average: Required[LengthOfTime]
    """Mean time over random pairs of cylinders. 0.001 us to 4 s. Unit: one of s, ms, us, ns, min, h."""

    full: Required[LengthOfTime]
    """Time over all cylinders (`cylinders - 1`). 0.001 us to 4 s. Unit: one of s, ms, us, ns, min, h."""

    cylinders: Required[int]
    """Cylinders of the drive. 2 to 50000000."""


Seek: TypeAlias = SeekBangBang | SeekConstant | SeekHpl | SeekLinear | SeekNg | SeekTable | SeekThreePoint
"""One of these, by its key `model`."""
