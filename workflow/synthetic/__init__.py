"""Synthetic data as plug-ins of the library: the toy world with known truth, and the full-size rehearsal."""
