"""Steps of a probe that measure times, on a simulated drive of known truth."""

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from conftest import command

from headstack import _bridge, _toml, drives, probe
from headstack.probe import actuators, buffer, compare, drive_file, idle, plan, policies, queue, replay, seek, timing
from headstack.probe.geometry import Geometry
from headstack.probe.period import wrap
from headstack.probe.plan import Probed

TURN = 60 / 7199.6
CYLINDERS = 40_000


def spec(**tables: Any) -> dict[str, Any]:
    """A drive of two zones, whose heads have formats of their own; some tables are given."""
    formats = [
        [{"tracks_per_band": 200 + h % 2 * 6, "sectors_per_track": n - h % 2 * n * 3 // 100} for n in (500, 300)]
        for h in range(4)
    ]
    zone = {"track_skew": 0.3, "cylinder_skew": 0.13}
    overhead = {"after_read": "0.15 ms", "after_write": "0.15 ms"}
    seeks = {"single": "0.6 ms", "average": "8 ms", "full": "16 ms", "cylinders": CYLINDERS}
    return {
        "name": "truth",
        "geometry": {
            "layout": "adaptive",
            "rotation_speed": "7199.6 rpm",
            "surfaces": 4,
            "cylinders": CYLINDERS,
            "sector_size": "4 KiB",
            "skew_unit": "turns",
            "band_cylinders": 200,
            "surface_zones": formats,
            "zones": [
                {"first_cylinder": first, "last_cylinder": first + CYLINDERS // 2 - 1, "sectors_per_track": n, **zone}
                for first, n in ((0, 500), (CYLINDERS // 2, 300))
            ],
        },
        "seek": {"model": "three-point", **seeks},
        "positioning": {"head_switch": "0.7 ms"},
        "cache": cache(32, 200),
        "overhead": {"read_hit": overhead, "read_miss": overhead},
        "link": {"rate": "600 MB/s"},
        "queue": {"depth": 32, "scheduler": "depth-aged-sptf", "scheduler_parameters": {"ageing": 1.0}},
        **tables,
    }


def cache(segments: int, ahead: int) -> dict[str, Any]:
    if not segments:
        return {"enabled": False}
    kind = {"read_ahead": "limit", "read_ahead_sectors": ahead} if ahead else {"read_ahead": "none"}
    return {"enabled": True, "segments": segments, "segment_sectors": 2 * ahead + 64, **kind}


def true_access(cylinders: float) -> float:
    """Overhead and the three-point curve of 0.6, 8 and 16 ms, in s."""
    if cylinders < 0.5:
        return 0.15e-3
    n, single, average, full = CYLINDERS, 0.6e-3, 8e-3, 16e-3
    a = (-10 * single + 15 * average - 5 * full) / (3 * math.sqrt(n))
    b = (7 * single - 15 * average + 8 * full) / (3 * n)
    return 0.15e-3 + single + a * math.sqrt(max(cylinders - 1, 0)) + b * (cylinders - 1)


def target(folder: Path, given: dict[str, Any]) -> str:
    path = folder / "truth.toml"
    path.write_text(_toml.dumps(given), encoding="utf-8")
    return f"sim:{path}"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Probed:
    """The whole probe of that drive: lateness 15 us, 2 % of the reads disturbed."""
    named = target(tmp_path_factory.mktemp("whole"), spec())
    return probe.probe(named, budget="600 s", lateness="15 us", disturbed=0.02, seed=7)


def test_accesses_are_found_beside_other_loads(whole: Probed, tmp_path: Path) -> None:
    """20 % of the reads end late: twice the bounds of a quiet drive, for 95 % of the distances."""
    with probe.opened(target(tmp_path, spec()), "15 us", 0.2, 0.0, 5) as session:
        # The time of a turn is known to 2 ppm.
        found = seek.measure(
            session, whole.geometry, TURN * (1 + 2e-6), np.random.default_rng(1),
            disturbed=0.2, distances=24,
        )  # fmt: skip
    assert found.turn_s == pytest.approx(TURN, rel=3e-7)
    assert found.disturbed == pytest.approx(0.2, abs=0.03)
    assert found.lateness_s == pytest.approx(15e-6, rel=0.2)
    errors = []
    for p in found.points:
        for value in (p.inward, p.outward):
            # What is added after the movement: a sector, the link and the usual lateness.
            truth = true_access(p.cylinders) + TURN / (300 if p.inside else 500) + 32e-6
            errors.append(abs(value.value - truth) / max(30e-6, 0.05 * truth))
    assert len(found.points) > 35
    assert np.mean(np.array(errors) <= 2.0) >= 0.95, sorted(errors)[-10:]
    assert found.formula["model"] == "three-point"


def test_a_host_late_by_various_times_is_not_taken_for_other_tracks(
    whole: Probed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ends up to 0.15 ms before and after the usual ones are still those of the sectors read."""
    late = np.random.default_rng(2)
    with probe.opened(target(tmp_path, spec()), "0 us", 0.0, 0.0, 5) as session:
        read = session.read

        def later(*given: Any, **named: Any) -> Any:
            issued, done, status = read(*given, **named)
            return issued, np.asarray(done) + late.uniform(0, 300_000, len(done)), status

        monkeypatch.setattr(session, "read", later)
        found = seek.measure(session, whole.geometry, TURN, np.random.default_rng(1), distances=12, held_out=100)
    assert len(found.points) >= 20
    assert found.turnaround.value == pytest.approx(0.15e-3 + TURN / 400 + 0.15e-3, abs=0.1e-3)


@pytest.mark.parametrize(("measured_s", "written"), [
    # The skew is 0.13 turns, 1.0834 ms: longer by 5 % at most, as long, longer, shorter.
    (1.12e-3, "1.0824 ms"), (1.3e-3, "1.3000 ms"), (0.9e-3, "0.9000 ms"),
])  # fmt: skip
def test_a_step_is_not_longer_than_the_skew_that_covers_it(measured_s: float, written: str, whole: Probed) -> None:
    found = whole.found
    assert found is not None
    (distance, value), *others = found.curve.table
    table = ((distance, replace(value, value=measured_s)), *others)
    drive, _ = drive_file.spec(replace(found, curve=replace(found.curve, table=table)))
    assert drive["seek"]["points"][0] == [1, written]


def test_reads_of_an_open_trace_count_from_their_arrivals() -> None:
    """A target that takes one command at once, each for 10 ms: Lindley's equation."""

    def read(lbas: list[int], blocks: list[int], *, fua: bool, at_s: list[float]) -> Any:
        issued, done = [], [0.0]
        for at in at_s:
            issued.append(max(7.0 + at, done[-1]))
            done.append(issued[-1] + 0.01)
        return *(np.rint(np.array(t) * 1e9) for t in (issued, done[1:])), None

    trace = replay.Trace([0, 0, 0], [8, 8, 8], [], [0.001, 0.005, 0.031])
    assert replay.times_of(read, trace, "at_s") == pytest.approx([0.01, 0.016, 0.01])


def test_times_of_a_simulated_drive_are_recovered(whole: Probed) -> None:
    """Switches, buffer, arms, rule and ageing are those of the drive."""
    found = whole.found
    assert found is not None
    assert found.switches is not None
    assert found.switches.head_switch is not None
    assert float(found.switches.head_switch.value) == pytest.approx(0.7e-3, abs=30e-6)
    assert found.buffer is not None
    assert found.buffer.segments is not None
    assert found.buffer.segments.value == 32
    assert found.buffer.read_ahead[-1][1] == pytest.approx(200, rel=0.02)
    assert found.actuators is not None
    assert found.actuators.number.value == 1
    assert found.queue is not None
    assert found.queue.spec["scheduler"] == "depth-aged-sptf"
    assert found.queue.spec["scheduler_parameters"]["ageing"] == pytest.approx(1.0, abs=0.15)


def test_the_recovered_file_is_the_drive(whole: Probed, tmp_path: Path) -> None:
    """The file loads; the engine finds speed, capacity, rates and seeks of the drive in it."""
    path = whole.write_drive(tmp_path / "drive.toml")
    loaded = drives.load(path)
    info = _bridge.call("drive_info", json.dumps(loaded))
    assert info["rotation_s"] == pytest.approx(TURN, rel=1e-6)
    # A track of each head takes a turn and its skew.
    sectors = np.array([500, 485, 500, 485])
    tracks = np.array([200, 206, 200, 206])
    assert info["capacity_bytes"] == (sectors * tracks).sum() * 4096 * 100 * (1 + 0.6)
    rate = (sectors * tracks).sum() * 4096 / (TURN * (1.13 * tracks.sum() + 4 * (0.3 - 0.13)))
    assert info["sustained_bytes_per_s"]["outer"] == pytest.approx(rate, rel=3e-3)
    ours = dict(info["seek_curve"])
    for d, seconds in ours.items():
        if d >= 1:
            assert seconds == pytest.approx(true_access(d) - 0.15e-3, abs=max(30e-6, 0.03 * seconds))
    text = path.read_text("utf-8")
    assert "# declared" in text
    assert "points = [  # measured: +-" in text
    assert "nearest formula" in text


def test_angles_of_the_file_are_those_of_the_drive(whole: Probed, tmp_path: Path) -> None:
    """Reads of any addresses end at one angle from each other on both."""
    mine, truth = whole.write_drive(tmp_path / "drive.toml"), target(tmp_path, spec())
    lbas = np.random.default_rng(8).integers(0, whole.described["blocks"] // 8, 400) * 8
    ends = [
        np.array(replay.simulated(f, replay.Host()).read(lbas.tolist(), 8)[1]) / 1e9
        for f in (mine, truth.removeprefix("sim:"))
    ]
    apart = wrap((ends[0] - ends[1]) / TURN)
    assert np.quantile(np.abs(wrap(apart - np.median(apart))), 0.95) < 0.02


@pytest.mark.parametrize("late", [0.0, 0.02, 0.2])
def test_the_share_of_late_reads_is_that_of_the_target(late: float, whole: Probed, tmp_path: Path) -> None:
    assert whole.found is not None
    with probe.opened(target(tmp_path, spec()), "15 us", late, 0.0, 5) as session:
        far = np.random.default_rng(9).integers(0, whole.described["blocks"] // 8, 1500) * 8
        near = np.arange(1500) * 97 * 8
        session.read("test", np.concatenate([far, near]))
        share = seek.late_of(session, whole.geometry, whole.found.curve)
    assert share == pytest.approx(late, abs=3.5 * math.sqrt(late * (1 - late) / 2000) + 5e-4)


def test_policies_are_told_by_each_read_not_by_all_together() -> None:
    """With the one policy each read takes its time, with the other another read's."""
    rng = np.random.default_rng(10)
    times: dict[str, Any] = {}

    def read(step: str, lbas: list[int], blocks: list[int], **options: Any) -> Any:
        way = "wait_s" if "wait_s" in options else "at_s"
        times[way] = rng.exponential(5e-3, len(lbas))
        issued = np.array(options.get("at_s", np.zeros(len(lbas))))
        return issued * 1e9, (issued + times[way]) * 1e9, np.zeros(len(lbas))

    def simulate(values: dict[str, bool], trace: Any, way: str) -> Any:
        order = rng.permutation(len(times[way])) if values["read_on_arrival"] else slice(None)
        each = (times[way][order] * rng.normal(1, 0.05, len(times[way])) for _ in range(2))
        return np.concatenate(list(each))

    described = {"blocks": 10**8, "block_bytes": 512}
    session: Any = SimpleNamespace(read=read, described=described, sector_blocks=1)
    found = policies.measure(session, rng, simulate, 5e-3, 900)
    assert found.values["read_on_arrival"] is False
    assert "read_on_arrival" in found.told


@pytest.mark.parametrize("late", [0.02, 0.2])
def test_a_file_that_is_far_off_its_drive_is_said_to_be(late: float, whole: Probed, tmp_path: Path) -> None:
    """Seeks of twice the time: that is found by the replay, and other requests may be why."""
    assert whole.replay is not None
    assert "off the target" not in " ".join(whole.notes)
    assert whole.found is not None
    curve = whole.found.curve
    table = tuple((d, replace(v, value=2 * float(v.value))) for d, v in curve.table)
    slow = replace(whole.found, curve=replace(curve, table=table, formula={}, disturbed=late))
    probed = replace(whole, found=slow, notes=[])
    with probe.opened(target(tmp_path, spec()), "15 us", late, 0.0, 5) as session:
        plan._replay(session, probed, plan._Clock(session, 60.0, None))
    (note,) = probed.notes
    assert note.endswith("of the mean off the target")
    assert note.startswith("too noisy: ") == (late > timing.NOISY)


def test_differences_are_told_by_what_they_mean() -> None:
    given = drives.load("exos-x18")
    assert compare.differences(given, given) == []
    slower = json.loads(json.dumps(given))
    slower["geometry"]["rotation_speed"] = "7190 rpm"
    slower["queue"]["scheduler"] = "sptf"
    del slower["queue"]["scheduler_parameters"]
    found = {d.what: d for d in compare.differences(slower, given)}
    assert set(found) == {"turns per minute", "order of the queue"}
    assert found["turns per minute"].means == "the spindle is slower"
    assert found["turns per minute"].relative == pytest.approx(-10 / 7200)


@pytest.mark.parametrize("rule", ["fcfs", "sstf", "sptf"])
def test_batches_tell_the_rule_of_the_order(rule: str, whole: Probed, tmp_path: Path) -> None:
    assert whole.found is not None
    given = spec(queue={"depth": 32, "scheduler": rule})
    with probe.opened(target(tmp_path, given), "15 us", 0.02, 0.0, 5) as session:
        found = queue.agreement(session, whole.geometry, whole.found.curve, np.random.default_rng(3), batches=60)
    assert found[rule] > 0.9
    assert all(s < 0.75 for r, s in found.items() if r not in {rule, "look"}), found


@pytest.mark.parametrize("order", ["same", "alternate"])
@pytest.mark.parametrize("seed", range(10))
def test_seeks_have_no_gap_wherever_they_begin(order: str, seed: int, whole: Probed) -> None:
    """Near the end of a band the next track of its head is a round of heads further, or two."""
    g = whole.geometry
    heads = replace(g.order_of_heads, order=order)
    g = Geometry(g.found, heads, g.total, g.block, g.layout)
    session = SimpleNamespace(sector_blocks=8, described={"blocks": whole.described["blocks"], "fua": True})
    chosen = seek.pairs(session, g, np.random.default_rng(seed), 36)
    for inside in (False, True):
        at = [g.locate(np.array(c[:2])).cylinder for c in chosen if c[2] == inside]
        apart = np.array([1.0, *(abs(b - a) for a, b in at[1:]), CYLINDERS])
        assert np.max(apart[1:] / apart[:-1]) < 2.3, apart
        assert len(at) > 30


@pytest.mark.parametrize("rule", ["look", "c-look"])
def test_elevators_sweep_over_addresses_not_tracks(rule: str) -> None:
    """Two surfaces of one band each: the next address is often on a track far away."""
    at, downward = 0, False

    def read(step: str, lbas: list[int], *, together: bool) -> Any:
        nonlocal at, downward
        done, left = np.zeros(len(lbas)), list(range(len(lbas)))
        for now in range(len(lbas)):
            ahead = [i for i in left if (lbas[i] < at) == downward]
            if not ahead:  # LOOK turns, C-LOOK begins at the lowest address again
                downward = not downward and rule == "look"
                at, ahead = at if rule == "look" else -1, left
            best = min(ahead, key=lambda i: abs(lbas[i] - at))
            left.remove(best)
            at, done[best] = lbas[best], now * 1e7
        return None, done, np.zeros(len(lbas))

    def locate(lbas: Any) -> Any:
        return SimpleNamespace(cylinder=lbas % 50_000, head=lbas // 50_000)

    session = SimpleNamespace(read=read, described={"blocks": 100_000}, sector_blocks=1)
    curve = SimpleNamespace(turn_s=TURN, access_s=lambda d: 0.001 + d * 1e-7)
    shares = queue.agreement(session, SimpleNamespace(locate=locate), curve, np.random.default_rng(3))  # type: ignore[arg-type]
    assert shares[rule] == 1.0
    assert all(share < 0.9 for r, share in shares.items() if r != rule), shares


def test_a_queue_that_no_rule_fits_is_said_to_be_off(whole: Probed) -> None:
    """A file with twice the rates; an age limit that fits them worse is not taken."""
    assert whole.found is not None
    assert whole.found.queue is not None
    assert whole.found.queue.off == ()
    depths = whole.found.queue.depths

    def simulate(order: dict[str, Any], lbas: Any, depth: int) -> Any:
        limited = 3 if "age_limit" in order else 1
        done = np.arange(len(lbas)) / 200 * limited
        return np.concatenate([np.zeros(depth), done[:-depth]]), done + 1e-3

    starved = [(depths[0].lbas[:300], 0.01)]
    fitted = queue.fit(depths, {"fcfs": 0.4, "sstf": 0.3}, starved, simulate, 32)
    assert fitted.spec == {"depth": 32, "scheduler": "fcfs"}
    assert fitted.off[0].startswith("at depth 2 the file gives 200 reads/s for ")


@pytest.mark.parametrize(("segments", "ahead"), [(24, 300), (16, 0), (0, 0)])
def test_the_buffer_is_found(segments: int, ahead: int, whole: Probed, tmp_path: Path) -> None:
    given = spec(cache=cache(segments, ahead))
    with probe.opened(target(tmp_path, given), "15 us", 0.02, 0.0, 5) as session:
        found = buffer.measure(session, whole.geometry, TURN, np.random.default_rng(4))
    assert found.enabled.value is bool(segments)
    if segments:
        assert found.segments is not None
        assert found.segments.value == segments
        assert found.kind == ("limit" if ahead else "none")
        assert all(abs(k - ahead) <= ahead / 50 for _, k in found.read_ahead)
        assert found.hit_overhead_s is not None
        assert found.sector_s is not None
        # The usual lateness is part of what a host sees.
        assert float(found.hit_overhead_s.value) == pytest.approx(175e-6, abs=15e-6)
        assert float(found.sector_s.value) == pytest.approx(4096 / 600e6, rel=0.2)


def test_one_arm_is_one_actuator_and_never_idles(whole: Probed, tmp_path: Path) -> None:
    assert whole.found is not None
    with probe.opened(target(tmp_path, spec()), "15 us", 0.02, 0.0, 5) as session:
        found = actuators.measure(session, np.random.default_rng(5))
        idled = idle.measure(session, whole.geometry, whole.found.curve, np.random.default_rng(6), 24.0)
    assert found.number.value == 1
    assert float(found.ratio.low) > 1.0
    assert max(float(i.extra_s.value) for i in idled) == 0.0


def test_maps_of_heads_cover_the_drive_and_costs_are_those_measured(tmp_path: Path) -> None:
    done = command(
        "probe", "sim:wd-re3-2009", "--budget", "2 min", "--steps", "queue",
        "--map", tmp_path, "--compare", "exos-x18",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "io.cost.model: MAJ:MIN ctrl=user model=linear rbps=11" in done.stdout
    assert "heads: 6 against 18" in done.stdout
    maps = [(tmp_path / f"head-{h}.map").read_text("utf-8").splitlines()[4:] for h in range(6)]
    rows = [[line.split() for line in text] for text in maps]
    ends = {sum(int(size, 16) for _, size, _ in each) for each in rows}
    # The drive's capacity, in bytes; every band is bad in the map of its head alone.
    assert ends == {int(drives.load("wd-re3-2009")["geometry"]["capacity_blocks"]) * 512}
    for bands in zip(*rows, strict=True):
        assert [state for _, _, state in bands].count("-") == (bands[0][2] != "?")
    # Each map begins with the bands of one cycle of heads: one of them is bad.
    assert all([state for _, _, state in each[:6]].count("-") == 1 for each in rows)
