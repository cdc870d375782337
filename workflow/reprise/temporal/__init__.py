"""Temporal profile of a model: its scores under temporal ablations of its clips, and what they may claim."""
