"""Configuration of a suite: a module of types for each kind of file, reading (`load`), and checks across files."""
