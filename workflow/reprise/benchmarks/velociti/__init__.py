"""VELOCITI: video-language entailment by seven tests and a control."""
