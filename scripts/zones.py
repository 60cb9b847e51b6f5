#!/usr/bin/env python3
"""Print the `zones` of a drive file: equal cylinder counts, sectors per track falling linearly.

Tracks of constant linear density hold sectors in proportion to their radius, and zones of equal
width step the radius evenly: hence the straight line. Skews and offsets are in turns. Offsets
continue the skew of the zones before, so that no zone border breaks the spiral.

    scripts/zones.py CYLINDERS ZONES SURFACES OUTER INNER TRACK_SKEW CYLINDER_SKEW
"""

import sys
from fractions import Fraction


def zones(cylinders, count, surfaces, outer, inner, track_skew, cylinder_skew):
    """Yield one TOML inline table per zone; skews are text or fractions of a turn."""
    if cylinders % count:
        sys.exit(f"CYLINDERS: got {cylinders}, need a multiple of the {count} zones")
    width = cylinders // count
    track, cylinder = Fraction(track_skew), Fraction(cylinder_skew)
    per_cylinder = (surfaces - 1) * track + cylinder
    for z in range(count):
        share = Fraction(z, count - 1) if count > 1 else Fraction(0)
        sectors = int(outer - (outer - inner) * share + Fraction(1, 2))
        first = z * width
        yield (
            f"{{ first_cylinder = {first}, last_cylinder = {first + width - 1}, "
            f"sectors_per_track = {sectors}, track_skew = {float(track)!r}, "
            f"cylinder_skew = {float(cylinder)!r}, offset = {float(first * per_cylinder % 1)!r} }}"
        )


if __name__ == "__main__":
    if len(sys.argv) != 8:
        sys.exit(__doc__)
    numbers = [int(a) for a in sys.argv[1:6]]
    print("zones = [")
    for line in zones(*numbers, sys.argv[6], sys.argv[7]):
        print(f"  {line},")
    print("]")
