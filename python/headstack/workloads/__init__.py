"""Workloads from Python, figures of traces, and experiments to start with."""
