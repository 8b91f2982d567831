"""Benchmarks, experiments and reports: what measures the rest and is imported by none of it."""
