"""What the words of a report mean, for readers who are new to disks."""

import re
from collections.abc import Iterable

from headstack.show import table

#: Words of tables and figures, in the order of the list on the page.
WORDS = {
    "system": "the drives that were simulated together, with their organisation and settings",
    "workload": "the requests that every system got",
    "request": "a read or write of some sectors, or a flush, with the time at which it arrives",
    "response time": "from the arrival of a request to its completion",
    **{key: table.MEASURES[key] for key in ("mean", "p50", "p90", "p99")},
    "p99.9": table.MEASURES["p999"],
    "p99.99": table.MEASURES["p9999"],
    "max": table.MEASURES["max"],
    "±": "with a probability of 95 % the true mean is at most so far from the measured one",
    "IOPS": "requests that were completed per second",
    "MB/s": "data of reads and writes per second, in units of 1,000,000 bytes",
    "errors": "requests that failed",
    "queue": "requests in a system, waiting or in service, on average; of a response time: the "
    "wait for other requests, in the figure that in the drive",
    "place": "the wait for a place in a host queue, or for a throttle",
    "elevator": "the wait in the elevator of a host queue",
    "array": "the wait in a volume: for its rows, for a rebuild, in the reads before a write",
    "overhead": "processing of a command that nothing else hides",
    "seek": "the arm moves to the track of the data, and settles there",
    "rotation": "the head is on the track and waits until the platter has turned to the data",
    "transfer": "the data pass under the head",
    "bus": "data on the link between drive and host that nothing else hides",
    "idle": "the platters turn and the arms have nothing to do",
    "standby": "the platters stand still, spin down or spin up",
    "busy": "share of the time in which the mechanism works, for requests or in the background",
    "read": "data from the drive, of which some are in its buffer",
    "write": "data to the drive; with a write-back buffer it completes before it is on the medium",
    "flush": "the host asks for all that was written before to be on the medium",
    "power": "mean electrical power of all drives of a system, without the host",
    "cap": "the power that a controller lets the drives draw at most",
    "drives $": "price of all drives, or what their material costs; the note on the table says which",
    "energy $": "cost of the energy, with cooling, over the years in the note on the table",
    "capacity": "what data can fill, without copies and parity",
}

#: Units after the word in a heading.
_UNITS = (" ms", " %", " W", " s")


def about(heading: str, own: str = "") -> str:
    """Return what the heading of a column means; empty if that is not known.

    Args:
        heading: as it stands, with its unit.
        own: what the column itself says.

    Example:
        >>> about("p99 ms"), about("power W")[:10], about("nothing")
        ('99 of 100 requests end sooner', 'mean elect', '')
    """
    if own:
        return own
    word = next((heading.removesuffix(u) for u in _UNITS if heading.endswith(u)), heading)
    if word.endswith("s") and word not in WORDS:
        word = word.removesuffix("s")
    return WORDS.get(word, WORDS.get(heading.split(" (")[0], ""))


def used(text: Iterable[str]) -> dict[str, str]:
    """Return the words that occur in some of the texts, with what they mean."""
    whole = "\n".join(text)

    def occurs(word: str) -> bool:
        return bool(re.search(rf"(?<!\w){re.escape(word)}s?(?!\w)", whole, re.IGNORECASE))

    return {word: said for word, said in WORDS.items() if occurs(word)}
