"""Check the keys in a profile. For a wrong key, Snakemake itself would print all its options.

The project's profiles call this check while Snakemake reads them, because no other code of the project runs so early.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reprise.core.paths import find_profile_file

# Prefixes of keys in the template language of profiles. The content of a `?` key belongs to the profile. The content of
# a `__` key does not.
CONDITION, PRIVATE = "?", "__"


def check_keys(arguments: Sequence[str] = sys.argv) -> None:
    """Exit with a message if the profile of a call has unknown keys."""
    path = find_profile_file(arguments)
    if path is None:
        return
    from reprise.core.errors import describe_choices
    from reprise.core.plain import sanitize
    from reprise.core.yaml_files import load_yaml
    from snakemake.cli import get_argument_parser

    parser = get_argument_parser()  # It includes the options of the installed plugins.
    allowed_keys = {key.lstrip("-") for action in parser._actions for key in parser.get_possible_config_keys(action)}
    unknown_keys = [key for key in _iter_keys(load_yaml(path)) if key not in allowed_keys]
    if unknown_keys:
        problems = "\n".join(
            f"{path}: unknown key '{key}'.{describe_choices(key, allowed_keys)}" for key in unknown_keys
        )
        sys.exit(
            sanitize(
                f"Error: {problems}\nA key is a snakemake option without `--`; "
                "snakemake-executor-plugin-slurm adds those that begin with `slurm-` (`make cluster` installs it)."
            )
        )


def _iter_keys(profile: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys that Snakemake reads, including those under conditions."""
    for key, value in profile.items():
        if key.startswith(CONDITION) and isinstance(value, Mapping):
            yield from _iter_keys(value)
        elif not key.startswith((CONDITION, PRIVATE)):
            yield key
