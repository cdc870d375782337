"""What a suite asks for: runs, keys, paths."""
