"""Types of experiments and drives; written by `scripts/schema_types.py`, do not edit."""

from headstack.schema.capping import Capping
from headstack.schema.drive import Drive
from headstack.schema.experiment import Experiment, ExperimentCost, Run
from headstack.schema.geometry import Geometry
from headstack.schema.layers import Layer
from headstack.schema.mapping import MappingModel
from headstack.schema.parallelism import Parallelism
from headstack.schema.power import PowerModel
from headstack.schema.seek import Seek
from headstack.schema.system import System
from headstack.schema.workload import Workload

__all__ = [
    "Capping",
    "Drive",
    "Experiment",
    "ExperimentCost",
    "Geometry",
    "Layer",
    "MappingModel",
    "Parallelism",
    "PowerModel",
    "Run",
    "Seek",
    "System",
    "Workload",
]
