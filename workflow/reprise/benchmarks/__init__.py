"""Benchmarks, one folder each. `contract.py` says what a folder defines; `registry.py` finds and loads it."""
