"""Benchmarks, one folder each. `registry.py` finds and loads them, and lists the modules that a folder defines."""
