"""Runs of experiments: one, several seeds, sweeps, and the files that they write."""
