"""Goals are read, compared with results, and the load at which they stop to be met is found."""

import math

import pytest

from headstack.results import goal


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("p99=20ms", "p99 <= 20 ms"),
        ("p99.9 <= 1 s", "p999 <= 1000 ms"),
        ("mean<8ms, power<12W", "mean <= 8 ms, power <= 12 W"),
        ("mean<8ms and read.p99<15ms", "mean <= 8 ms, read.p99 <= 15 ms"),
        ("iops>200", "iops >= 200 IOPS"),
        ("write.iops > 1_000/s", "write.iops >= 1000 IOPS"),
        ("max=500us", "max <= 0.5 ms"),
    ],
)
def test_goals_are_read_and_written(text, shown):
    read = goal.parse(text)
    assert str(read) == shown
    assert goal.parse(str(read)) == read


def test_a_system_meets_a_goal_if_it_keeps_every_bound():
    system = {
        "n_requests": 10,
        "n_errors": 0,
        "throughput_iops": 150.0,
        "response_time_s": {"mean": 0.004, "p99": 0.020},
        "operations": {"read": {"response_time_s": {"p99": 0.03}, "throughput_iops": 90.0}},
        "power_w": {"mean": 11.0},
    }

    def met(text, **changes):
        return goal.met(goal.parse(text), {**system, **changes})

    assert met("p99=20ms, mean=4ms, power=11W, iops=150") is True
    assert met("p99=19.9ms, mean=4ms") is False
    assert met("read.p99=29ms") is False
    assert met("read.iops>90, read.p99=30ms") is True
    assert met("iops>151") is False
    # Not known: the system has no p90, and no writes.
    assert met("p90=1s") is None
    assert met("write.mean=1s, p99=1s") is None
    assert met("write.mean=1s, p99=1ms") is False
    # Times that grow with the length of the run keep no bound, watts do.
    assert met("p99=20ms", overloaded={"why": "the queue grows"}) is False
    assert met("power=12W", overloaded={"why": "the queue grows"}) is True
    assert met("power=12W", n_errors=10) is False


@pytest.mark.parametrize("factor", [1 / 50, 0.4, 0.999, 1.0, 1.001, 3.7, 33.3])
@pytest.mark.parametrize("precision", [0.02, 0.2])
def test_bisection_finds_where_a_queue_misses_its_goal(factor, precision):
    """The 99th percentile of M/M/1 is ln(100) / (mu - lambda): it is 20 ms at one known load."""
    mu = 1000.0
    most = mu - math.log(100) / 0.020
    given = most / factor

    def meets(load):
        rate = given * load
        return rate < mu and math.log(100) / (mu - rate) <= 0.020

    found = goal.headroom(meets, precision=precision)
    assert found.meets <= factor * (1 + 1e-12)
    assert factor <= found.misses * (1 + 1e-12)
    assert found.misses <= found.meets * (1 + precision) * (1 + 1e-12)
    known = goal.headroom(meets, at_one=meets(1.0), precision=precision)
    assert known == found._replace(n_runs=found.n_runs - 1)


def test_bisection_ends_where_the_answer_never_changes():
    assert goal.headroom(lambda load: True)[:2] == (goal.MOST, math.inf)
    assert goal.headroom(lambda load: False)[:2] == (0.0, goal.LEAST)
