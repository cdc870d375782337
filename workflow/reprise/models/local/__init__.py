"""Models that run in this process: transformers, open_clip and text-only models, and baselines that need no model."""
