"""What each file of rules asks of a suite: the keys of its stages, and input functions from wildcards to paths."""
