"""TemporalBench: questions that distinguish two captions by a temporal detail, long videos, captioning, option sets."""
