"""Timing comparisons: `python -m bench`, or `make bench`."""
