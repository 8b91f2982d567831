"""Metrics: pure functions from ids or strings to floats."""
