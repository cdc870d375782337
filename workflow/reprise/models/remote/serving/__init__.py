"""Servers that a run's own job starts for its model, and ends: their settings, environment, process and life."""
