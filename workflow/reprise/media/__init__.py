"""Probe, decode, sample, trim and concatenate videos, and measure their shots and motion."""
