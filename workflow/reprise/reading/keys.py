"""The key of what is read in answers."""

from reprise.core.settings import Key
from reprise.reading.patterns import Pattern


class VerdictsKey(Key):
    """Key of the stage `verdicts`: how the answers of a protocol are read."""

    reading: str
    patterns: tuple[Pattern, ...] = ()
    """rows of the protocol's own"""
    embedder: str | None = None
    """version of the package that embeds texts, where answers are compared with what is expected"""
