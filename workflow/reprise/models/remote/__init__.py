"""Adapters for models behind an HTTP API: vendors, running servers, and servers that a job starts."""
