"""Benchmarks of speed, each beside a peer in the same run; `python -m bench` writes docs/benchmarks/speed.md."""
