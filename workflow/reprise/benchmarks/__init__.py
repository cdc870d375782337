"""Benchmarks: a folder each. What such a folder defines stands in `contract.py`; `registry.py` finds and loads it."""
