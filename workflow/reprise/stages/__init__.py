"""One module a rule: what `python -m reprise.stages.<stage>` does."""
