"""Counters in results; written by `scripts/schema_types.py`, do not edit."""


class Counters:
    """What drives count, the warm-up included."""

    n_lost_writes: int
    """Writes that completed in the buffer and were lost, because no head reached their place later."""

    n_full_buffer_writes: int
    """Writes that waited for room in the buffer, because data that were not on the medium yet filled it."""

    n_read_modify_writes: int
    """Physical sectors that were read before they were written, because a write covered only a part."""

    n_moved_blocks: int
    """Blocks that cleaning of a log has moved."""

    n_in_place_writes: int
    """Blocks that a log wrote over their old copy, because no slot was free."""

    n_checkpoints: int
    """Complete checkpoints of a log."""

    recovery_scan_s: float
    """How long a log's map would be searched after a loss of power now; absent without `mapping.recovery`."""

    scanned_bytes: int
    """Bytes read by a scan of the medium."""


class Shares:
    """Shares of the requests of a system that succeeded."""

    nonzero_seek_ratio: float
    """Share of requests for which an arm moved."""

    cache_hit_ratio: float
    """Share of requests served from buffers."""
