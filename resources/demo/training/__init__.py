"""Tiny models of the toy world, trained from scratch on a CPU."""
