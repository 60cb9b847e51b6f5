"""Whether a target rotates, the time of a turn, and the phase of every moment.

# Method
A list of random addresses is read twice, in two orders. Whatever the arm did, the two ends of the
reads of one address are a whole number of turns apart. The time of a turn is the one for which most
pairs agree (a vote with a Gaussian kernel); a read that is late by whole turns agrees too. Later
the addresses of the list are read again between all steps: the longer the time between, the more
exact the turn. The same reads tie the phase to the medium, so that angles of different times can be
compared.

# Validity
The turn is relative to this host's clock. It must be within 3.5 to 25 ms, 2,400 to 17,000 turns per
minute, and the spindle steady.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headstack.errors import HeadstackError

from .session import Session
from .value import Value

Floats = NDArray[np.float64]

#: Turns that are looked for, and the width of the kernel of the vote, in s.
LEAST_S, MOST_S, KERNEL_S = 3.5e-3, 25e-3, 0.12e-3

#: Addresses of the list: with reads that by-pass the buffer, and without.
ADDRESSES, MANY = 120, 240

#: Pairs that vote, the closest ones: the others refine the turn.
VOTERS = 40

#: Answers below this time are from the buffer, in s.
HIT_S = 0.8e-3

#: Share of first reads below `HIT_S` above which it is no disk that answers, if no turn is found.
QUICK = 0.2

#: Share of random reads that may fail.
MOST_FAILED = 0.5

#: Share of the pairs that must agree, and the longest time between visits of known addresses, s.
AGREED, LONGEST_S = 0.6, 20.0

#: Visits that tell the phase: the middle of so many is not moved by one that is late.
VISITS = 12

#: Angles between tracks of at most so much below 0 are none, turns.
NONE = 0.005

#: Above this share of disturbed reads, or this part of a turn as the error of one, nothing is told.
MOST_DISTURBED, MOST_ERROR = 0.35, 0.01

#: Reads of one address in a row, and how often at most, until the share is clear of its bound.
ROW, ROWS = 48, 12


class NotADiskError(HeadstackError):
    """The target is no single rotating disk; the text says why."""


def wrap(turns: Floats | float) -> Floats:
    """Return angles as -1/2 to 1/2 of a turn."""
    return np.asarray((turns + 0.5) % 1.0 - 0.5)


def forward(turns: float) -> float:
    """Return an angle as 0 to 1 turn; one that is less than 0 by the errors of reads alone is no whole turn."""
    return float((turns + NONE) % 1.0 - NONE)


def middle(turns: Floats) -> float:
    """Return the circular median of angles, as -1/2 to 1/2 of a turn; of none not-a-number."""
    x = np.asarray(turns)
    if not len(x):
        return math.nan
    apart = np.abs(wrap(x[:, None] - x[None, :])).sum(axis=1)
    about = x[int(np.argmin(apart))]
    return float(wrap(about + np.median(wrap(x - about))))


def vote(intervals_s: Floats) -> tuple[float, float]:
    """Return the longest turn of which most intervals are multiples, in s, and their share."""
    intervals_s = np.abs(intervals_s)
    few = np.sort(intervals_s)[:VOTERS]
    longest = float(few[-1])
    count = math.ceil(math.log(MOST_S / LEAST_S) * longest / (KERNEL_S / 3)) + 1
    trial = np.geomspace(LEAST_S, MOST_S, count)
    score = np.zeros(count)
    for interval in few:
        rest = (interval + trial / 2) % trial - trial / 2
        score += np.exp(-0.5 * (rest / KERNEL_S) ** 2)
    # A third or a half of the turn explains them as well; twice the turn only half of them.
    good = np.flatnonzero(score >= 0.8 * score.max())
    last = good[good >= good[-1] - 40]
    turn = float(trial[last[np.argmax(score[last])]])
    for _ in range(3):
        turns = np.rint(intervals_s / turn)
        near = (np.abs(intervals_s - turns * turn) < 3 * KERNEL_S) & (turns > 0)
        if not near.any():
            break
        turn = float(intervals_s[near] @ turns[near] / (turns[near] @ turns[near]))
    # A few close pairs may all be even by chance; all pairs are not.
    shares = {t: _agreed(intervals_s, t) for t in (turn, turn / 2, turn / 3)}
    turn = max(t for t, share in shares.items() if share > 0.8 * max(shares.values()))
    return turn, _agreed(intervals_s, turn)


def _agreed(intervals_s: Floats, turn_s: float) -> float:
    """Return the share of intervals that are multiples of a turn."""
    return float(np.mean(np.abs(wrap(intervals_s / turn_s)) < 0.02))


@dataclass
class Period:
    """The turn, and the phase of every moment.

    Attributes:
        turn_s: time of a turn.
        turn_sd_s: its standard deviation.
        sigma_s: error of one read's end.
        disturbed: share of reads that end whole turns late for other reasons.
        lbas: the addresses of the list.
    """

    session: Session
    lbas: list[int]
    turn_s: float
    turn_sd_s: float = 0.0
    sigma_s: float = 20e-6
    disturbed: float = 0.0
    times: dict[tuple[int, int], list[float]] = field(default_factory=dict)
    angles: Floats = field(default_factory=lambda: np.zeros(0))
    recent: list[tuple[int, float]] = field(default_factory=list)
    left: list[tuple[float, float]] = field(default_factory=list)
    epoch: int = 0
    origin_s: float = 0.0
    shift: float = 0.0
    next: int = 0

    def phase(self, done_ns: NDArray[np.int64]) -> Floats:
        """Return the angle of moments, in turns, in the frame of the medium."""
        return np.asarray(((done_ns / 1e9 - self.origin_s) / self.turn_s + self.shift) % 1.0)

    def keep(self) -> None:
        """Visit known addresses if the phase could have drifted, or the clock is another."""
        if self.session.epoch != self.epoch:
            self.recent.clear()
            self.visit(VISITS)
            return
        drift = self.turn_sd_s / self.turn_s
        due = min(LONGEST_S, 0.003 * self.turn_s / max(drift, 1e-9))
        if self.session.clock_s - self._seen_s > max(due, 1.0):
            self.visit(2)

    def visit(self, count: int) -> None:
        """Read so many of the known addresses, and fit turn and phase again."""
        few = len(self.lbas) if not self.session.described["fua"] else min(12, len(self.lbas))
        chosen = [(self.next + i) % few for i in range(count)]
        self.next += count
        answer = self.session.read("period", [self.lbas[i] for i in chosen])
        self.epoch = self.session.epoch
        hit = (answer.done_ns - answer.issued_ns) / 1e9 < HIT_S
        for i, done, wrong in zip(chosen, answer.done_ns, hit | (answer.status != 0), strict=True):
            if not wrong:
                self.times.setdefault((self.epoch, i), []).append(int(done) / 1e9)
                self.recent.append((i, int(done) / 1e9))
        del self.recent[:-VISITS]
        self._seen_s = self.session.clock_s
        self.fit()

    _seen_s: float = 0.0

    def fit(self) -> None:
        """Estimate the turn from all pairs of visits, then the phase from the last ones."""
        groups = [np.array(t) for t in self.times.values() if len(t) > 1]
        for attempt in range(5):
            counts = [np.rint((t - t[0]) / self.turn_s) for t in groups]
            offsets = [np.median(t - k * self.turn_s) for t, k in zip(groups, counts, strict=True)]
            rest = [t - k * self.turn_s - o for t, k, o in zip(groups, counts, offsets, strict=True)]
            spread = 1.48 * float(np.median(np.abs(np.concatenate(rest))))
            bound = max(4 * spread, 2e-6)
            # Over a long time the turn itself may be off, before it is fitted.
            drift = 4 * self.turn_sd_s if attempt else 4e-6 * self.turn_s
            top = bottom = 0.0
            for t, k, r in zip(groups, counts, rest, strict=True):
                near = np.abs(r) < bound + drift * np.abs(k)
                if near.sum() > 1:
                    from_mean = k[near] - k[near].mean()
                    top += float(from_mean @ t[near])
                    bottom += float(from_mean @ from_mean)
            if bottom == 0:
                return
            self.turn_s = top / bottom
            self.sigma_s = max(spread * math.sqrt(2), 1e-6)
            self.turn_sd_s = self.sigma_s / math.sqrt(bottom)
        self.left = [
            (float(t), float(r))
            for times, rest_of in zip(groups, rest, strict=True)
            for t, r in zip(times, rest_of, strict=True)
        ]
        if self.recent:
            self.origin_s = self.recent[-1][1]
            ends = np.array([t for _, t in self.recent])
            known = self.angles[[i for i, _ in self.recent]]
            self.shift = middle(wrap(known - (ends - self.origin_s) / self.turn_s))

    def halves(self) -> tuple[float, float]:
        """Return the turn of the upper half of the addresses over that of the lower, less 1.

        With its error.

        Not-a-number if one of them has no visits.
        """
        middle_lba = int(self.session.described["blocks"]) / 2
        slopes = np.full((2, 2), math.nan)
        for half in (0, 1):
            spans = [
                np.array(times)
                for (_, i), times in self.times.items()
                if len(times) > 1 and (self.lbas[i] >= middle_lba) == half
            ]
            if not spans:
                continue
            turns = [np.rint((t - t[0]) / self.turn_s) for t in spans]
            rest = np.concatenate(
                [t - k * self.turn_s - (t - k * self.turn_s).mean() for t, k in zip(spans, turns, strict=True)]
            )
            from_mean = np.concatenate([k - k.mean() for k in turns])
            near = np.abs(rest) < self.turn_s / 4
            for _ in range(4):
                square = max(float(from_mean[near] @ from_mean[near]), 1e-9)
                slope = float(from_mean[near] @ rest[near]) / square
                off = np.abs(rest - slope * from_mean)
                spread = max(1.48 * float(np.median(off[near])), 1e-7)
                near = off < 4 * spread
            slopes[half] = slope / self.turn_s, spread / math.sqrt(square) / self.turn_s
        return float(slopes[1, 0] - slopes[0, 0]), float(np.hypot(*slopes[:, 1]))

    def value(self) -> Value:
        """Return the turn with its interval."""
        two = 2 * self.turn_sd_s
        reads = sum(len(t) for t in self.times.values())
        return Value(self.turn_s, self.turn_s - two, self.turn_s + two, "measured", reads, "period", "s")


def find(session: Session) -> Period:
    """Tell whether the target rotates, and return its turn.

    Raises:
        NotADiskError: it does not, or there is more than one rotor.
        HeadstackError: other work disturbs too many reads.
    """
    count = ADDRESSES if session.described["fua"] else MANY
    rng = session.rng("period")
    count = min(count, session.sectors)
    sectors = rng.choice(min(session.sectors, 1 << 40), size=count, replace=False)
    lbas = [int(s) * session.sector_blocks for s in sectors]
    # In another order, so that the numbers of turns between the two reads are unlike.
    order = rng.permutation(count)
    answers = [session.read("period", lbas)]
    again = session.read("period", [lbas[i] for i in order])
    answers.append(type(again)(*(times[np.argsort(order)] for times in again)))
    taken = np.array([(a.done_ns - a.issued_ns) / 1e9 for a in answers])
    good = (taken > HIT_S).all(axis=0) & (answers[0].status == 0) & (answers[1].status == 0)
    ends = np.array([a.done_ns / 1e9 for a in answers])
    failed = float(np.mean([a.status != 0 for a in answers]))
    if failed > MOST_FAILED:
        raise HeadstackError(f"probe: {failed:.0%} of random reads failed, need at most {MOST_FAILED:.0%}")
    if good.mean() < 0.2:
        raise NotADiskError(_why_quick(taken))
    turn, agreed = vote(ends[1, good] - ends[0, good])
    if agreed < AGREED:
        # A disk seldom answers a first read of a random address at once, memory often, however busy the machine.
        quick = float(np.mean(taken[0] < HIT_S)) > QUICK
        raise NotADiskError(_why_quick(taken) if quick else _why_no_period(sectors, taken, agreed))
    period = Period(session, lbas, turn)
    for i in np.flatnonzero(good):
        period.times[0, int(i)] = [float(t) for t in ends[:, i]]
    period.fit()
    period.origin_s = float(ends[0, 0])
    both = (ends - period.origin_s) / period.turn_s
    period.angles = np.array([middle(wrap(both[:, i])) for i in range(len(lbas))])
    # Those whose two reads agree best: they tell the phase from now on.
    apart = np.abs(wrap(both[1] - both[0]))
    best = [int(i) for i in np.argsort(apart, kind="stable") if good[i]]
    period.lbas = [lbas[i] for i in best]
    period.angles = period.angles[best]
    period.times = {(0, j): period.times[0, i] for j, i in enumerate(best)}
    period._seen_s = session.clock_s
    _count_disturbed(period)
    _check_noise(period)
    period.visit(VISITS)
    return period


def _count_disturbed(period: Period) -> None:
    """Read one address again and again: a read that takes a turn more was disturbed.

    If a buffer answers, it cannot be by-passed, and nothing is known of disturbed reads.
    """
    answer = period.session.read("period", [period.lbas[0]] * ROW)
    described, wished = period.session.described, period.session.described["fua"]
    # What counts is what the target does: it may ignore the wish, or have no buffer.
    described["fua"] = bool(np.mean((answer.done_ns - answer.issued_ns) / 1e9 < HIT_S) < 0.5)
    if wished and not described["fua"]:
        caveat = "reads do not by-pass the buffer, although they ask for it"
        described["caveats"] = [*described["caveats"], caveat]
    if not described["fua"]:
        return
    turns = np.zeros(0)
    for row in range(ROWS):
        if row:
            answer = period.session.read("period", [period.lbas[0]] * ROW)
        turns = np.append(turns, np.rint(np.diff(answer.done_ns / 1e9) / period.turn_s))
        # Without others a read takes the least of these times, unless one in twenty of them is odd.
        share = float(np.mean(turns > np.quantile(turns, 0.05, method="lower")))
        # Late reads come together, so that the share varies more than by chance.
        if abs(share - MOST_DISTURBED) > 3 * math.sqrt(share * (1 - share) / len(turns)):
            break
    period.disturbed = share


def _check_noise(period: Period) -> None:
    if period.disturbed > MOST_DISTURBED:
        raise HeadstackError(
            f"probe: too noisy: {period.disturbed:.0%} of the reads wait for other requests, need "
            f"at most {MOST_DISTURBED:.0%}; stop the other load on the target"
        )
    if period.sigma_s > MOST_ERROR * period.turn_s:
        raise HeadstackError(
            f"probe: too noisy: ends of reads are off by {period.sigma_s * 1e6:.0f} us, need at "
            f"most {MOST_ERROR * period.turn_s * 1e6:.0f} us; the host's scheduling or the link "
            "delays them"
        )


def _why_quick(taken: Floats) -> str:
    share = float(np.mean(taken[1] < HIT_S))
    return (
        f"no rotating disk: {share:.0%} of random reads take less than {HIT_S * 1e3:.1f} ms: a "
        "solid-state drive, memory, or a cache before the drive"
    )


def _why_no_period(sectors: NDArray[np.int64], taken: Floats, agreed: float) -> str:
    distance = np.abs(np.diff(sectors.astype(float)))
    r = float(np.corrcoef(np.sqrt(distance), taken[0, 1:])[0, 1]) if len(sectors) > 2 else 0.0
    text = f"no rotating disk: only {agreed:.0%} of revisits are whole turns apart, and times "
    if not r * r > 0.05:
        return text + "do not depend on the distance: several drives, or a delay without a disk"
    return text + "grow with the distance: an arm without rotation, several drives, or a host that is late"
