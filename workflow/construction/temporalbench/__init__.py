"""Construction of TemporalBench from clips of several data sets and human captions (section 3 of the paper)."""
