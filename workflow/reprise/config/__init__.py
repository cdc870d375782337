"""The configuration: its types, a module a kind of file; its reading (`load`), and the checks across its files."""
