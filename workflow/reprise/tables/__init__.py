"""Build tables from specifications, metrics and published numbers, and render them in every format."""
