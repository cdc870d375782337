"""Patterns of texts that a user writes, and their descriptions.

Names are used in paths and commands: none can leave its folder or mean anything to a shell.
"""

import re
from collections.abc import Iterable

SLUG = r"[a-z0-9][a-z0-9._-]*"
SLUG_IN_WORDS = "lower-case letters, digits, '.', '_' and '-', first a letter or a digit"

NAME = f"^{SLUG}$"
RUN = f"^{SLUG}/{SLUG}/{SLUG}$"
TABLE = r"^table[0-9]+$"
FIGURE = r"^(fig[0-9]+|own_[a-z0-9_]+)$"
REVISION = r"^([0-9a-f]{40}|unpinned)$"

UNFILTERED = "-unfiltered"
"""end of the name that a benchmark has here before static questions are dropped from it"""

PHRASE = r"^\w[\w' -]*$"
LINK = r"^https?://[^/@]*(/|$)"

WORDS = {
    NAME: f"a name ({SLUG_IN_WORDS})",
    RUN: f"<protocol>/<sampling>/<model>, each a name ({SLUG_IN_WORDS})",
    TABLE: "table<N>, such as table3",
    FIGURE: "fig<N>, such as fig3, or own_<name> for an analysis of our own",
    REVISION: "a commit (40 hexadecimal digits) or 'unpinned'",
    PHRASE: "letters, digits, spaces, '-' and \"'\", first a letter or a digit",
    LINK: "an http or https link without a user name or a password in it",
}


def one_of(names: Iterable[str]) -> str:
    """A wildcard's pattern: one of these names and nothing else."""
    return "|".join(map(re.escape, sorted(names))) or "(?!)"
