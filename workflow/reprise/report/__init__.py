"""The report: a static site with the tables, the figures, a page for each run, and every item with its answers."""
