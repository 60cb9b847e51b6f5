"""Power capping; written by `scripts/schema_types.py`, do not edit."""

from collections.abc import Sequence
from typing import Literal, Required, TypedDict

from headstack.schema.models import (
    FeedForwardParameters,
    LearningParameters,
    PcapAgileParameters,
    PcapBaseParameters,
    PcapSParameters,
    ThrottleParameters,
)
from headstack.schema.plain import Path
from headstack.schema.quantities import LengthOfTime, Power
from headstack.schema.words import CappingPolicyName


class Cap(TypedDict, total=False):
    """One entry of `caps`."""

    at: Required[LengthOfTime]
    """From then on, after the first request. Unit: one of s, ms, us, ns, min, h."""

    cap: Power
    """The cap; none if absent. Unit: one of W, mW."""


class Signal(TypedDict, total=False):
    """A cap that changes at random, like a share of a rack's budget."""

    mean: Required[Power]
    """Long-term mean. 0.001 W to 1000000 W. Unit: one of W, mW."""

    deviation: Required[Power]
    """Standard deviation. 0 W to 1000000 W. Unit: one of W, mW."""

    correlation_time: LengthOfTime
    """Correlation time of the process. 10 ms to 1000000 s. Unit: one of s, ms, us, ns, min, h. Default: "60 s"."""

    every: LengthOfTime
    """Time from one cap to the next. 10 ms to 1000000 s. Unit: one of s, ms, us, ns, min, h. Default: "4 s"."""

    least: Required[Power]
    """Lowest cap. 0.001 W to 1000000 W. Unit: one of W, mW."""

    most: Required[Power]
    """Highest cap. 0.001 W to 1000000 W. Unit: one of W, mW."""


class Capping(TypedDict, total=False):
    """Power capping; what it leaves out is the experiment's."""

    policy: Required[CappingPolicyName]
    """Name of the policy."""

    parameters: (
        FeedForwardParameters
        | LearningParameters
        | PcapAgileParameters
        | PcapBaseParameters
        | PcapSParameters
        | ThrottleParameters
    )
    """Parameters of the policy; for several drives also `tiers`, `share` and `weights`."""

    interval: LengthOfTime
    """Time between two readings of the meter. 10 ms to 3600 s. Unit: one of s, ms, us, ns, min, h. Default: "1 s"."""

    efficiency: float
    """Efficiency of the power supply; the meter measures the power that goes into it. 0.1 to 1. Default: 1.0."""

    noise: Power
    """Standard deviation of a reading. 0 W to 1000 W. Unit: one of W, mW. Default: "0 W"."""

    resolution: Power
    """Step to which readings are rounded. 0 W to 1000 W. Unit: one of W, mW. Default: "0 W"."""

    delay: LengthOfTime
    """Age of the latest reading. 0 ms to 3600 s. Unit: one of s, ms, us, ns, min, h. Default: "0 ms"."""

    response_time: Literal["mean", "p50", "p90", "p99", "max"]
    """Which response time a reading contains. `mean`: The mean of the interval; `p50`: The median; `p90`: The 90th
    percentile; `p99`: The 99th percentile; `max`: The longest. Default: "mean"."""

    caps: Sequence[Cap]
    """The cap over time: `{ at, cap }` each; `at` counts from the first request, without `cap` the cap ends."""

    cap_file: Path
    """CSV with the cap over time: seconds and watts; empty watts: no cap."""

    signal: Signal
    """A cap that changes at random, like a share of a rack's budget."""

    tolerance: Power
    """How far the power may exceed the cap without counting as a violation. 0 W to 1000 W. Unit: one of W, mW. Default:
    "0 W"."""
