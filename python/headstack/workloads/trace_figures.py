"""Figures of a trace: sizes, rates over time, addresses over time, reuse."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from headstack.show import plots
from headstack.show.plots import HEIGHT, PALETTE, WIDTH, style

#: Addresses are drawn for at most this many devices, the busiest ones.
MOST_MAPS = 4

#: Most bins of a line that can be distinguished.
_MOST_BINS = 128

_READ_WRITE = dict(domain=["reads", "writes"], range=[PALETTE[0], PALETTE[3]])
_DASHES = dict(domain=["reads", "writes"], range=[[1, 0], [5, 2]])


def _plain(count: int = 8) -> dict[str, Any]:
    return dict(format=",~f", tickCount=count)


_TIME = alt.X("t:Q", title="time since the first request (s)", axis=_plain(), scale=dict(nice=False))


def figures(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return Altair charts by file name.

    Args:
        info: the core's description of a trace.

    Raises:
        ConfigError: the trace has no reads or writes.
    """
    found: dict[str, Any] = {**plots.trace_figures(info), "rates": rates(info["rates"], info["duration_s"])}
    maps = sorted(info["addresses"], key=lambda m: -int(np.sum(m["n_requests"])))
    for one in maps[:MOST_MAPS]:
        stem = "addresses" if len(maps) == 1 else f"addresses-device-{one['device']}"
        found[stem] = addresses(one)
    found["reuse"] = reuse(info["reuse"])
    return found


def _whole(course: Mapping[str, Any], duration_s: float) -> int:
    """Return the number of complete bins: an incomplete last one would look like a fall."""
    bins = len(course["n_reads"])
    return min(bins, max(1, int(duration_s / course["bin_s"])))


def rates(course: Mapping[str, Any], duration_s: float) -> alt.VConcatChart:
    """Draw requests and bytes per second over time, separately for reads and writes.

    Args:
        course: ``bin_s``, and for each bin ``n_reads``, ``n_writes``, ``read_bytes``,
            ``write_bytes``.
        duration_s: duration of the trace.
    """
    bins = _whole(course, duration_s)
    # Neighbouring bins are merged until there are few enough to draw.
    together = max(1, -(-bins // _MOST_BINS))
    bins -= bins % together
    width = course["bin_s"] * together

    def sums(key: str) -> Any:
        return np.add.reduceat(course[key][:bins], np.arange(0, bins, together))

    def strip(keys: tuple[str, str], factor: float, axis: str) -> Any:
        parts = [
            pd.DataFrame(
                {
                    # The end of the last bin is where another one would begin.
                    "t": np.arange(len(sums(key)) + 1) * width,
                    "y": np.append(sums(key), sums(key)[-1:]) * factor / width,
                    "op": op,
                }
            )
            for key, op in zip(keys, ("reads", "writes"), strict=True)
        ]
        return (
            alt.Chart(pd.concat(parts, ignore_index=True))
            .mark_line(strokeWidth=1.4, interpolate="step-after")
            .encode(
                x=_TIME,
                y=alt.Y("y:Q", title=axis, axis=_plain(5)),
                color=alt.Color("op:N", title=None, scale=_READ_WRITE),
                strokeDash=alt.StrokeDash("op:N", title=None, scale=_DASHES),
                tooltip=[
                    alt.Tooltip("op:N", title="of"),
                    alt.Tooltip("t:Q", format=",.4~g", title="s"),
                    alt.Tooltip("y:Q", format=",.4~g", title=axis),
                ],
            )
            .properties(width=WIDTH, height=HEIGHT // 2)
        )

    strips = alt.vconcat(
        strip(("n_reads", "n_writes"), 1.0, "requests per second"),
        strip(("read_bytes", "write_bytes"), 1e-6, "MB per second"),
        title=f"Rates over time (means of {width:g} s)",
    ).properties(description="Requests and megabytes per second over time, reads and writes apart")
    return style(strips)


def addresses(one: Mapping[str, Any]) -> alt.Chart:
    """Draw requests of a device by time and address, as tiles coloured by count.

    Args:
        one: ``device``, ``bin_s``, ``bin_bytes``, and for each bin of time ``n_requests`` in each
            bin of addresses.
    """
    counts = np.asarray(one["n_requests"], dtype=float)
    time, place = np.nonzero(counts)
    width, height = one["bin_s"], one["bin_bytes"] / 1e9
    frame = pd.DataFrame(
        {
            "t": time * width,
            "t2": (time + 1) * width,
            "a": place * height,
            "a2": (place + 1) * height,
            "n": counts[time, place],
        }
    )
    title = f"Addresses over time, device {one['device']}"
    tiles = f"tiles of {width:g} s and {one['bin_bytes'] / 1e6:,.6g} MB"
    figure: alt.Chart = style(
        alt.Chart(frame, title=alt.Title(title, subtitle=tiles), description=title)
        .mark_rect()
        .encode(
            x=_TIME,
            x2="t2:Q",
            y=alt.Y("a:Q", title="address (GB)", axis=_plain()),
            y2="a2:Q",
            color=alt.Color(
                "n:Q",
                title="requests",
                scale=dict(
                    type="log",
                    scheme="viridis",
                    reverse=True,
                    # The domain must not be empty if all tiles are equal.
                    domain=[1, max(10.0, float(counts.max()))],
                ),
                legend=dict(format=",~f"),
            ),
            tooltip=[
                alt.Tooltip("t:Q", format=",.4~g", title="from s"),
                alt.Tooltip("a:Q", format=",.4~g", title="from GB"),
                alt.Tooltip("n:Q", format=",", title="requests"),
            ],
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    return figure


def reuse(found: Mapping[str, Any]) -> alt.LayerChart:
    """Draw pages by number of touches, as bars with their counts.

    Args:
        found: ``page_bytes``, and ``pages``, each class with ``up_to_touches`` and ``n_pages``.
    """
    classes = found["pages"]
    total = sum(c["n_pages"] for c in classes) or 1
    frame = pd.DataFrame(
        {
            "touches": [_range(i) for i in range(len(classes))],
            "n": [c["n_pages"] for c in classes],
            "share": [c["n_pages"] / total for c in classes],
        }
    )
    page = f"pages of {found['page_bytes'] // 1024} KiB"
    x = alt.X("touches:N", title="touches", sort=None, axis=dict(labelAngle=0))
    y = alt.Y("n:Q", title=page, axis=_plain(6))
    number = alt.Tooltip("n:Q", format=",", title=page)
    bars = (
        alt.Chart(frame, description="Pages by how often they were touched")
        .mark_bar(color=PALETTE[0])
        .encode(x=x, y=y, tooltip=["touches:N", number, alt.Tooltip("share:Q", format=".3%")])
    )
    counts = (
        alt.Chart(frame)
        .mark_text(baseline="bottom", dy=-4, fontSize=11, color="#222222")
        .encode(x=x, y="n:Q", text=alt.Text("n:Q", format=","))
    )
    estimate = ", estimated from a sample" if found["is_estimate"] else ""
    width = max(WIDTH, 64 * len(frame))
    figure: alt.LayerChart = style(
        (bars + counts).properties(title=f"How often pages are touched{estimate}", width=width, height=HEIGHT)
    )
    return figure


def _range(power: int) -> str:
    """Return the numbers of a class of powers of two."""
    low, high = (1 << power) // 2 + 1, 1 << power
    return f"{high:,}" if low >= high else f"{low:,}-{high:,}"
