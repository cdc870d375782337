"""TemporalBench: two captions of a video that differ in a temporal detail; long videos; captioning; option sets."""
