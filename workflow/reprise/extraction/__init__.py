"""Answer extraction: it finds the option that an answer chooses, or the rating that a judge gives."""
