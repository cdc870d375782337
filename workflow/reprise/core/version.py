"""The version, which results record; apart from the package's own module, which imports more for notebooks."""

VERSION = "0.1.0"
