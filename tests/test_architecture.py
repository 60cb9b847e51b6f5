"""The structure of the repository: imports, lengths of files, lists of plug-ins."""

import ast
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LAYERS = [
    "schema-derive",
    "units",
    "schema",
    "control",
    "engine",
    "trace",
    "drive",
    "testkit",
    "block",
    "sim",
    "experiment",
    "disksim",
    "metrics",
    "scsi",
    "target",
    "probe",
    "host",
    "py",
]
PREFIX = "headstack-"
MAXIMUM_LINES = 800

# The list of a folder: `plugins! { dyn Trait = "kind"; a, b }`, or another macro call of this form.
LIST = re.compile(r"^\s*\w+!\s*[{(\[](?:\s*dyn\s[^;]*;)?(?P<names>[^;})\]]*)[})\]]", re.MULTILINE)
MODULE = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;", re.MULTILINE)
COMMENT = re.compile(r"//.*")


def tracked() -> list[Path]:
    """Every file that git tracks or would track."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    paths = (ROOT / name for name in listed.stdout.split("\0") if name)
    return sorted(path for path in paths if path.is_file())


def test_tests_ask_for_programs_before_they_begin() -> None:
    """By `@pytest.mark.needs`: a skip inside a test would leave open what it holds."""
    texts = {f.name: f.read_text("utf-8") for f in (ROOT / "tests" / "python").rglob("*.py")}
    asks = {name for name, text in texts.items() if "shutil.which" in text}
    assert asks == {"needs.py", "browser.py", "guest.py"}


def test_imports_point_up_the_list() -> None:
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    packages = json.loads(done.stdout)["packages"]
    assert packages, "cargo metadata: got no packages, need the workspace's"
    wrong = []
    for package in packages:
        name = package["name"].removeprefix(PREFIX)
        if name not in LAYERS:
            wrong.append(f"{package['name']}: got a crate outside the list, need one of {LAYERS}")
            continue
        for dependency in package["dependencies"]:
            other = dependency["name"]
            # Tests may import any crate; other code only crates before its own in the list.
            if not other.startswith(PREFIX) or dependency["kind"] == "dev":
                continue
            other = other.removeprefix(PREFIX)
            if other not in LAYERS or LAYERS.index(other) >= LAYERS.index(name):
                wrong.append(f"{name}: got an import of {other}, need one that stands before it")
    assert not wrong, "\n".join(wrong)


def test_no_file_is_too_long() -> None:
    long = []
    for path in (p for top in ("crates", "python") for p in (ROOT / top).rglob("*")):
        if path.suffix not in {".rs", ".py", ".pyi"}:
            continue
        text = path.read_text(encoding="utf-8")
        lines = len(text.splitlines())
        # What a program writes has the length of what it is written from.
        if lines > MAXIMUM_LINES and "do not edit" not in text.partition("\n")[0]:
            long.append(f"{path.relative_to(ROOT)}: got {lines} lines, need <= {MAXIMUM_LINES}")
    assert not long, "\n".join(long)


def listed_modules(text: str) -> set[str]:
    """The files that a `mod.rs` includes, by a list macro or by `mod`."""
    text = COMMENT.sub("", text)
    names = set(MODULE.findall(text))
    for match in LIST.finditer(text):
        names |= set(re.findall(r"\b[a-z]\w*\b", match["names"]))
    return names


def plugin_folders() -> list[Path]:
    """Folders of crates with a `mod.rs`, which contains a list."""
    return sorted(path.parent for path in (ROOT / "crates").glob("*/src/**/mod.rs"))


@pytest.mark.parametrize("folder", plugin_folders(), ids=lambda p: str(p.relative_to(ROOT)))
def test_every_file_is_in_its_list(folder: Path) -> None:
    taken = listed_modules((folder / "mod.rs").read_text(encoding="utf-8"))
    files = {p.stem for p in folder.glob("*.rs")} - {"mod"}
    files |= {p.parent.name for p in folder.glob("*/mod.rs")}
    where = folder.relative_to(ROOT)
    assert files <= taken, f"{where}/mod.rs: got no mention of {sorted(files - taken)}, need all"


def test_the_reader_of_lists_finds_what_is_missing() -> None:
    text = """plugins! { dyn Model = "model", beside &[KEY]; constant, table }
mod fit;
// plugins! { dyn X = "x"; commented }
"""
    assert listed_modules(text) == {"constant", "table", "fit"}


def test_nothing_names_a_developers_machine() -> None:
    """Paths in somebody's home or checkout make examples and notes useless for others."""
    pattern = re.compile(r"(?<![\w.~/-])/(?:work|home|Users|root)/\w")
    wrong = []
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if pattern.search(line):
                where = f"{path.relative_to(ROOT)}:{number}"
                wrong.append(f"{where}: got {line.strip()!r}, need a relative path")
    assert not wrong, "\n".join(wrong)


GENERIC = re.compile(r"<[^<>]*>")
FUNCTION = re.compile(r"^ {4}(?:pub(?:\([^)]*\))?\s+)?fn\s+(\w+)")
WALK = "### The walk of one request"
ROW = re.compile(r"^\| (\d+) \| `(\w+::\w+)` \| `([\w/.]+)` \| (\d*) \|", re.MULTILINE)


def owner_of(header: str) -> str:
    """The type of `impl<T> Trait<T> for path::Type<T> {`."""
    while GENERIC.search(header):
        header = GENERIC.sub("", header)
    return str(re.findall(r"\w+", header.split(" for ")[-1].split("{")[0])[-1])


def functions(path: Path) -> dict[str, str]:
    """The text of each function of a type in a Rust source, without comments, by its name."""
    found: dict[str, str] = {}
    owner = name = None
    for line in path.read_text().splitlines():
        if line.startswith("impl"):
            owner = owner_of(line)
        elif (function := FUNCTION.match(line)) and owner:
            name = f"{owner}::{function[1]}"
        if name:
            found[name] = found.get(name, "") + COMMENT.sub("", line) + "\n"
        if line == "    }":
            name = None
    return found


def test_the_walk_of_a_request_is_that_of_the_code() -> None:
    text = (ROOT / "docs" / "design" / "architecture.md").read_text()
    rows = ROW.findall(text.split(WALK)[1].split("\n### ")[0])
    assert [int(row[0]) for row in rows] == list(range(1, len(rows) + 1))
    code = {file: functions(ROOT / "crates" / file) for _, _, file, _ in rows}
    assert 40 <= len(rows) <= 50, f"the walk: got {len(rows)} functions, need at most 50"
    assert len(code) <= 16, f"the walk: got {len(code)} files, need at most 16"
    for number, function, file, caller in rows:
        assert function in code[file], f"{number}: got {function}, need a function of {file}"
        if caller:
            _, calling, where, _ = rows[int(caller) - 1]
            call = re.compile(rf"\b{function.split('::')[1]}(::<[^(]*>)?\(")
            assert int(caller) < int(number)
            body = code[where][calling].split("{", 1)[1]
            assert call.search(body), f"{calling} calls no {function}"


LONGEST = 60
# Functions of more lines, and why.
EXCUSED = {
    "one loop, which the compiler makes vector instructions of": "bounds.rs:score_rows",
    "a list of fields, one after another": "result.rs:summarise",
    "a macro's text": "lib.rs:parts_of lib.rs:tables_of",
    "the loop of a run, in registers": "simulate.rs:closed_loop simulate.rs:arrive_in_parts",
    "what a command says of its options, one after another": ("calibrate.py:command cap_sim.py:command run.py:command"),
    "a figure or a file, line by line": (
        "depopulation.py:ways shingled.py:main series.py:_strips drive_file.py:geometry_table"
    ),
    "its steps, each a line or two with what is said of it": "__init__.py:probe",
}
RUST = re.compile(r"^( *)(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe )*fn (\w+)")


def rust_lengths(text: str) -> list[tuple[str, int]]:
    """Name and number of lines of each function, from its first line to its closing brace."""
    lines = text.splitlines()
    found = []
    for first, line in enumerate(lines):
        if function := RUST.match(line):
            header = next(n for n in range(first, len(lines)) if lines[n].endswith(("{", ";", "}")))
            if lines[header].endswith("{"):
                last = lines.index(f"{function[1]}}}", header)
                found.append((function[2], last - first + 1))
    return found


def python_lengths(text: str) -> list[tuple[str, int]]:
    """The same of Python, from the first statement after the description."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) and node.body[1:] else node.body
            found.append((node.name, (node.end_lineno or 0) - body[0].lineno + 1))
    return found


def test_no_function_is_longer_than_a_screen() -> None:
    sources = [*ROOT.glob("crates/*/src/**/*.rs"), *ROOT.glob("python/headstack/**/*.py")]
    excused = {name for names in EXCUSED.values() for name in names.split()}
    long = []
    for path in sources:
        lengths = rust_lengths if path.suffix == ".rs" else python_lengths
        for name, lines in lengths(path.read_text("utf-8")):
            if lines > LONGEST and f"{path.name}:{name}" not in excused:
                where = path.relative_to(ROOT)
                long.append(f"{where}: {name}: got {lines} lines, need <= {LONGEST}")
    assert not long, "\n".join(long)


MOST_FIELDS = 12
# Structs of more fields, and why. A `Table` needs no reason: its fields are keys of a file. Nor does what `structures!`
# declares: its fields are those of a standard's format.
EXCUSED_STRUCTS = {
    "columns of a result": (
        "summary.rs:CappingResult summary.rs:CappingSeries lib.rs:Described result.rs:DriveResult outcome.rs:Outcome "
        "result.rs:SystemResult mod.rs:TraceInfo mod.rs:TraceSummary"
    ),
    "what an attribute may say": "lib.rs:Said",
    "options of a command or of a run": "arguments.rs:Arguments options.rs:Options",
    "all that is said of one request where it is handed on": "mod.rs:LayerCompletion session.rs:Task",
    "worked out once, read in the innermost loops": "mod.rs:Queue timing.rs:Timing mod.rs:Zone",
    "requests as they come, and what is counted of them": "stream.rs:Checked mod.rs:SyntheticSource mod.rs:Transformed",
    "a device, layer or run, of parts that are types themselves": (
        "bfq.rs:Bfq disk.rs:Disk drive.rs:Drive fault.rs:Fault group.rs:Group host_queue.rs:HostQueue live.rs:Live "
        "mod.rs:Log mod.rs:MediaCache simulate.rs:Run mod.rs:ServiceUnit session.rs:Session unit.rs:Unit mod.rs:Volume"
    ),
}
STRUCT = re.compile(
    r"^( *)(?:pub(?:\([^)]*\))? )?struct (?P<name>\w+)[^;{}]*\{\n(?P<fields>(?:\1 .*\n|\n)*)\1\}$", re.MULTILINE
)
FIELD = re.compile(r"^ *(?:pub(?:\([^)]*\))? )?\w+: ", re.MULTILINE)


def test_no_struct_has_many_fields_without_a_reason() -> None:
    many = set()
    for path in ROOT.glob("crates/*/src/**/*.rs"):
        text = path.read_text("utf-8")
        for found in STRUCT.finditer(text):
            # From the end of what stands before it.
            attributes = re.split(r"[}\n;] *\n", text[: found.start()])[-1]
            is_table = re.search(r"derive\(.*\bTable\b", attributes)
            if len(FIELD.findall(found["fields"])) > MOST_FIELDS and not is_table:
                many.add(f"{path.name}:{found['name']}")
    assert many == {name for names in EXCUSED_STRUCTS.values() for name in names.split()}


USE = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+((?:crate|super|self)\b[^;]*);", re.MULTILINE)
MOST_IN_A_CIRCLE = 3


def leaves(tree: str) -> list[str]:
    """The paths of `a::{b, c::{d, e}}`."""
    head, brace, inside = tree.partition("{")
    if not brace:
        return [tree.split(" as ")[0].strip()]
    paths, depth, item = [], 0, ""
    for letter in inside.rpartition("}")[0] + ",":
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            paths += [head.strip() + path for path in leaves(item.strip()) if path]
            item = ""
        else:
            item += letter
    return paths


def imports(crate: Path) -> dict[str, set[str]]:
    """Which modules each module of a crate imports from; tests are left out."""
    sources = {}
    for path in (crate / "src").rglob("*.rs"):
        parts = path.relative_to(crate / "src").with_suffix("").parts
        name = parts[:-1] if parts[-1] in ("mod", "lib") else parts
        sources[name] = COMMENT.sub("", path.read_text().split("#[cfg(test)]\nmod ")[0])
    found: dict[str, set[str]] = {}
    for name, text in sources.items():
        own = found.setdefault("::".join(name), set())
        for used in (used for tree in USE.findall(text) for used in leaves(tree)):
            first, *rest = used.split("::")
            at = {"crate": (), "self": name, "super": name[:-1]}[first]
            while rest and rest[0] == "super":
                at, rest = at[:-1], rest[1:]
            target = (*at, *rest)
            while target not in sources:
                target = target[:-1]
            if target and target != name:
                own.add("::".join(target))
    return found


def reached(graph: dict[str, set[str]], start: str) -> set[str]:
    """What is imported from a module, directly or not."""
    seen: set[str] = set()
    ahead = list(graph[start])
    while ahead:
        if (node := ahead.pop()) not in seen:
            seen.add(node)
            ahead += graph[node]
    return seen


@pytest.mark.parametrize("crate", sorted((ROOT / "crates").iterdir()), ids=lambda p: p.name)
def test_no_circle_of_imports_is_long(crate: Path) -> None:
    graph = imports(crate)
    below = {name: reached(graph, name) for name in graph}
    for name, reach in below.items():
        circle = sorted(other for other in reach if name in below[other])
        assert len(circle) <= MOST_IN_A_CIRCLE, f"{crate.name}: {circle} import each other"


def test_a_circle_is_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": {"a", "e"}, "e": set()}
    assert reached(graph, "a") == {"a", "b", "c", "d", "e"}
    assert leaves("crate::{a::{b, c as d}, e}") == ["crate::a::b", "crate::a::c", "crate::e"]


def test_tests_use_what_the_program_uses() -> None:
    """No crate has other features in tests than in the extension: its users would build twice."""

    def features(*which: str) -> set[str]:
        shown = ["--prefix", "none", "--format", "{p} [{f}]"]
        command = ["cargo", "tree", "--offline", "--locked", *which, *shown]
        done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        return {line.removesuffix(" (*)") for line in done.stdout.splitlines()}

    if shutil.which("cargo") is None:
        pytest.skip("no cargo")
    tests = features("--workspace", "-e", "normal,build,dev")
    program = features("-p", "headstack-py", "-e", "normal,build")
    # Without servers and probes, as `make demo` builds it.
    alone = features("-p", "headstack-py", "-e", "normal,build", "--no-default-features")
    assert program <= tests
    assert {line for line in alone if not line.startswith("headstack-py ")} < program


def test_only_test_programs_are_built_quickly() -> None:
    """`make test` has rustc called by a script, which must leave what is tested as it is."""
    for args, want in (
        (["--crate-name", "it", "--test", "-C", "opt-level=3"], ["-C", "opt-level=1"]),
        (["--crate-name", "a b", "--crate-type", "lib", "-C", "opt-level=3"], []),
    ):
        command = [ROOT / "scripts" / "rustc_tests.sh", "printf", "%s\n", *args]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        assert done.stdout.splitlines() == [*args, *want]
    for name, rule in (
        ("Makefile", "RUSTC_WRAPPER=$(CURDIR)/scripts/rustc_tests.sh"),
        ("scripts/test_all.sh", "RUSTC_WRAPPER=$PWD/scripts/rustc_tests.sh"),
    ):
        text = (ROOT / name).read_text("utf-8")
        assert "cargo test" in text
        assert rule in text
