"""Performance benchmarks: `python -m bench`, or `make bench`."""
