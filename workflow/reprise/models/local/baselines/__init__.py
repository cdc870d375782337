"""Baselines that answer in place of a model: known scores, word-matching judges and a template writer."""
