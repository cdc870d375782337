"""GPU check (`make gpu-check`): one line per risk of a machine with GPUs, with random weights and without a network."""
