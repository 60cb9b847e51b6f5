"""Simulated drives in real time, as disks of other programs."""
