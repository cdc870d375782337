"""Models in this process: transformers, open_clip, texts, and stand-ins that are no models."""
