"""A real browser for tests: the system's Chromium, headless, controlled through pipes.

It is controlled by the Chrome DevTools Protocol
(https://chromedevtools.github.io/devtools-protocol/) with `--remote-debugging-pipe`: messages in
JSON, each ended by a zero byte, on descriptors 3 and 4.
"""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

#: Longest wait for one answer, in seconds: if the browser hangs, the test fails.
PATIENCE_S = 60.0


def found() -> str | None:
    """Return the browser of this machine, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of one browser; `with` ends its processes."""

    def __init__(self, profile: Path) -> None:
        program = found()
        assert program is not None
        (theirs_in, self._out), (self._in, theirs_out) = os.pipe(), os.pipe()
        # Above all other descriptors, so that neither is overwritten when they are moved to 3 and
        # 4.
        into, out = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64) for fd in (theirs_in, theirs_out))

        def onto_3_and_4() -> None:
            os.dup2(into, 3)
            os.dup2(out, 4)

        self._process = subprocess.Popen(
            [
                program,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--no-first-run",
                f"--user-data-dir={profile}",
                "--remote-debugging-pipe",
                "about:blank",
            ],
            preexec_fn=onto_3_and_4,
            pass_fds=(3, 4),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(into)
        os.close(out)
        os.close(theirs_in)
        os.close(theirs_out)
        self._number, self._session, self._rest = 0, None, b""
        self.events: list[dict[str, Any]] = []
        targets = self.send("Target.getTargets")["targetInfos"]
        (page,) = [t["targetId"] for t in targets if t["type"] == "page"]
        attached = self.send("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], PATIENCE_S)
            assert ready, f"the browser said nothing for {PATIENCE_S:g} s"
            more = os.read(self._in, 1 << 20)
            assert more, "the browser ended"
            self._rest += more
        one, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(one))

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol; events that arrive before its answer are stored."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                return dict(answer["result"])
            self.events.append(answer)

    def until(self, method: str, holds: Callable[[Mapping[str, Any]], bool]) -> None:
        """Wait for an event for which `holds` is true."""
        while not any(e["method"] == method and holds(e["params"]) for e in self.events):
            self.events.append(self._read())

    def run(self, script: str) -> Any:
        """Return the value of an expression or promise in the page."""
        answer = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def look(self, *, width: int = 1280, height: int = 900, dark: bool = False, media: str = "screen") -> None:
        """Set the size of the window, the reader's colours, and screen or print."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def open(self, page: Path) -> None:
        """Open a file and wait until its figures are drawn."""
        self.send("Page.navigate", url=page.resolve().as_uri())
        self.settled()

    def settled(self) -> None:
        """Wait until the page is loaded and its figures are drawn at the current width."""
        self.run(
            "new Promise((done) => { const ask = () => document.readyState === 'complete' &&"
            " document.documentElement.dataset.drawn === 'yes' ? done()"
            " : setTimeout(ask, 20); ask(); })"
        )

    def complaints(self) -> list[str]:
        """Return errors that the page wrote to its console, and its network requests."""
        said = [
            json.dumps(e["params"])
            for e in self.events
            if e["method"] == "Runtime.exceptionThrown"
            or (e["method"] == "Runtime.consoleAPICalled" and e["params"]["type"] == "error")
            or (e["method"] == "Log.entryAdded" and e["params"]["entry"]["level"] == "error")
        ]
        asked = [
            e["params"]["request"]["url"]
            for e in self.events
            if e["method"] == "Network.requestWillBeSent"
            and not e["params"]["request"]["url"].startswith(("file:", "data:", "blob:"))
        ]
        return said + asked

    def picture(self, path: Path) -> None:
        """Save the whole page as PNG."""
        size: Mapping[str, float] = self.send("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        answer = self.send("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(answer["data"]))

    def pdf(self, path: Path) -> None:
        """Print the page."""
        answer = self.send("Page.printToPDF", printBackground=False)
        path.write_bytes(base64.b64decode(answer["data"]))

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press a key; ``Tab``, ``Enter`` and ``Escape`` do what they do for a reader."""
        code = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}.get(key, 0)
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        for kind in ("keyDown", "keyUp"):
            self.send(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key if code else "",
                windowsVirtualKeyCode=code,
                text=text if kind == "keyDown" else "",
                modifiers=8 if shift else 0,
            )

    def tabbed(self, most: int = 400) -> list[dict[str, Any]]:
        """Return what the key Tab reaches, from the begin of the page until it leaves it.

        Of each: its number among all that can have the focus, whether it is in the window, and
        whether its focus can be seen: an outline, or another change of its look.
        """
        self.send("Emulation.setFocusEmulationEnabled", enabled=True)
        self.run(
            """window.stops = [...document.querySelectorAll('a[href], button, input, select,'
            + ' textarea, summary, [tabindex]')].filter((e) => e.tabIndex >= 0 && !e.disabled
            && e.checkVisibility({visibilityProperty: true}));
            window.looks = stops.map((e) => { const s = getComputedStyle(e);
              return [s.outlineStyle, s.outlineWidth, s.boxShadow, s.borderColor].join(); });
            document.activeElement.blur(); scrollTo(0, 0); stops.length"""
        )
        found: list[dict[str, Any]] = []
        while len(found) < most:
            self.press("Tab")
            one = self.run(
                """new Promise((done) => requestAnimationFrame(() => {
                const e = document.activeElement, i = stops.indexOf(e);
                const b = e.getBoundingClientRect(), s = getComputedStyle(e);
                done({stop: i, name: e.tagName + ' ' + e.textContent.trim().slice(0, 40),
                  seen: b.bottom > 0 && b.top < innerHeight && b.left < innerWidth && b.right > 0,
                  marked: looks[i] !== [s.outlineStyle, s.outlineWidth, s.boxShadow,
                    s.borderColor].join()}); }))"""
            )
            if one["stop"] < 0 or any(f["stop"] == one["stop"] for f in found):
                break
            found.append(one)
        return found
