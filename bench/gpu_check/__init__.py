"""`make gpu-check`: one line per risk of a machine with GPUs, measured with random weights and without a network."""
