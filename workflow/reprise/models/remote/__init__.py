"""Models behind a connection: vendors, servers that run, and servers that a job starts."""
