"""Reprise: reproduces the numbers of video-language benchmarks."""

import os

__version__ = "0.1.0"

# A job is given one core; polars would start a thread for every core of the machine and wait for them.
os.environ.setdefault("POLARS_MAX_THREADS", "1")
