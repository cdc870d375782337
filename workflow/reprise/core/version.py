"""The version, apart from what the package's top imports for notebooks: results name it."""

VERSION = "0.1.0"
