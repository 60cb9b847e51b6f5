"""A target together with the log of all that was asked of it.

A call is answered from the log while it has entries, then by the target, whose answer is appended.
So a probe that is run again with its log continues where it ended, and one with the log alone comes
to the same results. A real target has another clock after a resume: that is a new *epoch*. A
simulated one is asked again what the log has, and so comes to the same state.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstack.errors import ConfigError, HeadstackError

from .log import ANSWER, BESIDE, Log

Ints = NDArray[np.int64]

#: Reads of other places that push an address out of the buffer, most sectors
#: between them, and steps that are tried.
EVICTING, MOST_EVICTING, _FAR, STEPS = 40, 320, 6000, 12

#: How many of them are sent at once to a target that does not say how many it takes.
_OTHERS = 32

#: Reads in a row that may fail.
MOST_IN_A_ROW = 50


class Answer(NamedTuple):
    """Times of reads, in ns since the epoch's begin, and their status: 0 is good."""

    issued_ns: Ints
    done_ns: Ints
    status: Ints


def sector_blocks_of(described: Mapping[str, Any]) -> int:
    """Return the logical blocks of a physical sector."""
    return max(1, int(described["physical_bytes"]) // int(described["block_bytes"]))


class Session:
    """A target, or only its log.

    Attributes:
        described: what the target says of itself.
        epoch: number of times that a real target was opened anew.
        commands: number of reads so far.
        failed: addresses that could not be read.
        evicting: reads of other places that push an address out of the buffer.
        meter_s: time between two readings of the meter; None: there is none.
        watts: what it showed during the last call that was metered.
    """

    def __init__(self, target: Any, log: Log, meter: Any = None) -> None:
        self._target, self._log, self._meter = target, log, meter
        self.meter_s: float | None = log.header.get("options", {}).get("meter_s")
        self.watts: list[float] = []
        self._next = 0
        self._asked = False
        self._first_ns: int | None = None
        self._spent_ns = self._last_ns = 0
        self.described: dict[str, Any] = dict(log.header["described"])
        self.epoch = self.commands = 0
        self.failed: list[int] = []
        self.evicting = EVICTING
        self._others = self.rng("others")
        self._in_a_row = 0
        self._took = np.zeros(STEPS)

    @property
    def sector_blocks(self) -> int:
        """Logical blocks of a physical sector."""
        return sector_blocks_of(self.described)

    @property
    def sectors(self) -> int:
        """Physical sectors of the target."""
        return int(self.described["blocks"]) // self.sector_blocks

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """First addresses of the actuators' ranges, and the addresses after their last ones."""
        whole = self.sectors * self.sector_blocks
        declared = sorted((int(a), int(n)) for a, n in self.described.get("ranges") or ())
        return [(a, min(a + n, whole)) for a, n in declared] or [(0, whole)]

    @property
    def scratch(self) -> tuple[int, int]:
        """First block and number of blocks that may be written."""
        first, blocks = self._log.header.get("options", {}).get("scratch") or (0, 0)
        return int(first), int(blocks)

    @property
    def clock_s(self) -> float:
        """Time of the target that was used so far, in s."""
        return (self._spent_ns + self._last_ns - (self._first_ns or 0)) / 1e9

    def rng(self, step: str) -> np.random.Generator:
        """Return the random numbers of a step: the same for the same seed."""
        words = [int(self._log.header["seed"]), *step.encode()]
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))

    def past_others(self, step: str, lba: int, then: Sequence[int] = ()) -> Answer:
        """Read other places, so that the buffer forgets an address; then some addresses.

        The places are a step back after each other: none is in what was read ahead of the one
        before, and the arm moves little. The step that took the least time lately is taken.

        Returns:
            the answers of the last addresses.
        """
        most = max(3, min(_FAR, self.sectors // (4 * self.evicting)))
        number = int(np.argmin(self._took))
        back = max(1, round(most * (1 + 2 * (number + 0.5) / STEPS) / 3)) * np.arange(1, self.evicting + 1)
        begin = lba // self.sector_blocks
        if begin < back[-1]:
            begin = int(self._others.integers(back[-1], self.sectors))
        # All at once: a drive that orders its queue takes them in a few turns.
        depth = int(self.described.get("queue_depth") or _OTHERS)
        answer = self.read(step, (begin - back) * self.sector_blocks, depth=depth)
        # What was found long ago counts less: tracks have other lengths elsewhere.
        self._took *= 0.99
        self._took[number] = (answer.done_ns.max() - answer.issued_ns.min()) / self.evicting
        return self.read(step, then) if len(then) else answer

    def read(
        self,
        step: str,
        lba: Sequence[int] | Ints,
        blocks: int | Sequence[int] | None = None,
        *,
        wait_s: float | Sequence[float] = 0.0,
        depth: int = 1,
        together: bool = False,
        fua: bool | None = None,
        at_s: Sequence[float] | None = None,
        metered: bool = False,
    ) -> Answer:
        """Read one physical sector at each address, or as many blocks as given.

        Args:
            step: name of the step of the probe.
            lba: first logical block of each read.
            blocks: logical blocks of all or of each; None: one physical sector.
            wait_s: time before each read, after the one before is done.
            depth: reads outstanding.
            together: whether all are issued at once.
            fua: whether the buffer is by-passed; None: if the target can.
            at_s: times of arrival, in s after the call.
            metered: whether the meter is read meanwhile.

        Raises:
            ConfigError: the log has another call here.
            HeadstackError: the log ends, and there is no target.
        """
        options: dict[str, Any] = {}
        if not isinstance(wait_s, int | float):
            # Rounded, so that another machine's last digits are the same call.
            options["wait_s"] = [round(float(w), 7) for w in wait_s]
        elif wait_s:
            options["wait_s"] = round(float(wait_s), 7)
        if depth != 1:
            options["depth"] = int(depth)
        if together:
            options["together"] = True
        if at_s is not None:
            options["at_s"] = [float(t) for t in at_s]
        if metered:
            options["metered"] = True
        options["fua"] = bool(self.described["fua"]) if fua is None else fua
        call: dict[str, Any] = {"step": step, "lba": [int(x) for x in lba]}
        each: int | list[int] = self.sector_blocks
        if blocks is not None:
            each = blocks if isinstance(blocks, int) else [int(b) for b in blocks]
        call["blocks"] = each
        return self._do({**call, **options})

    def alone(self) -> tuple[Ints, Answer]:
        """Return all reads so far that by-passed the buffer one by one, with their answers."""
        others = {"depth", "together", "writes"}
        calls = self._log.entries[: self._next]
        kept = [c for c in calls if c.get("fua") and "lba" in c and not others & {*c}]
        lbas, *answer = (
            np.concatenate([np.array(e[k], dtype=np.int64) for e in kept] or [np.zeros(0, int)])
            for k in ("lba", *ANSWER)
        )
        return lbas, Answer(*answer)

    def write(self, step: str, lba: Sequence[int] | Ints, **options: Any) -> Answer:
        """Write a physical sector, or so many blocks, at each address; as `read`.

        Only what the blocks contain is written.
        """
        blocks = int(options.pop("blocks", self.sector_blocks))
        call = {"step": step, "lba": [int(x) for x in lba], "blocks": blocks}
        if not isinstance(wait_s := options.pop("wait_s", 0.0), int | float):
            call["wait_s"] = [round(float(w), 7) for w in wait_s]
        return self._do({**call, "writes": True, **options})

    @property
    def notes(self) -> list[str]:
        """What was, or was not, set back on the target so far."""
        return [str(entry["note"]) for entry in self._log.entries if "note" in entry]

    def sleep(self, seconds: float, *, metered: bool = False) -> None:
        """Leave the target alone for a while."""
        self._do({"sleep": float(seconds), **({"metered": True} if metered else {})})

    def _do(self, call: dict[str, Any]) -> Answer:
        entry = self._logged(call)
        if entry is None:
            if self._target is None:
                raise HeadstackError("log: got its end in the middle of a probe, need the target to go on (--resume)")
            self._open()
            entry = {**call, **self._ask(call)}
            entry["epoch"] = self.epoch
            self._log.append(entry)
            self._next += 1
        self.watts = entry.get("watts", [])
        answer = Answer(*(np.array(entry[k], dtype=np.int64) for k in ANSWER))
        self._count(call, answer)
        return answer

    def _logged(self, call: dict[str, Any]) -> dict[str, Any] | None:
        entries = self._log.entries
        while self._next < len(entries) and "note" in entries[self._next]:
            self._next += 1
        if self._next >= len(entries):
            return None
        entry = entries[self._next]
        if {k: v for k, v in entry.items() if k not in (*ANSWER, *BESIDE)} != call:
            raise ConfigError(
                f"log: got another call than that of this plan at entry {self._next + 1}, need a "
                "log of this version with the same options"
            )
        self._next += 1
        self._start(int(entry["epoch"]))
        # What the simulated drive did before is what it does now: this brings it to that state.
        if self._target is not None and self.described["kind"] == "sim":
            again = self._ask(call)
            if again["done"] != entry["done"]:
                raise ConfigError("log: got times that this simulated drive does not give")
        return entry

    def _open(self) -> None:
        """Begin a new epoch if the log was written by an earlier process."""
        if self._asked or self.described["kind"] == "sim":
            return
        if any("note" not in entry for entry in self._log.entries):
            self._start(self.epoch + 1)

    def _start(self, epoch: int) -> None:
        if epoch != self.epoch:
            self._spent_ns += self._last_ns - (self._first_ns or 0)
            self.epoch, self._first_ns, self._last_ns = epoch, None, 0

    def _ask(self, call: dict[str, Any]) -> dict[str, Any]:
        if "metered" in call:
            with self._meter.during() as watts:
                answer = self._ask({k: v for k, v in call.items() if k != "metered"})
            return {**answer, "watts": watts}
        self._asked = True
        if "sleep" in call:
            self._target.sleep(call["sleep"])
            now = int(self._target.now_ns())
            return {"issued": [now], "done": [now], "status": [0]}
        rest = {k: v for k, v in call.items() if k not in ("step", "lba", "blocks", "writes")}
        ask = self._target.write if "writes" in call else self._target.read
        answers = ask(call["lba"], call["blocks"], **rest)
        return dict(zip(ANSWER, ([int(x) for x in a] for a in answers), strict=True))

    def _count(self, call: dict[str, Any], answer: Answer) -> None:
        if self._first_ns is None:
            self._first_ns = int(answer.issued_ns[0])
            self._last_ns = self._first_ns
        self._last_ns = max(self._last_ns, int(answer.done_ns.max()))
        if "lba" in call:
            self.commands += len(call["lba"])
            wrong = np.flatnonzero(answer.status)
            good = np.flatnonzero(answer.status == 0)
            in_a_row = len(call["lba"]) - 1 - good[-1] if len(good) else len(call["lba"])
            self._in_a_row = int(in_a_row) + (0 if len(good) else self._in_a_row)
            if self._in_a_row > MOST_IN_A_ROW:
                raise HeadstackError(
                    f"probe: the last {self._in_a_row} reads failed, that of block "
                    f"{call['lba'][-1]} too, need at most {MOST_IN_A_ROW}"
                )
            self.failed += [int(call["lba"][i]) for i in wrong]
