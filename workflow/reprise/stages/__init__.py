"""Stages of the workflow: one module per rule, run by `python -m reprise.stages <stage>`."""
