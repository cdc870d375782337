"""TemporalBench: choices between captions that differ in a temporal detail, for short and long videos; captioning."""
