"""MMBench-Video: free-form answers about long videos, rated by a judge, over a taxonomy of abilities."""
