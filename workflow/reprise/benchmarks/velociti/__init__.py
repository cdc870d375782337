"""VELOCITI: video-language entailment, with seven tests and a control."""
