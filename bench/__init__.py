"""Benchmarks of speed and memory, always beside a peer in the same run; `python -m bench` writes docs/benchmarks/speed.md."""
