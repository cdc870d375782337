"""Plan a suite: its runs, the settings of its jobs, and the paths of its results."""
