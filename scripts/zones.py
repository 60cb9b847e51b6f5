#!/usr/bin/env python3
"""Print the `zones` of a drive file: equal cylinder counts, sectors per track falling linearly.

Tracks of constant linear density hold sectors in proportion to their radius, and zones of equal
width step the radius evenly: hence the straight line. Skews and offsets are in turns. A whole drive
from its data sheet: `headstack drives new`.

    python scripts/zones.py CYLINDERS ZONES SURFACES OUTER INNER TRACK_SKEW CYLINDER_SKEW
"""

import sys
from fractions import Fraction

from headstack._toml import inline
from headstack.drives.datasheet import zones

if __name__ == "__main__":
    if len(sys.argv) != 8:
        sys.exit(__doc__)
    cylinders, count, surfaces, outer, inner = (int(a) for a in sys.argv[1:6])
    skews = (Fraction(sys.argv[6]), Fraction(sys.argv[7]))
    print("zones = [")
    for zone in zones(cylinders, count, surfaces, (outer, inner), skews):
        print(f"  {inline(zone)},")
    print("]")
