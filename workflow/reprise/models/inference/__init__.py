"""Inference: it sends requests to models, checks and caches the answers, counts failures and keeps to a budget."""
