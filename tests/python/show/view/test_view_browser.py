"""The drive view in a browser: what it shows at any time is what the phases say."""

import random

import pytest
import view_oracle
from conftest import ROOT

from headstack.show import view

pytestmark = pytest.mark.needs("browser")

EXAMPLE = ROOT / "examples" / "side-by-side.toml"
PAIRS = [["one arm", "two arms"], ["one arm", "one arm, in order"], ["writes in place", "writes to a log"]]


@pytest.fixture(scope="module", params=PAIRS, ids=" | ".join)
def shown(request, tmp_path_factory):
    records = view.record(EXAMPLE, at="3 s", length="150 ms", systems=request.param)
    return records, view.write(records, tmp_path_factory.mktemp("view") / "view.html")


def near(a: float, b: float) -> bool:
    """Whether two angles in turns are the same but for rounding."""
    return abs((a - b + 0.5) % 1 - 0.5) < 1e-6


def test_the_page_agrees_with_the_phases(chromium, shown):
    """At 100 instants drawn at random, and at the begin and the end of the window."""
    records, page = shown
    begin, length = records[0]["from_ns"], records[0]["until_ns"] - records[0]["from_ns"]
    seed = 20
    print("seed", seed)
    draw = random.Random(seed)
    instants = sorted({0, length, *(draw.randrange(length) for _ in range(100))})
    chromium.look()
    chromium.open(page)
    states = chromium.run(f"{instants}.map((t) => state_at(t))")
    kinds = set()
    for t, state in zip(instants, states, strict=True):
        for record, seen in zip(records, state, strict=True):
            (drive,) = record["drives"]
            waiting, serving = view_oracle.commands(drive, begin + t)
            assert (seen["waiting"], seen["serving"]) == (waiting, serving)
            samples = drive["samples"]
            place = min(t // samples["step_ns"], len(samples["power_w"]) - 1)
            assert seen["power_w"] == samples["power_w"][place]
            assert seen["unwritten_blocks"] in samples["unwritten_blocks"]
            for number, arm in enumerate(seen["arms"]):
                expected = view_oracle.arm(drive, number, begin + t)
                for key in ("kind", "work", "head", "to_cylinder"):
                    assert arm[key] == expected[key], (t, key)
                assert arm["cylinder"] == pytest.approx(expected["cylinder"], abs=1e-3)
                assert near(arm["platter"], expected["platter"]), t
                kinds.add(arm["kind"])
    assert {"seek", "rotation"} <= kinds


def test_heads_are_drawn_at_their_radii_and_angles(chromium, shown):
    """The middle of the drawn head, in the units of the picture, against the record."""
    records, page = shown
    begin, length = records[0]["from_ns"], records[0]["until_ns"] - records[0]["from_ns"]
    chromium.look()
    chromium.open(page)
    for share in (0.1, 0.35, 0.8):
        t = int(length * share)
        chromium.run(f"show_at({t})")
        for i, record in enumerate(records):
            (drive,) = record["drives"]
            heads = chromium.run(
                f"""[...document.querySelectorAll('#platter-{i} .head')].map((h) => {{
                const m = h.transform.baseVal.consolidate().matrix; return [m.e, m.f]; }})"""
            )
            assert len(heads) == len(drive["arms"])
            for number, (x, y) in enumerate(heads):
                expected = view_oracle.arm(drive, number, begin + t)
                (unit,) = drive["units"]
                # From 46 to 22.5 mm on a platter with a radius of 47.5 mm.
                share_inward = expected["cylinder"] / (unit["positions"] - 1)
                radius = (46 - (46 - 22.5) * share_inward) / 47.5
                assert (x * x + y * y) ** 0.5 == pytest.approx(radius, abs=1e-3)
                # Angle zero is on the right; angles grow counter-clockwise, and y points down.
                angle = drive["arms"][number]["head_sets"][0]["angle"]
                across = {0.0: (radius, 0), 0.5: (-radius, 0)}[round(angle, 6) % 1]
                assert (x, y) == pytest.approx(across, abs=1e-3)


def test_marks_pass_the_head_when_their_transfer_begins(chromium, shown):
    """A mark turns with the platter and is under the head of its arm at the right time."""
    records, page = shown
    chromium.look()
    chromium.open(page)
    begin, until = records[0]["from_ns"], records[0]["until_ns"]
    (drive,) = records[0]["drives"]
    checked = 0
    for number, c in enumerate(drive["commands"]):
        whole = c["chosen_ns"] and c["chosen_ns"] > begin and c["completion_ns"] < until
        if not whole or c["cache_hit"] or c["op"] != "read" or c["place"] is None:
            continue
        transfers = [
            p["from_ns"]
            for p in drive["phases"][c["arm"]]
            if p["kind"] == "transfer" and c["chosen_ns"] <= p["from_ns"] <= c["completion_ns"]
        ]
        off = chromium.run(
            f"""(() => {{ show_at({transfers[0] - begin});
            const middle = (e) => {{ const b = e.getBoundingClientRect();
              return [b.left + b.width / 2, b.top + b.height / 2]; }};
            const platter = document.querySelector('#platter-0');
            const mark = pictures[0].marks[{number}];
            const [x, y] = middle(mark);
            const [u, v] = middle(platter.querySelectorAll('.head')[{c["arm"]}]);
            return [Math.hypot(x - u, y - v), platter.getBoundingClientRect().width,
              mark.getAttribute('display')]; }})()"""
        )
        assert off[2] == "inline"
        # Less than the size of the mark.
        assert off[0] < 0.02 * off[1], (number, off)
        checked += 1
    assert checked > 2


def test_keys_move_through_the_window(chromium, shown):
    records, page = shown
    length = records[0]["until_ns"] - records[0]["from_ns"]
    chromium.events.clear()
    chromium.look()
    chromium.open(page)
    assert chromium.run("now") == length / 2

    def press(key: str, shift: bool = False) -> float:
        for kind in ("keyDown", "keyUp"):
            chromium.send(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                text=key if len(key) == 1 and kind == "keyDown" else "",
                modifiers=8 if shift else 0,
            )
        return float(chromium.run("now"))

    assert press("Home") == 0
    assert chromium.run("document.getElementById('said').textContent").startswith(records[0]["system"])
    begin = records[0]["from_ns"]
    starts = {
        t - begin
        for r in records
        for d in r["drives"]
        for t in [p["from_ns"] for a in d["phases"] for p in a] + [c["arrival_ns"] for c in d["commands"]]
    }
    ahead = sorted(t for t in starts if t > 0)
    assert [press("ArrowRight") for _ in range(3)] == ahead[:3]
    assert press("ArrowLeft") == ahead[1]
    assert press("ArrowRight", shift=True) == ahead[1] + 1e6
    assert press("End") == length
    # Played from the end, it begins again.
    press(" ")
    assert chromium.run("playing") is True
    chromium.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    press(" ")
    assert chromium.run("playing") is False
    assert 0 < chromium.run("now") < length
    speed = chromium.run("Number(speed.value)")
    press("+")
    assert chromium.run("Number(speed.value)") == speed + 1
    press("-")
    assert chromium.run("Number(speed.value)") == speed
    assert chromium.complaints() == []


@pytest.mark.parametrize("shown", PAIRS[:1], indirect=True, ids=" | ".join)
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1280])
def test_it_fits_the_window_and_the_readers_colours(chromium, shown, width, dark):
    _, page = shown
    chromium.look(width=width, dark=dark)
    chromium.open(page)
    assert chromium.run("document.documentElement.scrollWidth") <= width
    boxes = chromium.run(
        "[...document.querySelectorAll('.platter')].map((p) => p.getBoundingClientRect())"
        ".map((b) => [b.left, b.top, b.right])"
    )
    if width == 1280:
        assert boxes[0][2] <= boxes[1][0]
    else:
        assert boxes[0][1] < boxes[1][1]
    # Text can be read: a contrast of 4.5 to 1 (WCAG 2.2, 1.4.3).
    faint = chromium.run(
        """(() => { const light = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).slice(0, 3)
          .map((v) => v / 255).map((v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
          return .2126 * r + .7152 * g + .0722 * b; };
        const page = light(getComputedStyle(document.body).backgroundColor);
        return [...document.querySelectorAll('p, dt, dd, li span, .what, .ticks span, output')]
          .filter((e) => e.textContent.trim()).map((e) => [e.textContent.slice(0, 40),
            light(getComputedStyle(e).color)])
          .filter(([, c]) => (Math.max(c, page) + .05) / (Math.min(c, page) + .05) < 4.5); })()"""
    )
    assert faint == []


@pytest.mark.parametrize("shown", PAIRS[:1], indirect=True, ids=" | ".join)
def test_paper_shows_a_still(chromium, shown):
    _, page = shown
    chromium.look(width=720, media="print")
    chromium.open(page)
    seen = chromium.run(
        "['.buttons', '#time', '#clock', '.platter', '.legend'].map((s) =>"
        " document.querySelector(s).getBoundingClientRect().height > 0)"
    )
    assert seen == [False, False, True, True, True]


def test_screen_readers_hear_the_state(chromium, shown):
    records, page = shown
    chromium.look()
    chromium.open(page)
    nodes = chromium.send("Accessibility.getFullAXTree")["nodes"]
    heard = [
        (n["role"]["value"], n.get("name", {}).get("value", ""), n.get("description", {}))
        for n in nodes
        if not n["ignored"]
    ]
    for record in records:
        described = [d for role, name, d in heard if name == record["system"] and "im" in role]
        assert any("Queue" in d.get("value", "") for d in described)


@pytest.mark.parametrize("shown", PAIRS[:1], indirect=True, ids=" | ".join)
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1280])
def test_the_keyboard_reaches_everything(chromium, shown, width, dark):
    """Tab goes through all controls in order; the focus can be seen, and Enter presses a button."""
    _, page = shown
    chromium.look(width=width, dark=dark)
    chromium.open(page)
    stops = chromium.tabbed()
    assert [s["stop"] for s in stops] == list(range(chromium.run("stops.length")))
    assert len(stops) >= 4
    assert [s for s in stops if not s["seen"]] == []
    assert [s for s in stops if not s["marked"]] == []
    chromium.run("document.querySelector('button').focus()")
    before = chromium.run("[playing, now].join()")
    chromium.press("Enter")
    assert chromium.run("[playing, now].join()") != before
