"""The profile of the workflow that a call of Snakemake names, as Snakemake itself finds it."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from reprise.core.paths import located

PROFILE, PROFILES, DEFAULT = "--workflow-profile", Path("profiles"), "default"
FILES = ("profile.yaml", "config.yaml")


def options_of(arguments: Sequence[str]) -> dict[str, str]:
    """The word after each word of a call; `--name=value` is two."""
    words = [word for one in arguments for word in (one.split("=", 1) if one.startswith("--") else [one])]
    return dict(pairwise(words))


def profile_file(arguments: Sequence[str]) -> Path | None:
    """The file of the profile; None without one."""
    value = options_of(arguments).get(PROFILE, DEFAULT)
    places = [located(value), located(PROFILES / value)]
    files = [*places, *(place / name for place in places for name in FILES)]
    return next((path for path in files if path.is_file()), None)
