"""Results describe themselves: what was simulated, by operation, and with what confidence."""

import hashlib
import json
import os
import re
import threading
import tomllib
from pathlib import Path

import numpy as np
import pytest
import tomli_w
from conftest import ROOT, SHARED

import headstack
from headstack import ConfigError, cli
from headstack.results import warned
from headstack.show import table
from headstack.show.report import about as report_about

BARE = """
name = "bare"
[geometry]
rotation_speed = "7200 rpm"
surfaces = 2
cylinders = 100000
zones = [{ first_cylinder = 0, last_cylinder = 99999, sectors_per_track = 1000 }]
[seek]
model = "constant"
time = "5 ms"
"""

SMALL = """
[workload]
synthetic = { n_requests = 400, rate = "50/s", footprint = "10 GB" }
[[system]]
drive = "barracuda-es-750"
"""


def write(folder: Path, text: str, name: str = "experiment.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def run(folder: Path, text: str, **options: object) -> headstack.Result:
    return headstack.run(write(folder, text), **options)


def everything(result: headstack.Result) -> str:
    return result.to_json(curves=True)


# --- the experiment that runs again ---


def again(result: headstack.Result, folder: Path) -> headstack.Result:
    return headstack.run(write(folder, result.experiment_toml(), "again.toml"))


@pytest.mark.parametrize("name", ["demo", "dual-actuator", "synthetic", "websearch"])
def test_an_example_runs_again_from_its_result(name, tmp_path):
    document = tomllib.loads((ROOT / "examples" / f"{name}.toml").read_text(encoding="utf-8"))
    trace = document["workload"].get("trace")
    if trace is not None:
        source = SHARED.joinpath(*Path(trace).parts[3:]) if ".." in trace else ROOT / "examples" / trace
        if not source.exists():
            pytest.skip(f"no {source}")
        document["workload"]["trace"] = str(source)
    document["run"] = {"max_requests": 3000}
    first = run(tmp_path, tomli_w.dumps(document))
    second = again(first, tmp_path)
    assert everything(second) == everything(first)
    assert second.document["run_id"] == first.document["run_id"]
    assert first.document["defaults"]


EXPERIMENTS = {
    "layers": """
[workload]
synthetic = { n_requests = 500, rate = "80/s", footprint = "10 GB", local = 0.2 }
[[system]]
name = "degraded"
drive = "barracuda-es-750"
count = 5
organisation = "concatenate"
layers = [{ name = "host-queue", nr_requests = 64 }, { name = "raid5", gone = [3] }, "host-queue"]
""",
    "drives that differ": """
[[workload]]
name = "open"
synthetic = { n_requests = 300, interarrival = "10 ms", footprint = "10 GB", reads = 1 }
[[workload]]
synthetic = { n_requests = 300, arrivals = "closed", footprint = "10 GB" }
warm_up = "1 s"
[[system]]
drives = [{ drive = "barracuda-es-750", count = 2 }, \
{ drive = "cheetah-10k-19g", queue_depth = 8, set = { "queue.age_limit" = "1 s" } }]
scheduler = "aged-sptf"
queue_depth = 4
set = { cache = { segments = 4 } }
organisation = { name = "raid0" }
[cost]
years = 3
""",
    "changes": """
[workload]
synthetic = { n_requests = 500, rate = "50/s", footprint = "10 GB", \
size = { distribution = "uniform", min = "4 KiB", max = "64 KiB" } }
past_end = "wrap"
[[system]]
drive = "constellation-es3-4tb"
count = 2
organisation = "raid0"
seed = 4
scheduler = "fcfs"
[[system.change]]
at = "2 s"
queue_depth = 8
[run]
seed = 3
exact_limit = 100
threads = 2
""",
    "a drive of little": """
[workload]
synthetic = { n_requests = 300, rate = "50/s" }
[[system]]
drive = "bare.toml"
""",
}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_runs_again_from_its_result(name, tmp_path):
    write(tmp_path, BARE, "bare.toml")
    first = run(tmp_path, EXPERIMENTS[name])
    assert everything(again(first, tmp_path)) == everything(first)


def test_python_tables_run_again_from_their_result(tmp_path):
    drive = tomllib.loads(BARE)
    first = headstack.run(
        workload={"synthetic": {"n_requests": 200, "rate": "50/s"}},
        # A value removed by null cannot be removed in TOML: the file contains the whole drive.
        systems=[{"drive": drive, "cache": {"enabled": True, "segments": 2}, "set": {"cache": None}}],
    )
    assert first.document["systems"][0]["drive"][0]["description"]["cache"]["enabled"] is False
    second = again(first, tmp_path)
    for key in ("response_time_s", "drives", "components_s"):
        assert second.document["systems"][0][key] == first.document["systems"][0][key]


def test_what_nobody_gave_is_listed_until_somebody_gives_it(tmp_path):
    write(tmp_path, BARE, "bare.toml")
    text = EXPERIMENTS["a drive of little"]
    first = run(tmp_path, text)
    defaults = first.document["defaults"]
    for key in (
        "system.0.scheduler",
        "system.0.queue_depth",
        "system.0.organisation",
        "system.0.cache.enabled",
        "run.seed",
        "cost.pue",
        "workload.0.synthetic.reads",
    ):
        assert key in defaults
    assert "workload.0.synthetic.rate" not in defaults
    for key in defaults:
        value = first.document["experiment"]
        for part in key.split("."):
            value = value[int(part)] if isinstance(value, list) else value[part]
    given = run(tmp_path, text + 'scheduler = "sptf"\ncache = { enabled = true }\n')
    gone = set(defaults) - set(given.document["defaults"])
    assert gone == {"system.0.scheduler", "system.0.cache.enabled"}
    # A value that was changed in the written file is no longer a default.
    edited = first.experiment_toml().replace('scheduler = "fcfs"', 'scheduler = "look"')
    changed = run(tmp_path, edited)
    assert set(defaults) - set(changed.document["defaults"]) == {"system.0.scheduler"}


def test_parameters_of_models_and_layers_are_filled_in_and_marked(tmp_path):
    result = run(tmp_path, EXPERIMENTS["layers"])
    (system,) = result.document["experiment"]["system"]
    above, raid, below = system["layers"]
    # As the layers' documentation has them, after Linux: twice the depth of 32 tags; md's chunk.
    assert (above["nr_requests"], below["nr_requests"]) == (64, 64)
    assert (below["places"], below["elevator"]) == ("blk-mq", "mq-deadline")
    assert below["elevator_parameters"]["fifo_batch"] == 16
    assert (raid["chunk"], raid["layout"], raid["gone"]) == ("524288 B", "left-symmetric", [3])
    marked = {k for k in result.document["defaults"] if k.startswith("system.0.layers.")}
    assert "system.0.layers.0.nr_requests" not in marked
    assert "system.0.layers.1.gone" not in marked
    assert {
        "system.0.layers.2.nr_requests",
        "system.0.layers.2.elevator_parameters.fifo_batch",
        "system.0.layers.1.chunk",
    } <= marked
    aged = run(tmp_path, SMALL + 'scheduler = "aged-sptf"\n').document
    parameters = aged["experiment"]["system"][0]["scheduler_parameters"]
    assert parameters == {"weight": 0.006, "estimate_deviation": "0 ms"}
    assert "system.0.scheduler_parameters.weight" in aged["defaults"]


def test_a_value_of_a_layer_that_was_filled_in_decides_as_if_it_were_given(tmp_path):
    text = EXPERIMENTS["layers"]
    first = run(tmp_path, text)
    written = first.experiment_toml()
    assert "fifo_batch = 16" in written
    edited = run(tmp_path, written.replace("fifo_batch = 16", "fifo_batch = 1"))
    key = "system.0.layers.2.elevator_parameters.fifo_batch"
    assert key in first.document["defaults"]
    assert key not in edited.document["defaults"]
    assert edited.document["run_id"] != first.document["run_id"]


def test_a_drive_in_the_experiment_is_filled_in_and_marked(tmp_path):
    drive = tomllib.loads(BARE) | {"power": {"voice_coil": "5 W"}}
    first = headstack.run(workload={"synthetic": {"n_requests": 200, "rate": "50/s"}}, systems=[{"drive": drive}])
    own = first.document["experiment"]["system"][0]["drive"]
    # The watts of the profile "main", see docs/models/power.md.
    assert (own["power"]["spindle"], own["power"]["voice_coil"]) == ("6.24 W", "5 W")
    defaults = first.document["defaults"]
    assert "system.0.drive.power.spindle" in defaults
    assert "system.0.drive.power.voice_coil" not in defaults
    for key in defaults:
        value = first.document["experiment"]
        for part in key.split("."):
            value = value[int(part)] if isinstance(value, list) else value[part]
    assert everything(again(first, tmp_path)) == everything(first)


def test_threads_and_logs_do_not_change_the_run_id(tmp_path):
    first = run(tmp_path, SMALL).document
    same = run(tmp_path, SMALL + "[run]\nthreads = 1\n", log_requests=False).document
    assert first["run_id"] == same["run_id"]
    other = run(tmp_path, SMALL, seed=1).document
    assert first["run_id"] != other["run_id"]
    assert "run.seed" in first["defaults"]
    assert "run.seed" not in other["defaults"]
    assert not {"date", "command"} & set(first)


# --- inputs ---


TRACE = "".join(f"{i * 0.02:.2f},{'RW'[i % 2]},{i * 8192},4096\n" for i in range(100))
CSV = '[workload]\ntrace = "{}"\nformat = "csv"\n' + SMALL[SMALL.index("[[system]]") :]


def test_inputs_have_size_and_hash(tmp_path):
    header = "time_s,op,offset_bytes,size_bytes\n"
    lines = header + "".join(f"{i * 0.02},read,{i * 8192},4096\n" for i in range(100))
    write(tmp_path, lines, "day.csv")
    write(tmp_path, BARE, "bare.toml")
    text = '[workload]\ntrace = "day.csv"\n[[system]]\ndrive = "bare.toml"\n'
    text += '[[system]]\ndrive = "barracuda-es-750"\n'
    result = run(tmp_path, text)
    found = {i.get("path") or i.get("name"): i for i in result.document["inputs"]}
    drive = ROOT / "drives" / "barracuda-es-750.toml"
    files = {"day.csv": tmp_path / "day.csv", "bare.toml": tmp_path / "bare.toml"}
    for name, path in {**files, "barracuda-es-750": drive}.items():
        content = path.read_bytes()
        assert found[name]["bytes"] == len(content)
        assert found[name]["sha256"] == hashlib.sha256(content).hexdigest()
    assert found["day.csv"]["format"] == "csv"
    assert "workload.0.format" in result.document["defaults"]
    for system in result.document["systems"]:
        (own,) = system["drive"]
        assert own["sha256"] == found[{"bare": "bare.toml"}.get(own["name"], own["name"])]["sha256"]
    one_more = lines + "3,read,0,4096\n"
    write(tmp_path, one_more, "day.csv")
    assert run(tmp_path, text).document["run_id"] != result.document["run_id"]


def test_a_trace_from_a_pipe_has_no_hash(tmp_path):
    pipe = tmp_path / "day.csv"
    os.mkfifo(pipe)
    lines = "time_s,op,offset_bytes,size_bytes\n0.1,read,0,4096\n0.2,read,8192,4096\n"
    writer = threading.Thread(target=pipe.write_text, args=(lines,), daemon=True)
    writer.start()
    result = run(tmp_path, CSV.format("day.csv"))
    writer.join(timeout=10)
    (trace,) = [i for i in result.document["inputs"] if i["kind"] == "trace"]
    assert (trace["bytes"], trace["sha256"]) == (None, None)
    assert result.document["systems"][0]["n_requests"] == 2


def test_a_drive_says_what_its_file_leaves_out(tmp_path):
    write(tmp_path, BARE, "bare.toml")
    text = EXPERIMENTS["a drive of little"]
    (bare,) = run(tmp_path, text).document["systems"][0]["drive"]
    assert bare["missing"] == ["positioning", "cache", "overhead", "link", "queue", "power", "cost"]
    assert bare["description"]["geometry"]["cylinders"] == 100_000
    write(tmp_path, BARE + '[power]\nspindle = "5 W"\n[queue]\ndepth = 4\n', "bare.toml")
    result = run(tmp_path, text + "cache = { enabled = true }\n")
    (more,) = result.document["systems"][0]["drive"]
    assert more["missing"] == ["positioning", "overhead", "link", "cost"]
    assert "system.0.queue_depth" not in result.document["defaults"]


def test_a_part_that_is_there_in_part_is_marked_by_its_values(tmp_path, capsys):
    file = write(
        tmp_path,
        BARE + '[power]\nspindle = "5 W"\nvoice_coil = "6 W"\n[queue]\ndepth = 4\n[cache]\nsegments = 4\n',
        "bare.toml",
    )
    document = run(tmp_path, EXPERIMENTS["a drive of little"]).document
    (drive,) = document["systems"][0]["drive"]
    assert {"power.electronics", "power.access", "queue.scheduler", "cache.enabled"} <= set(drive["defaults"])
    assert not {"power.spindle", "queue.depth", "cache.segments"} & set(drive["defaults"])
    (group,) = [g for g in warned.of_document(document) if g.name == "default-values"]
    (line,) = group.lines
    assert line.startswith(table.DEFAULT)
    for said in (
        "power.electronics (taken: 3.06 W)",
        "power.access (taken: 3.07 W)",
        "queue.scheduler (taken: fcfs)",
        "cache.enabled (taken: no)",
    ):
        assert said in line
    assert "spindle" not in line
    (cell,) = [r[-1] for r in table.rows(document, [c for c in table.COLUMNS if "power" in c.title])]
    assert cell.endswith(table.DEFAULT)
    assert cli.main(["drives", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "power.electronics (taken: 3.06 W)" in printed
    rows = {line.split()[0]: line for line in printed.splitlines() if line.startswith("power.")}
    assert "3.06 W" in rows["power.electronics"]
    assert "default" in rows["power.electronics"]
    assert "default" not in rows["power.spindle"]
    (section,) = report_about.systems(document)
    (part,) = [p for p in section.drives[0].parts if p.title == "power"]
    marked = {fact.label: fact.default for fact in part.facts}
    assert "power.electronics" in section.drives[0].missing
    assert marked["electronics"]
    assert not marked["spindle"]


def test_power_from_a_default_is_marked_in_the_table(tmp_path):
    write(tmp_path, BARE, "bare.toml")
    text = EXPERIMENTS["a drive of little"] + '[[system]]\ndrive = "barracuda-es-750"\n'
    document = run(tmp_path, text).document
    columns = table.columns(document)
    power = [c.title for c in columns].index("power W")
    bare, full = (row[power] for row in table.rows(document, columns))
    assert bare.endswith(table.DEFAULT)
    assert not full.endswith(table.DEFAULT)
    (group,) = [g for g in warned.of_document(document) if g.name == "default-values"]
    (line,) = group.lines
    assert line.startswith(table.DEFAULT)
    assert "bare" in line
    assert "power" in line
    assert "queue" in line


# --- by operation ---


@pytest.mark.parametrize("exact", [True, False])
def test_operations_are_those_of_the_request_log(tmp_path, exact):
    limit = "" if exact else "exact_limit = 500\n"
    text = f"""
[workload]
trace = "{ROOT}/examples/traces/pgbench.csv.zst"
warm_up = 300
[[system]]
drive = "cheetah-10k-19g"
count = 2
organisation = "concatenate"
[run]
max_requests = 8000
{limit}"""
    result = run(tmp_path, text)
    (system,) = result.document["systems"]
    log = result.requests
    assert set(system["operations"]) == set(log["op"]) == {"read", "write", "flush"}
    for op, rows in log.groupby("op"):
        got = system["operations"][op]
        assert got["n_requests"] == len(rows)
        assert got["n_errors"] == 0
        times = rows["response_time_s"].to_numpy()
        check_summary(got["response_time_s"], times, exact)
        check_summary(got["service_time_s"], times - rows["queue_s"].to_numpy(), exact)
        rate = len(rows) / system["duration_s"]
        assert got["throughput_iops"] == pytest.approx(rate)
        bandwidth = rows["blocks"].sum() * 512 / system["duration_s"]
        assert got["throughput_bytes_per_s"] == pytest.approx(bandwidth)
    check_summary(system["response_time_s"], log["response_time_s"].to_numpy(), exact)
    sums = [o["n_requests"] for o in system["operations"].values()]
    assert sum(sums) == system["n_requests"]
    columns, rows = table.operations(result.document)
    assert [row[1] for row in rows] == ["read", "write", "flush", "all"]
    assert "p99.99 ms" in [c.title for c in columns]


def check_summary(got, times, exact):
    assert got["mean"] == pytest.approx(times.mean(), abs=1e-12)
    assert got["max"] == pytest.approx(times.max(), abs=1e-12)
    for key, q in {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}.items():
        want = np.quantile(times, q, method="inverted_cdf")
        # A histogram of three significant figures.
        assert got[key] == pytest.approx(want, rel=1e-9 if exact else 1.1e-3, abs=1e-9)


def test_utilisation_is_the_share_of_time_at_work(tmp_path):
    write(tmp_path, BARE, "bare.toml")
    (system,) = run(tmp_path, EXPERIMENTS["a drive of little"]).document["systems"]
    parts = system["components_s"]
    busy = sum(parts[k] for k in ("seek", "rotation", "transfer")) * system["n_requests"]
    assert system["utilisation"] == pytest.approx(busy / system["duration_s"], rel=1e-6)
    assert system["utilisation_background"] == 0
    assert system["drives"][0]["utilisation"] == system["utilisation"]


def test_read_ahead_is_background_utilisation(tmp_path):
    (system,) = run(tmp_path, SMALL).document["systems"]
    assert 0 < system["utilisation_background"] < system["utilisation"] < 1


# --- confidence, and runs without a steady state ---


QUEUE = """
[workload]
synthetic = {{ n_requests = {n}, {arrivals}, footprint = "100 GB" }}
[[system]]
drive = "bare.toml"
[run]
seed = {seed}
"""


def queue(folder, n, arrivals, seed=0):
    write(folder, BARE, "bare.toml")
    text = QUEUE.format(n=n, arrivals=arrivals, seed=seed)
    return run(folder, text)


def test_confidence_intervals_hold_the_mean_of_the_closed_form(tmp_path):
    held = 0
    for seed in range(10):
        result = queue(tmp_path, 20_000, 'rate = "40/s"', seed)
        (system,) = result.document["systems"]
        service = result.requests["response_time_s"] - result.requests["queue_s"]
        # Pollaczek and Khinchine: service times do not depend on arrivals, which are Poisson.
        load = 40 * service.mean()
        want = service.mean() + 40 * (service**2).mean() / (2 * (1 - load))
        low, high = system["confidence_s"]["mean"]
        assert low < system["response_time_s"]["mean"] < high
        held += low <= want <= high
    assert held >= 8
    assert system["confidence_s"]["method"] == "batch means, 20 batches, 95 %"
    assert set(system["operations"]["read"]["confidence_s"]) == {"mean", "method"}


def test_few_requests_have_no_confidence_interval(tmp_path):
    (system,) = run(tmp_path, SMALL).document["systems"]
    assert system["confidence_s"] is None


# The drive serves about 109 requests per second.
@pytest.mark.parametrize(
    ("arrivals", "n", "overloaded"),
    [
        ('rate = "150/s"', 5_000, True),
        ('rate = "10000/s"', 5_000, True),
        ('rate = "98/s"', 5_000, False),
        ('rate = "98/s"', 500, False),
        ('arrivals = "closed", outstanding = 64', 5_000, False),
        ('phases = [{ duration = "2 s", rate = "300/s" }, { duration = "8 s", rate = "20/s" }]', 5_000, False),
    ],
)
def test_a_system_that_cannot_keep_up_is_flagged(tmp_path, arrivals, n, overloaded):
    document = queue(tmp_path, n, arrivals).document
    (system,) = document["systems"]
    columns = table.columns(document)
    (row,) = table.rows(document, columns)
    cell = row[[c.title for c in columns].index("mean ms")]
    assert cell.endswith(table.OVERLOADED) is overloaded
    lines = [line for g in warned.of_document(document) for line in g.lines if g.name == "overloaded"]
    assert len(lines) == overloaded
    assert all(line.startswith(table.OVERLOADED) for line in lines)
    if overloaded:
        assert system["overloaded"]["why"] in lines[0]
        assert system["confidence_s"] is None
    else:
        assert system["overloaded"] is None


def test_prices_of_different_kinds_have_columns_of_their_own(tmp_path):
    text = SMALL + '[[system]]\ndrive = "exos-2x18-sas"\n'
    document = run(tmp_path, text).document
    kinds = [s["cost_usd"]["price_kind"] for s in document["systems"]]
    assert kinds == ["components", "price"]
    columns = table.columns(document)
    titles = [c.title for c in columns]
    first, second = table.rows(document, columns)
    year = tomllib.loads((ROOT / "drives" / "exos-2x18-sas.toml").read_text("utf-8"))["year"]
    # What a shop asked was asked in some year: prices of different years do not compare either.
    parts, retail = titles.index("drives $ (material)"), titles.index(f"drives $ (retail, {year})")
    assert "drives $" not in titles
    assert (first[retail], second[parts]) == ("–", "–")  # noqa: RUF001
    assert first[parts] != "–" != second[retail]  # noqa: RUF001
    alone = run(tmp_path, SMALL).document
    assert "drives $" in [c.title for c in table.columns(alone)]
    assert "drives $: material" in table.note(alone)


# --- runs without a result ---


#: Load, further keys of the workload and of the system, and what is told of which key.
NOT_USED = [
    ('arrivals = "closed", rate = "9/s"', "", "", "workload[0].synthetic.rate"),
    ('arrivals = "closed", interarrival = "9 ms"', "", "", "workload[0].synthetic.interarrival"),
    ('rate = "9/s", outstanding = 3', "", "", "workload[0].synthetic.outstanding"),
    ('rate = "9/s", think = "3 ms"', "", "", "workload[0].synthetic.think"),
    ('rate = "9/s"', "arrivals = { closed = { outstanding = 2 } }", "",
     "workload[0].synthetic.rate"),
    ('interarrival = "9 ms", arrivals = "constant"', "", "", "workload[0].synthetic.arrivals"),
    ('arrivals = "closed"', "time_scale = 2", "", "workload[0].time_scale"),
    ('arrivals = "closed"', "start_at_zero = true", "", "workload[0].start_at_zero"),
    *(('rate = "9/s"', f"{key} = {value}", "", f"workload[0].{key}") for key, value in (
        ("on_error", '"skip"'), ("order", '"strict"'), ("format", '"spc"'),
        ("device_blocks", 1000))),
    ('rate = "9/s", local_distance = { deviation = "1 MB" }', "", "",
     "workload[0].synthetic.local_distance"),
    ('rate = "9/s", sequential_interarrival = "1 ms"', "", "",
     "workload[0].synthetic.sequential_interarrival"),
    ('rate = "9/s"', "", 'scheduler = "look"\nset = { "queue.scheduler" = "sptf" }',
     "system[0].scheduler"),
    ('rate = "9/s"', "", "queue_depth = 2\nset = { queue = { depth = 4 } }",
     "system[0].queue_depth"),
    ('rate = "9/s"', "", 'change = [{ at = "1 h", queue_depth = 2 }]',
     "1 of 1 changes were due after the last completion"),
]  # fmt: skip


@pytest.mark.parametrize(("synthetic", "workload", "system", "key"), NOT_USED)
def test_keys_that_are_not_used_are_told(tmp_path, synthetic, workload, system, key):
    text = f"""
[workload]
synthetic = {{ n_requests = 50, {synthetic} }}
{workload}
[[system]]
drive = "barracuda-es-750"
{system}
"""
    first = run(tmp_path, text)
    (found,) = of_keys(first)
    assert key in found.text
    # Values that were filled in do not count as given.
    assert everything(again(first, tmp_path)) == everything(first)


def of_keys(result: headstack.Result) -> list[warned.Warned]:
    return [w for w in result.warnings if w.name in ("unused-key", "late-changes")]


def test_keys_that_every_listed_drive_has_itself_are_told(tmp_path):
    text = """
[workload]
synthetic = { n_requests = 50, rate = "9/s", devices = 2 }
[[system]]
scheduler = "look"
queue_depth = 3
[[system.drives]]
drive = "barracuda-es-750"
scheduler = "fcfs"
[[system.drives]]
drive = "cheetah-10k-19g"
scheduler = "sptf"
"""
    first = run(tmp_path, text)
    (found,) = of_keys(first)
    assert found.text.startswith("system[0].scheduler")
    assert everything(again(first, tmp_path)) == everything(first)


def test_nothing_is_told_of_keys_that_are_used(tmp_path):
    for text in [SMALL, *EXPERIMENTS.values()]:
        write(tmp_path, BARE, "bare.toml")
        assert of_keys(run(tmp_path, text)) == []


PAST_END = """
[workload]
synthetic = { n_requests = 400, rate = "50/s", footprint = "1000 GB" }
[[system]]
name = "too small"
drive = "barracuda-es-750"
"""


def test_many_failed_requests_are_an_error_unless_allowed(tmp_path, capsys):
    path = write(tmp_path, PAST_END)
    assert cli.main(["run", str(path)]) == 2
    message = capsys.readouterr().err
    assert "workload[0]: got a footprint of 1 TB on device 0 of 750 GB" in message
    assert re.search(r'in system "too small", where 2\d\.\d % of the requests fail, need a workload within', message)
    assert "run.allowed_errors" in message
    (system,) = run(tmp_path, PAST_END + "[run]\nallowed_errors = 0.5\n").document["systems"]
    assert 0.15 < system["n_errors"] / system["n_requests"] < 0.35
    with pytest.raises(ConfigError, match=r"run\.allowed_errors: got 1\.5, need 0 to 1"):
        run(tmp_path, PAST_END + "[run]\nallowed_errors = 1.5\n")


def test_failures_that_the_experiment_asks_for_are_no_error(tmp_path):
    text = SMALL + "\n[[system.change]]\nat = '1 s'\nfail = {}\n"
    (system,) = run(tmp_path, text).document["systems"]
    assert system["n_errors"] / system["n_requests"] > 0.5


def test_the_summary_has_a_column_for_each_number(tmp_path):
    summary = run(tmp_path, SMALL).summary_wide
    for column in ("read_response_time_p99_s", "write_n_requests", "utilisation", "price_kind"):
        assert column in summary.columns
    assert not [c for c in summary.columns if isinstance(summary[c].iloc[0], dict | list)]
    json.dumps(summary.to_dict())


def test_marks_of_overload_stand_at_each_operation_and_beside_numbers_for_programs():
    times = dict.fromkeys(("mean", "p50", "p90", "p99", "p999", "p9999", "max"), 2.0)
    part = {"n_requests": 2, "response_time_s": times}
    system = {
        "name": "slow",
        "workload": "w",
        **part,
        "operations": {"read": part, "write": part},
        "overloaded": {"why": "the queue grew"},
    }
    columns, rows = table.operations({"systems": [system]})
    titles = [c.title for c in columns]
    for title in ("p99 ms", "p99.9 ms", "p99.99 ms", "max ms"):
        assert {row[titles.index(title)] for row in rows} == {"2,000.00!"}
    data = table.data_columns({"systems": [system]})
    row = table.cells(system, data)
    assert not any("!" in cell for cell in row)
    assert row[-1] == "cannot keep up"


def test_lines_on_failed_requests_name_the_workload_of_several():
    systems = [{"name": "a", "workload": w} for w in ("v", "w")]
    told = {"name": "failed-requests", "system": "a", "text": "1 failed", "way_out": ""}
    document = {"systems": systems, "warnings": [{**told, "workload": w} for w in ("v", "w")]}
    (group,) = warned.of_document(document)
    assert group.lines == ["a on v: 1 failed", "a on w: 1 failed"]
