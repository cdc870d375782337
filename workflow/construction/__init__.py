"""Construction of the papers' benchmarks: from raw annotations to a release in the authors' layout."""
