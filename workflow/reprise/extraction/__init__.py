"""Answer extraction: find the option that an answer chooses, or the rating that a judge's reply gives."""
