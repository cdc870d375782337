"""Fetch source videos into the store by any route."""
