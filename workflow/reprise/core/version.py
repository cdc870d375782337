"""Define the version that results record, in a module without imports."""

VERSION = "0.1.0"
