"""Windows of runs: what is recorded of drives, and the page that is made of it."""

import itertools
import json
import shutil
from fractions import Fraction

import numpy as np
import pytest
import view_oracle
from conftest import ROOT, command

import headstack
from headstack import _bridge
from headstack.show import view
from headstack.show.view import scene

EXAMPLE = ROOT / "examples" / "side-by-side.toml"
MS = 1_000_000


@pytest.fixture(scope="module")
def records():
    return view.record(EXAMPLE, at="2 s", length="300 ms", systems=["one arm", "two arms"])


@pytest.fixture(scope="module")
def whole():
    """The run without a record."""
    return headstack.run(EXAMPLE)


def test_commands_are_those_of_the_run(records, whole):
    """The run logs the same requests, at the same nanoseconds."""
    log = whole.requests
    for record in records:
        own = log[log["system"] == record["system"]]
        begin, end = record["from_ns"], record["until_ns"]
        own = own[(own["completion_ns"] > begin) & (own["arrival_ns"] <= end)]
        (drive,) = record["drives"]
        expected = {(r.arrival_ns, r.lba, r.blocks): (r.completion_ns, r.arm) for r in own.itertuples(index=False)}
        found = {(c["arrival_ns"], c["block"], c["blocks"]): (c["completion_ns"], c["arm"]) for c in drive["commands"]}
        assert len(found) > 30
        assert found.keys() == expected.keys()
        for key, got in found.items():
            # What is served after the window is not known in it.
            known = got[0] is not None
            assert got == expected[key] if known else expected[key][0] > end


def test_phases_fill_the_window(records):
    for record in records:
        (drive,) = record["drives"]
        assert len(drive["phases"]) == {"one arm": 1, "two arms": 2}[record["system"]]
        for phases in drive["phases"]:
            assert phases[0]["from_ns"] <= record["from_ns"] < phases[0]["to_ns"]
            assert phases[-1]["to_ns"] >= record["until_ns"]
            for one, next_one in itertools.pairwise(phases):
                assert one["to_ns"] == next_one["from_ns"]


def angle_of_head(drive, arm: int, head_set: int, t: int) -> float:
    described = drive["arms"][arm]
    angle = described["head_sets"][head_set]["angle"]
    return (view_oracle.platter(drive, described["unit"], t) - angle) % 1


def test_sectors_are_under_the_head_when_a_transfer_begins(records):
    """The place of a command is known from the layout, that of the head from the phases."""
    seen = [0, 0]
    for record in records:
        (drive,) = record["drives"]
        for c in drive["commands"]:
            if c["op"] != "read" or c["cache_hit"] or c["chosen_ns"] is None:
                continue
            if c["chosen_ns"] < record["from_ns"] or c["completion_ns"] > record["until_ns"]:
                continue
            begun = [
                p
                for p in drive["phases"][c["arm"]]
                if p["kind"] == "transfer"
                and p["work"] == "request"
                and c["chosen_ns"] <= p["from_ns"] <= c["completion_ns"]
            ]
            first, place = begun[0], c["place"]
            track = first["track"]
            assert (track["cylinder"], track["head"]) == (place["cylinder"], place["head"])
            under = angle_of_head(drive, c["arm"], track["head_set"], first["from_ns"])
            off = (under - place["angle"] + 0.5) % 1 - 0.5
            # A nanosecond is 1.2e-7 turns; a head counts as in time up to 2e-6 turns later.
            assert abs(off) < 3e-6, (c, first)
            # The command's sectors pass in the time of their angle.
            if len(begun) == 1:
                turns = Fraction(first["to_ns"] - first["from_ns"]) / Fraction(drive["rotations"][0]["period_ns"])
                assert float(turns) == pytest.approx(place["length"], rel=1e-3)
            seen[len(drive["arms"]) - 1] += 1
    assert min(seen) > 10


def test_arms_of_two_stand_half_a_turn_apart(records):
    """From the description: D1A2S1H1 spaces its arms evenly."""
    (drive,) = records[1]["drives"]
    angles = [arm["head_sets"][0]["angle"] for arm in drive["arms"]]
    assert (angles[1] - angles[0]) % 1 == pytest.approx(0.5)


def test_power_is_that_of_the_phases(records):
    """Watts by state are in the description; with several arms they depend on how many move."""
    info = _bridge.call("drive_info", json.dumps(headstack.drives.load("barracuda-es-750")))
    states = info["power_w"]
    (drive,) = records[0]["drives"]
    begin, end = records[0]["from_ns"], records[0]["until_ns"]
    kinds = {"settle": "seek", "rotation": "rotation", "transfer": "transfer", "seek": "seek"}
    joules = 0.0
    for p in drive["phases"][0]:
        ns = min(p["to_ns"], end) - max(p["from_ns"], begin)
        joules += ns * 1e-9 * float(states[kinds.get(p["kind"], "idle")])
    samples = drive["samples"]
    measured = sum(samples["power_w"]) * samples["step_ns"] * 1e-9
    assert measured == pytest.approx(joules, rel=1e-6)


def test_the_page_is_one_small_file(records, tmp_path):
    page = view.write(records, tmp_path / "v.html", title="a <b> & c")
    text = page.read_text()
    assert len(text) < 1 << 20
    assert "a &lt;b&gt; &amp; c" in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text


def test_results_find_their_experiment(tmp_path, monkeypatch):
    """The traces of results are looked for beside them, and must be the same files."""
    trace = "# time,op,lba,blocks\n" + "".join(f"{i / 100},R,{i * 7919 % 100000 * 8},8\n" for i in range(200))
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "t.csv").write_text("time_s,op,lba,blocks\n" + trace.split("\n", 1)[1])
    experiment = folder / "e.toml"
    experiment.write_text('[workload]\ntrace = "t.csv"\n[[system]]\nname = "a"\ndrive = "barracuda-es-750"\n')
    monkeypatch.chdir(tmp_path)
    result = headstack.run(experiment, out=tmp_path / "out")
    of_result = view.record(result, at=0.5, length=0.1)
    of_file = view.record(experiment, at="0.5 s", length="100 ms")
    assert of_result[0]["drives"] == of_file[0]["drives"]
    assert view.record(tmp_path / "out", at=0.5, length=0.1) == of_result
    # A page is written by the result itself.
    assert result.view(tmp_path / "p.html", at=0.5, length=0.1).stat().st_size > 10_000
    with (folder / "t.csv").open("a") as file:
        file.write("3.0,R,0,8\n")
    with pytest.raises(headstack.ConfigError, match=r"t\.csv: got \d+ bytes, need the \d+ that"):
        view.record(result, at=0.5, length=0.1)
    shutil.rmtree(folder)
    with pytest.raises(headstack.ConfigError, match=r"t\.csv: got no such file.*--base"):
        view.record(result, at=0.5, length=0.1)


def test_a_seed_and_a_second_workload_stay_the_same(tmp_path):
    """Narrowing a run to one system and workload changes nothing in it."""
    experiment = tmp_path / "e.toml"
    load = 'synthetic = { n_requests = 200, size = "4 KiB", rate = "90/s", footprint = "9 GB" }\n'
    system = 'drive = "barracuda-es-750"\ncount = 2\norganisation = "raid0"\n'
    experiment.write_text(
        f'[run]\nseed = 5\n[[workload]]\nname = "x"\n{load}[[workload]]\nname = "y"\n{load}'
        f'[[system]]\nname = "a"\n{system}[[system]]\nname = "b"\nseed = 9\n{system}'
    )
    result = headstack.run(experiment)
    for name in ("a", "b"):
        (record,) = view.record(experiment, length="1 s", systems=[name], workload="y")
        assert (record["system"], record["workload"]) == (name, "y")
        log = result.requests
        own = log[(log["system"] == name) & (log["workload"] == "y")]
        ends = {c["completion_ns"] for d in record["drives"] for c in d["commands"]}
        # Each request ends with its last part.
        of_window = own[(own["arrival_ns"] <= record["until_ns"])]["completion_ns"]
        assert len(of_window) > 50
        assert set(of_window) <= ends


def test_a_warm_up_after_the_window_does_not_matter(tmp_path):
    """Warm-ups are left out of statistics alone, so that the drives do the same without one."""
    experiment, warmed = tmp_path / "e.toml", tmp_path / "w.toml"
    experiment.write_text(EXAMPLE.read_text())
    warmed.write_text(EXAMPLE.read_text().replace("[workload]\n", "[workload]\nwarm_up = 3000\n", 1))
    options = {"at": "1 s", "length": "50 ms", "systems": ["one arm"]}
    assert view.record(warmed, **options) == view.record(experiment, **options)


def test_a_zone_fails_in_a_view_as_in_the_run(tmp_path):
    """Commands to the zone that has failed end as errors, those to others and before it do not."""
    rows = [(i / 100, i // 2 * 8 + i % 2 * 524288) for i in range(20)]
    trace = "".join(f"{t},W,{lba},8\n" for t, lba in rows)
    (tmp_path / "t.csv").write_text("time_s,op,lba,blocks\n" + trace)
    experiment = tmp_path / "e.toml"
    experiment.write_text(
        '[run]\nallowed_errors = 1.0\n[workload]\ntrace = "t.csv"\n[[system]]\ndrive = "exos-x18"\n'
        'set = { mapping = { model = "zoned", conventional_zones = 0 } }\n'
        '[[system.change]]\nat = "95 ms"\nfail_zone = { block = 524288, becomes = "read-only" }\n'
    )
    (record,) = view.record(experiment, at=0, length="500 ms")
    (drive,) = record["drives"]
    failed = {(c["arrival_ns"], c["block"]) for c in drive["commands"] if c["error"]}
    assert failed == {(round(t * 1e9), lba) for t, lba in rows if t > 0.095 and lba >= 524288}
    assert len(drive["commands"]) == len(rows)


def test_writes_of_a_log_have_no_place_before_they_are_served():
    (log,) = view.record(EXAMPLE, at="1 s", systems=["writes to a log"])
    (drive,) = log["drives"]
    assert drive["moves_writes"]
    places = {c["op"]: c["place"] is not None for c in drive["commands"]}
    assert places == {"read": True, "write": False}


def test_the_command_writes_a_page(tmp_path):
    out = tmp_path / "v.html"
    done = command("view", EXAMPLE, "--at", "1s", "--for", "50ms", "--system", "1", "-o", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert str(out) in done.stdout
    scene = out.read_text().split('id="scene">', 1)[1].split("</script>", 1)[0]
    assert [d["system"] for d in json.loads(scene)["drives"]] == ["two arms"]


def test_the_busiest_drive_is_shown_and_a_late_window_refused_without_a_run(tmp_path, monkeypatch):
    rows = [(k, 2 if k % 4 else 1, 800 * k) for k in range(40)]
    text = "time_us,device,lba,blocks,op\n"
    text += "".join(f"{20_000 * k},{device},{lba},8,R\n" for k, device, lba in rows)
    path = tmp_path / "t.csv"
    path.write_text(text)
    run = headstack.run(workload={"trace": str(path)}, systems=[{"drive": "barracuda-es-750", "count": 4}])
    records = view.record(run, at="100 ms")
    assert scene.of(records[0])["number"] == 2
    # The result knows when its run ended.
    monkeypatch.setattr(_bridge, "call", lambda *_: pytest.fail("the run was repeated"))
    with pytest.raises(headstack.ConfigError, match=r"at: got 1\.5 s, need a time before the last"):
        view.record(run, at=1.5, length=0.2)


def test_scaled_rotation_has_no_picture(tmp_path):
    experiment = tmp_path / "e.toml"
    experiment.write_text(
        EXAMPLE.read_text().replace(
            'name = "one arm"\n', 'name = "one arm"\nset = { "positioning.rotation_scale" = 0.5 }\n'
        )
    )
    with pytest.raises(headstack.ConfigError, match=r"rotation_scale.*not supported"):
        view.record(experiment, systems=["one arm"])


def test_the_core_is_asked_in_its_own_words():
    """A window that the experiment does not have is refused by the core as well."""
    with pytest.raises(headstack.ConfigError, match="system: got 9, need a number below"):
        _bridge.call(
            "record_window",
            str(EXAMPLE),
            None,
            [str(d) for d in headstack.drives.drive_dirs()],
            None,
            False,
            {},
            (9, 0),
            (0, 1),
        )


def test_samples_end_with_the_window(records):
    for record in records:
        samples = record["drives"][0]["samples"]
        count = len(samples["unwritten_blocks"])
        assert len(samples["power_w"]) == count - 1
        last = samples["from_ns"] + (count - 1) * samples["step_ns"]
        assert record["until_ns"] <= last < record["until_ns"] + samples["step_ns"]
        assert np.all(np.array(samples["power_w"]) > 0)
