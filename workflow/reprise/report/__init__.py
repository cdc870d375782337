"""Build the report: a static site with tables, figures, a page for each run, and every item with its answers."""
