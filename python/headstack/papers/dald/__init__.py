"""J. A. Chandy, "A Dual Actuator Logging Disk Architecture": claims DALD-1 to DALD-8."""

from .systems import Choices

__all__ = ["Choices"]
