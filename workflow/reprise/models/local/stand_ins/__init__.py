"""What answers in place of a model: baselines with known scores, judges by words, and a writer by templates."""
