"""TemporalBench from clips of several data sets and people's captions of them: section 3 of the paper."""
