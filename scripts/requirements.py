"""Prints what the package needs, or what the named extras need besides, separated by spaces."""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
wanted = [need for name in sys.argv[1:] for need in extras[name]]
print(*(wanted if sys.argv[1:] else project["dependencies"]))
