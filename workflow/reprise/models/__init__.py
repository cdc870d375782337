"""Run models: adapters, inference jobs with their response cache, devices and text embeddings."""
