"""Closed forms of disk performance: times, rates, switches, cylinders, allocation.

Most are from S. W. Ng, "Advances in Disk Technology: Performance Issues", IEEE Computer 31(5),
1998; each function names the article's section, or states that the formula is derived here. All
accept numbers or arrays, which are broadcast, and return arrays of floats (zero-dimensional if all
arguments are numbers). Names end with units: ``_s`` seconds, ``_bytes``, ``_sectors``, ``_rpm``; a
``_ratio`` or ``_factor`` has none.

The article's units are KB = 1024 bytes, MB = 1000 KB and GB = 1000 MB (`KB`, `MB`, `GB`): only with
them its sums agree. Sectors have 512 bytes.

See ``docs/models/formulas.md`` for the limits of the formulas and a comparison with the simulator.
"""

import numpy as np
import numpy.typing as npt

from headstack.errors import ConfigError

#: The units of the article, in bytes.
KB, MB, GB = 1024, 1000 * 1024, 1000 * 1000 * 1024

#: Bytes in a sector.
SECTOR_BYTES = 512

#: Entries of 16 bits in a sector of a file allocation table.
FAT_ENTRIES = SECTOR_BYTES // 2

#: Smallest and largest cluster of FAT16, and that of FAT12, in sectors.
SMALLEST_CLUSTER, LARGEST_CLUSTER, FAT12_CLUSTER = 4, 64, 8

#: FAT16 has fewer clusters than this number.
FAT16_CLUSTERS = 65_536

#: Capacities in MiB: FAT12 below the first; from the second on too large for FAT16 in DOS.
FAT12_MIB, FAT16_MIB = 16, 2048

#: Mean square root of the distance between two random places on a stroke of length 1.
MEAN_SQRT_DISTANCE = 8 / 15

Numbers = npt.ArrayLike
Array = npt.NDArray[np.float64]


def _number(name: str, value: Numbers, low: float = 0.0, *, above: bool = False, below: float = np.inf) -> Array:
    """Return a value as an array; `above` excludes `low` itself, `below` is always excluded."""
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ConfigError(f"{name}: got {value!r}, need numbers") from None
    fits = (found > low if above else found >= low) & (found < below)
    if not np.all(fits):
        wrong = float(np.ravel(found)[np.flatnonzero(~np.ravel(fits))[0]])
        need = f"a finite number {'above' if above else 'of at least'} {low:g}"
        end = f" and below {below:g}" if np.isfinite(below) else ""
        raise ConfigError(f"{name}: got {wrong:g}, need {need}{end}")
    return found


def _positive(name: str, value: Numbers) -> Array:
    return _number(name, value, above=True)


def _whole(name: str, value: Numbers, low: int = 1) -> Array:
    found = _number(name, value, low)
    if np.any(found != np.floor(found)):
        wrong = float(np.ravel(found[found != np.floor(found)])[0])
        raise ConfigError(f"{name}: got {wrong:g}, need a whole number")
    return found


# The time of a request (article: "Performance factors").


def rotation_time_s(rotation_rpm: Numbers) -> Array:
    """Return the time of a turn.

    Example:
        >>> round(float(rotation_time_s(6000)), 6)
        0.01
    """
    return 60.0 / _positive("rotation_rpm", rotation_rpm)


def mean_latency_s(rotation_rpm: Numbers) -> Array:
    """Return the mean rotational latency, half a turn (article: "Rotational latency")."""
    return rotation_time_s(rotation_rpm) / 2


def transfer_time_s(size_bytes: Numbers, rate_bytes_per_s: Numbers) -> Array:
    """Return size over rate (article: "Data transfer time")."""
    return _number("size_bytes", size_bytes) / _positive("rate_bytes_per_s", rate_bytes_per_s)


def access_time_s(
    overhead_s: Numbers, seek_s: Numbers, rotation_rpm: Numbers, size_bytes: Numbers, media_rate_bytes_per_s: Numbers
) -> Array:
    """Return the mean time of a request served from the medium (article: "How it adds up").

    Overhead + seek + half a turn + transfer. The transfer over the interface overlaps with that
    from the medium and is not added. Switches are left out: add `switch_time_s`.

    Example:
        The article's random 4-Kbyte request, 16.9 ms:

        >>> rate = media_rate_bytes_per_s(111, 5400)
        >>> round(1e3 * float(access_time_s(0.5e-3, 10e-3, 5400, 4 * KB, rate)), 1)
        16.9
    """
    transfer = transfer_time_s(size_bytes, media_rate_bytes_per_s)
    positioning = _number("seek_s", seek_s) + mean_latency_s(rotation_rpm)
    return _number("overhead_s", overhead_s) + positioning + transfer


def buffer_hit_time_s(overhead_s: Numbers, size_bytes: Numbers, interface_rate_bytes_per_s: Numbers) -> Array:
    """Return the time of a request served from the buffer (article: "Caching")."""
    transfer = transfer_time_s(size_bytes, interface_rate_bytes_per_s)
    return _number("overhead_s", overhead_s) + transfer


# Rates (article: "Higher bits per inch").


def media_rate_bytes_per_s(track_sectors: Numbers, rotation_rpm: Numbers) -> Array:
    """Return the rate at which a track passes its head (article: "Data transfer time")."""
    track_bytes = SECTOR_BYTES * _number("track_sectors", track_sectors)
    return track_bytes / rotation_time_s(rotation_rpm)


def density_rate_bytes_per_s(radius_in: Numbers, bits_per_inch: Numbers, rotation_rpm: Numbers) -> Array:
    """Return the media rate from linear density: 2 pi radius x bpi x turns per second.

    Article: "Higher media data rate". Raw bits, the format's overhead included.
    """
    track_bits = 2 * np.pi * _number("radius_in", radius_in)
    track_bits = track_bits * _number("bits_per_inch", bits_per_inch)
    return track_bits / 8 / rotation_time_s(rotation_rpm)


def highest_rotation_rpm(channel_rate_bytes_per_s: Numbers, track_sectors: Numbers) -> Array:
    """Return the speed at which a track needs the whole channel (article: "Constraint on rpm").

    With ID fields on the medium, count them as sectors: the channel also reads them.
    """
    channel = _number("channel_rate_bytes_per_s", channel_rate_bytes_per_s)
    return 60.0 * channel / (SECTOR_BYTES * _positive("track_sectors", track_sectors))


def rate_gain_ratio(
    overhead_s: Numbers,
    seek_s: Numbers,
    rotation_rpm: Numbers,
    size_bytes: Numbers,
    media_rate_bytes_per_s: Numbers,
    rate_factor: Numbers,
) -> Array:
    """Return the share of a request's time that a higher data rate saves (article: figure 2).

    It rises with the size, and stays below 1 - 1/rate_factor.
    """
    factor = _positive("rate_factor", rate_factor)
    transfer = transfer_time_s(size_bytes, media_rate_bytes_per_s)
    before = access_time_s(overhead_s, seek_s, rotation_rpm, size_bytes, media_rate_bytes_per_s)
    return transfer * (1 - 1 / factor) / before


# Switches (article: "Fewer head switches", "Lower sustained data rate").


def switches_per_request(request_sectors: Numbers, track_sectors: Numbers, alignment_sectors: Numbers = 1) -> Array:
    """Return the mean number of track boundaries in a request.

    Starts are uniform over the multiples of `alignment_sectors`. If every sector is equally likely,
    the number is (n - 1)/S, exact for any n and S: each of the n - 1 pairs of neighbours is split
    with probability 1/S. With g the greatest common divisor of alignment and track it is floor((n -
    1)/g) g/S.

    The article prints "(request size - 1/track size) x head switch time": the parenthesis is
    misplaced.

    Example:
        >>> float(switches_per_request(8, 160)), float(switches_per_request(8, 160, 8))
        (0.04375, 0.0)
    """
    n = _whole("request_sectors", request_sectors)
    s = _whole("track_sectors", track_sectors)
    a = _whole("alignment_sectors", alignment_sectors)
    g = np.gcd(a.astype(np.int64), s.astype(np.int64)).astype(np.float64)
    return np.asarray(np.floor((n - 1) / g) * g / s)


def mean_switch_s(heads: Numbers, track_switch_s: Numbers, cylinder_switch_s: Numbers) -> Array:
    """Return the mean time of a switch: one in `heads` is to the next cylinder. Derived here."""
    h = _whole("heads", heads)
    track = _number("track_switch_s", track_switch_s)
    return ((h - 1) * track + _number("cylinder_switch_s", cylinder_switch_s)) / h


def switch_time_s(
    request_sectors: Numbers, track_sectors: Numbers, switch_s: Numbers, alignment_sectors: Numbers = 1
) -> Array:
    """Return the mean time that a request spends in switches (article: "Fewer head switches").

    For `switch_s` use `mean_switch_s` if cylinder switches differ. The formula assumes that sectors
    are skewed by the switch time; without skew each switch costs a turn.
    """
    switches = switches_per_request(request_sectors, track_sectors, alignment_sectors)
    return switches * _number("switch_s", switch_s)


def sustained_ratio(heads: Numbers, rotation_s: Numbers, track_switch_s: Numbers, cylinder_switch_s: Numbers) -> Array:
    """Return sustained over media data rate (article: "Lower sustained data rate", figure 5).

    It tends to R/(R + track switch) for many heads.

    Example:
        >>> round(float(sustained_ratio(1, 10e-3, 2e-3, 4e-3)), 4)
        0.7143
    """
    turn = _positive("rotation_s", rotation_s)
    return turn / (turn + mean_switch_s(heads, track_switch_s, cylinder_switch_s))


# Seeks and cylinders (article: "Bigger cylinder", "Higher tracks per inch").


def seek_time_s(
    distance_in: Numbers, tracks_per_inch: Numbers, base_s: float, travel_s: float, settle_s: float
) -> Array:
    """Return A + B sqrt(distance) + C log(tpi), and zero at zero.

    Article: "Higher tracks per inch". The logarithm is natural; another base rescales `settle_s`.
    The same as the seek model ``ng``.

    Args:
        distance_in: distance in inches; with denser tracks the same blocks are closer.
        tracks_per_inch: track density.
        base_s: A; may be negative, because the settling is added to it.
        travel_s: B, over one inch.
        settle_s: C, for each factor of e in track density.
    """
    way = _number("distance_in", distance_in)
    density = _positive("tracks_per_inch", tracks_per_inch)
    time = base_s + travel_s * np.sqrt(way) + settle_s * np.log(density)
    return np.asarray(np.where(way > 0, time, 0.0))


def mean_seek_time_s(displacement_cylinders: Numbers, table_s: Numbers) -> Array:
    """Return the mean seek time over displacements with a random start. Derived here.

    A displacement of x cylinders crosses floor(x) or floor(x) + 1 of them, x on average. So the
    mean is the table of seek times interpolated at x, exactly.

    Args:
        displacement_cylinders: real numbers.
        table_s: seek time of 0, 1, 2, ... cylinders; the first is zero.
    """
    table = _number("table_s", table_s)
    if table.ndim != 1 or len(table) < 2 or table[0] != 0:
        raise ConfigError("table_s: got another shape, need a list that begins with 0 and goes on")
    x = _number("displacement_cylinders", displacement_cylinders, below=len(table))
    return np.asarray(np.interp(x, np.arange(len(table)), table))


def no_seek_probability(window_cylinders: Numbers, *, aligned: bool = True) -> Array:
    """Return the probability that the next of uniform accesses is in the current cylinder.

    Article: "Bigger cylinder", 1/N for data that fill N cylinders. If the data start anywhere in a
    cylinder it is 1/N - 1/(3 N^2), derived here.

    Example:
        16 Mbytes in cylinders of 480 Kbytes, 3 %:

        >>> round(float(no_seek_probability(16 * MB / (480 * KB))), 2)
        0.03
    """
    n = _number("window_cylinders", window_cylinders, 1.0)
    return 1 / n if aligned else 1 / n - 1 / (3 * n**2)


def log_uniform_seek_probability(shortest_bytes: Numbers, longest_bytes: Numbers, cylinder_bytes: Numbers) -> Array:
    """Return the probability of a seek for log-uniform displacements. Derived here.

    With a, b the displacements and c the cylinder, a <= c <= b: (ln(b/c) + 1 - a/c)/ln(b/a). Making
    the cylinder k times larger saves ln(k)/(ln(b/c) + 1) of the seeks (for a far below c).
    """
    a, b, c = _log_uniform(shortest_bytes, longest_bytes, cylinder_bytes)
    return np.asarray((np.log(b / c) + 1 - a / c) / np.log(b / a))


def log_uniform_seek_time_s(
    shortest_bytes: Numbers, longest_bytes: Numbers, cylinder_bytes: Numbers, base_s: float, travel_s: float
) -> Array:
    """Return the mean time per request of those seeks, for A + B sqrt(cylinders). Derived here.

    (A (ln(b/c) + 1 - a/c) + B (1 - a/c + 2 (sqrt(b/c) - 1)))/ln(b/a).
    """
    a, b, c = _log_uniform(shortest_bytes, longest_bytes, cylinder_bytes)
    moves = base_s * (np.log(b / c) + 1 - a / c)
    travel = travel_s * (1 - a / c + 2 * (np.sqrt(b / c) - 1))
    return np.asarray((moves + travel) / np.log(b / a))


def _log_uniform(a: Numbers, b: Numbers, c: Numbers) -> tuple[Array, Array, Array]:
    shortest = _positive("shortest_bytes", a)
    longest = _positive("longest_bytes", b)
    cylinder = _positive("cylinder_bytes", c)
    if np.any(cylinder < shortest) or np.any(cylinder > longest) or np.any(shortest == longest):
        raise ConfigError(
            "cylinder_bytes: got one outside the displacements, need it between shortest_bytes and "
            "longest_bytes, which differ"
        )
    return shortest, longest, cylinder


def seek_time_factor(seek_count_factor: Numbers, travel_share: Numbers, cylinder_factor: Numbers) -> Array:
    """Return the factor of the total seek time when cylinders grow. Derived here.

    For any workload, if the seek time is A + B sqrt(cylinders) and the share of B was f: (1 - f) x
    factor of the number of seeks + f/sqrt(k).
    """
    f = _number("travel_share", travel_share)
    k = _positive("cylinder_factor", cylinder_factor)
    return (1 - f) * _number("seek_count_factor", seek_count_factor) + f / np.sqrt(k)


def travel_share(seek_count_factor: Numbers, time_factor: Numbers, cylinder_factor: Numbers) -> Array:
    """Return the share of travel in the seek time, for `seek_time_factor`. Derived here."""
    n = _number("seek_count_factor", seek_count_factor)
    root = 1 / np.sqrt(_positive("cylinder_factor", cylinder_factor))
    if np.any(n == root):
        raise ConfigError("seek_count_factor: got 1/sqrt(cylinder_factor), which says nothing")
    return (n - _number("time_factor", time_factor)) / (n - root)


def break_even_cylinders(tpi_factor: Numbers, travel_s: Numbers, settle_s: Numbers) -> Array:
    """Return the distance from which denser tracks make a seek shorter. Derived here.

    (C ln y/(B (1 - 1/sqrt y)))^2, in cylinders before the change; (2 C/B)^2 for small steps
    (article: "Higher tracks per inch": two opposing effects).

    Args:
        tpi_factor: y, above 1.
        travel_s: B, over one cylinder before the change.
        settle_s: C.
    """
    y = _number("tpi_factor", tpi_factor, 1.0, above=True)
    c, b = _number("settle_s", settle_s), _positive("travel_s", travel_s)
    return np.asarray((c * np.log(y) / (b * (1 - 1 / np.sqrt(y)))) ** 2)


def break_even_window_cylinders(tpi_factor: Numbers, travel_s: Numbers, settle_s: Numbers) -> Array:
    """Return the window of uniform accesses in which denser tracks have no effect.

    (15/8)^2 times the distance of `break_even_cylinders`, because the mean square root of a
    distance in N cylinders is 8/15 sqrt(N).
    """
    return break_even_cylinders(tpi_factor, travel_s, settle_s) / MEAN_SQRT_DISTANCE**2


# Heads, platters, format (article: "Fewer heads", "No-ID recording format").


def capacity_bytes(heads: Numbers, cylinders: Numbers, track_sectors: Numbers) -> Array:
    """Return heads x cylinders x sectors of a track, in bytes (article: "Smaller cylinder")."""
    tracks = _number("heads", heads) * _number("cylinders", cylinders)
    return tracks * _number("track_sectors", track_sectors) * SECTOR_BYTES


def heads_at_capacity(heads: Numbers, bpi_factor: Numbers, tpi_factor: Numbers) -> Array:
    """Return the number of heads for equal capacity, in general not whole: heads/(xy).

    Article: "Smaller cylinder". A cylinder then has 1/y of the sectors, and distances in inches do
    not change.
    """
    density = _positive("bpi_factor", bpi_factor) * _positive("tpi_factor", tpi_factor)
    return _positive("heads", heads) / density


def platters(capacity: Numbers, platter_capacity: Numbers, density_factor: Numbers = 1.0) -> Array:
    """Return the platters that a capacity needs, both in one unit (article: "Fewer heads")."""
    one = _positive("platter_capacity", platter_capacity)
    exact = _number("capacity", capacity) / (one * _positive("density_factor", density_factor))
    # A whole number that rounding made slightly larger needs no further platter.
    return np.asarray(np.ceil(exact * (1 - 1e-12)))


def no_id_sectors(track_sectors: Numbers, id_share_ratio: Numbers) -> Array:
    """Return the sectors of a track without ID fields (article: "No-ID recording format").

    The result is in general not an integer.

    Args:
        track_sectors: sectors with ID fields.
        id_share_ratio: share of the track in ID fields and their gaps, below 1.
    """
    share = _number("id_share_ratio", id_share_ratio, below=1.0)
    return _number("track_sectors", track_sectors) / (1 - share)


# The file allocation table (article: "Larger drive capacity").


def cluster_sectors(capacity_mib: Numbers) -> Array:
    """Return the cluster size of a FAT partition (article: "Larger drive capacity").

    The least power of two for which there are fewer than 65,536 clusters.

    At least 4 sectors; 8 in FAT12, below 16 MiB.

    Args:
        capacity_mib: in units of 2^20 bytes, below 2048.

    Example:
        >>> cluster_sectors([256, 511, 512, 1023]).tolist()
        [16.0, 16.0, 32.0, 32.0]
    """
    mib = _number("capacity_mib", capacity_mib, above=True, below=FAT16_MIB)
    fewest = mib * 2**20 / SECTOR_BYTES / FAT16_CLUSTERS
    # The number of clusters must be below the limit: at the limit the next size is needed.
    power = 2.0 ** (np.floor(np.log2(np.maximum(fewest, 2.0**-30))) + 1)
    fat16 = np.clip(power, SMALLEST_CLUSTER, LARGEST_CLUSTER)
    return np.asarray(np.where(mib < FAT12_MIB, float(FAT12_CLUSTER), fat16))


def fat_sectors(file_sectors: Numbers, cluster: Numbers, *, aligned: bool = True) -> Array:
    """Return the FAT sectors with a file's cluster chain (article: "Large files").

    With k clusters ceil(k/256), or 1 + (k - 1)/256 on average if the chain starts anywhere in a FAT
    sector.

    Args:
        file_sectors: the file, at least one sector.
        cluster: sectors in a cluster.
        aligned: whether the chain starts with a FAT sector.
    """
    k = np.ceil(_whole("file_sectors", file_sectors) / _whole("cluster", cluster))
    return np.ceil(k / FAT_ENTRIES) if aligned else 1 + (k - 1) / FAT_ENTRIES


def allocated_sectors(file_sectors: Numbers, cluster: Numbers) -> Array:
    """Return the space of a file in whole clusters (article: "Small files", figure 8)."""
    size = _whole("cluster", cluster)
    return np.ceil(_whole("file_sectors", file_sectors, 0) / size) * size


# Not in the article.


def access_density_per_s_per_tb(capacity: Numbers, seek_s: Numbers, rotation_rpm: Numbers) -> Array:
    """Return random accesses per second per 10^12 bytes, one at a time, without transfer.

    Args:
        capacity: in bytes.
        seek_s: mean seek time.
        rotation_rpm: speed.
    """
    access = _number("seek_s", seek_s) + mean_latency_s(rotation_rpm)
    return 1 / access / (_positive("capacity", capacity) / 1e12)


def rebuild_time_s(capacity: Numbers, mean_rate_bytes_per_s: Numbers) -> Array:
    """Return the least time in which a whole drive can be read or written."""
    return _number("capacity", capacity) / _positive("mean_rate_bytes_per_s", mean_rate_bytes_per_s)
