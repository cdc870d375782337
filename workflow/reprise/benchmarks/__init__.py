"""Benchmarks, one folder each. `registry.py` says what a folder defines, finds it and loads it."""
