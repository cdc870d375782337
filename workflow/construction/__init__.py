"""The papers' own making of their benchmarks: from raw annotations to a release in the authors' layout."""
