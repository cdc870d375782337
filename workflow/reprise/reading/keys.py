"""Keys of what is read in answers, and in what judges say of them."""

from reprise.core.keyfile import Key
from reprise.reading.patterns import Pattern


class VerdictsKey(Key):
    """Key of the stage `verdicts`: how the answers of a protocol are read."""

    STAGE = "reprise.stages.verdicts"
    reading: str
    patterns: tuple[Pattern, ...] = ()
    """rows of the protocol's own"""
    embedder: str | None = None
    """version of the package that embeds texts, where answers are compared with what is expected"""


class JudgementsKey(Key):
    """Key of the stage `judgements`."""

    STAGE = "reprise.stages.judgements"
