"""Baselines that replace a model: answerers with known scores, judges that match words, and a template writer."""
