"""Draw figures from the numbers of tables, and from items, clip metadata and verdicts."""
