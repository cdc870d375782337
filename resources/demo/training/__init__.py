"""Train tiny models of the toy world from scratch on a CPU."""
