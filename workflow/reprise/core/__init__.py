"""Provide what every other package uses: errors, atomic file writes, the store, schemas and settings."""
