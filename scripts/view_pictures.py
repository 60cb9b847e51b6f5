"""Makes the pictures of the drive view in the documentation, in a browser.

``python scripts/view_pictures.py docs/img`` writes ``drive-view.png`` and, animated,
``drive-view.webp`` and ``drive-view-order.webp``. It needs Chromium and Pillow.
"""

import io
import sys
import tempfile
from base64 import b64decode
from pathlib import Path

import browser
from PIL import Image

from headstack.show import view

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "side-by-side.toml"
#: Frames per second, and simulated milliseconds per second.
RATE, SPEED = 8, 5.0
WIDTH = 1000

#: Everything but the drives is left out.
ONLY_DRIVES = """
document.querySelectorAll('h1, .controls, main > .note, main > section').forEach((e) => e.remove());
document.body.style.margin = '0 auto';
"""


def shot(one: browser.Browser, scale: float) -> Image.Image:
    """Return the picture of the page."""
    size = one.send("Page.getLayoutMetrics")["cssContentSize"]
    clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": scale}
    answer = one.send("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
    return Image.open(io.BytesIO(b64decode(answer["data"]))).convert("RGB")


def animation(one: browser.Browser, path: Path, begin: float, length: float) -> None:
    """Write the drives from `begin` on, for `length`, both in ms of the window."""
    frames = []
    for i in range(round(length / SPEED * RATE)):
        one.run(f"show_at({(begin + i / RATE * SPEED) * 1e6})")
        frames.append(shot(one, 0.56))
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=round(1000 / RATE), loop=0, quality=40, method=3
    )


def main() -> None:
    """Write the pictures into the folder that the command line names."""
    folder = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        with browser.Browser(place / "profile") as one:
            one.look(width=WIDTH, height=600)
            for systems, name in (
                (["one arm", "two arms"], "drive-view"),
                (["one arm, in order", "one arm"], "drive-view-order"),
            ):
                records = view.record(EXAMPLE, at="3 s", length="150 ms", systems=systems)
                one.open(view.write(records, place / "view.html"))
                one.run(ONLY_DRIVES)
                if name == "drive-view":
                    one.run("show_at(75.5e6)")
                    shot(one, 1.4).save(folder / f"{name}.png", optimize=True)
                animation(one, folder / f"{name}.webp", 60, 45)


main()
