"""The stages of this package, one module each."""
