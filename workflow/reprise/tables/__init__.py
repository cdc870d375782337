"""Tables: from a specification, metrics and published numbers to LaTeX, tidy CSV, Markdown and HTML."""
