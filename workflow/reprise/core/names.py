"""Patterns of names in the configuration with their descriptions, numbers in names, and the shard of a name.

A name that matches `SLUG` is safe as a part of a path and as an argument of a shell command.
"""

import re
from collections.abc import Iterable
from decimal import Decimal
from hashlib import sha256

SLUG = r"[a-z0-9][a-z0-9._-]*"
SLUG_DESCRIPTION = "lower-case letters, digits, '.', '_' and '-', first a letter or a digit"

NAME = f"^{SLUG}$"
# A run of a benchmark that is named elsewhere: protocol, sampling and model.
RUN = f"^{SLUG}/{SLUG}/{SLUG}$"
TABLE = r"^table[0-9]+$"
FIGURE = r"^(fig[0-9]+|own_[a-z0-9_]+)$"
REVISION = r"^([0-9a-f]{40}|unpinned)$"
UNPINNED = "unpinned"
LABEL = r"\S"

# Suffix for the name of a constructed benchmark that still has its static questions, which a single frame answers.
UNFILTERED = "-unfiltered"

PHRASE = r"^\w[\w' -]*$"
LINK = r"^https?://[^/@]*(/|$)"

PATTERN_DESCRIPTIONS = {
    NAME: f"a name ({SLUG_DESCRIPTION})",
    RUN: f"<protocol>/<sampling>/<model>, each a name ({SLUG_DESCRIPTION})",
    TABLE: "table<N>, such as table3",
    FIGURE: "fig<N>, such as fig3, or own_<name> for an analysis of our own",
    REVISION: "a commit (40 hexadecimal digits) or 'unpinned'",
    LABEL: "a text that is not empty",
    PHRASE: "letters, digits, spaces, '-' and \"'\", first a letter or a digit",
    LINK: "an http or https link without a user name or a password in it",
}


def any_of_pattern(names: Iterable[str]) -> str:
    """Return a pattern that matches exactly these names; without names it matches nothing."""
    return "|".join(map(re.escape, sorted(names))) or "(?!)"


def format_seconds(time: float) -> str:
    """Return a time as a decimal text that parses to the same number, such as `10` or `12345.678`."""
    return f"{Decimal(repr(float(time))):f}".removesuffix(".0")


def compute_shard(cluster: str, shard_count: int) -> int:
    """Return the shard of a cluster: a stable hash of the cluster's name modulo the number of shards."""
    return int(sha256(cluster.encode()).hexdigest()[:15], 16) % shard_count
