"""Servers that an inference job starts for its model and stops: settings, environment and processes."""
