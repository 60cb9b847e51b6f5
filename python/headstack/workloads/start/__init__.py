r"""Experiments to start with, from a trace or from a job file of fio.

`from_trace` and `from_fio` return a commented experiment in TOML, with systems that can hold the
load: drives of today, as many as capacity and load need. ``headstack init`` writes it to a file.

Example:
    >>> job = "[x]\nrw=randread\nbs=4k\nsize=1g\ndirect=1\nfilename=/dev/sda\n"
    >>> 'requests = { reads = 1.0, size = "4 KiB"' in from_fio(job, "x.fio")
    True
"""

from headstack.workloads.start.experiment import from_fio, from_trace

__all__ = ["from_fio", "from_trace"]
