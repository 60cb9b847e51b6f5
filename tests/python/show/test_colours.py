"""Colours of figures can be told apart with every kind of colour vision.

What a reader without one kind of cones sees is computed by Machado, Oliveira and Fernandes, "A
physiologically-based model for simulation of color vision deficiency", IEEE TVCG 15(6), 2009 (the
matrices of severity 1, for linear RGB). How far apart two colours look is CIEDE2000, with Sharma,
Wu and Dalal, "The CIEDE2000 color-difference formula", Color Research and Application 30(1), 2005.
A difference of 1 can just be seen at a common edge.
"""

import itertools

import numpy as np
import pytest

from headstack.show.plots import look

VISION = {
    "usual": np.eye(3),
    "without red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                    [-0.003882, -0.048116, 1.051998]],
    "without green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                      [-0.011820, 0.042940, 0.968881]],
    "without blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                     [0.004733, 0.691367, 0.303900]],
}  # fmt: skip

#: Least differences: lines of systems also have dashes, parts of bars have only their colour.
LEAST = {"systems": 7.0, "parts": 8.0}
COLOURS = {"systems": look.PALETTE, "parts": tuple(look.PARTS.values())}


def linear(colour: str) -> np.ndarray:
    """Linear RGB of a colour of sRGB (IEC 61966-2-1)."""
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIELAB (D65) of linear RGB."""
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    x = np.array(to_xyz) @ np.clip(rgb, 0, 1) / [0.95047, 1, 1.08883]
    f = np.where(x > 216 / 24389, np.cbrt(x), (24389 / 27 * x + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def difference(one: np.ndarray, other: np.ndarray) -> float:
    """CIEDE2000 of two colours in CIELAB."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    chroma = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    g = 0.5 * (1 - np.sqrt(chroma**7 / (chroma**7 + 25**7)))
    a1, a2 = a1 * (1 + g), a2 * (1 + g)
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = np.degrees(np.arctan2(b1, a1)) % 360, np.degrees(np.arctan2(b2, a2)) % 360
    turn = 0.0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    middle = h1 + h2 if c1 * c2 == 0 else (h1 + turn / 2) % 360
    dh = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2))
    light, c = (l1 + l2) / 2, (c1 + c2) / 2

    def wave(times: float, shift: float) -> float:
        return float(np.cos(np.radians(times * middle + shift)))

    t = 1 - 0.17 * wave(1, -30) + 0.24 * wave(2, 0) + 0.32 * wave(3, 6) - 0.2 * wave(4, -63)
    sl = 1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2)
    sc, sh = 1 + 0.045 * c, 1 + 0.015 * c * t
    bend = np.sin(np.radians(60 * np.exp(-(((middle - 275) / 25) ** 2))))
    rt = -2 * np.sqrt(c**7 / (c**7 + 25**7)) * bend
    parts = (l2 - l1) / sl, (c2 - c1) / sc, dh / sh
    return float(np.sqrt(sum(p * p for p in parts) + rt * parts[1] * parts[2]))


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        # Pairs 1, 7, 17, 20, 25 and 33 of Sharma et al., Table 1.
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 0, 0), (50, -1, 2), 2.3669),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((50, 2.5, 0), (58, 24, 15), 19.4535),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((6.7747, -0.2908, -2.4247), (5.8714, -0.0985, -2.2286), 0.6377),
    ],
)
def test_the_difference_is_that_of_its_source(one, other, wanted):
    assert difference(np.array(one, float), np.array(other, float)) == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("kind", COLOURS)
def test_colours_can_be_told_apart(kind, dark, vision):
    shown = [look.DARK[c] if dark else c for c in COLOURS[kind]]
    seen = [lab(np.array(VISION[vision]) @ linear(c)) for c in shown]
    pairs = itertools.combinations(range(len(shown)), 2)
    least = min((difference(seen[i], seen[j]), shown[i], shown[j]) for i, j in pairs)
    assert least[0] >= LEAST[kind], least


@pytest.mark.parametrize("dark", [False, True])
def test_colours_stand_out_from_the_page(dark):
    """A contrast of 3 to 1 (WCAG 2.2, 1.4.11)."""

    def light(colour: str) -> float:
        return float(np.array([0.2126, 0.7152, 0.0722]) @ linear(colour)) + 0.05

    ground = light(look.DARK[look.BACKGROUND] if dark else look.BACKGROUND)
    for colour in (*look.PALETTE, *look.PARTS.values()):
        shown = light(look.DARK[colour] if dark else colour)
        assert max(shown, ground) / min(shown, ground) >= 3, colour
    ink = light(look.DARK[look.INK] if dark else look.INK)
    assert max(ink, ground) / min(ink, ground) >= 7


def test_no_colour_has_two_meanings():
    both = [*look.PALETTE, *look.PARTS.values()]
    assert len(set(both)) == len(both)
    assert len({look.DARK[c] for c in both}) == len(both)
    # Lines of more systems than there are colours differ in dashes, too.
    assert len(look.DASHES) == len(look.PALETTE)
