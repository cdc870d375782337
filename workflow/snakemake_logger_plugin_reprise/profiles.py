"""Check of the keys in a profile, with a clear message before Snakemake answers a wrong key with all its options.

The project's profiles call this while Snakemake reads them, since no other code of the project runs that early.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reprise.core.paths import profile_file

# Prefixes of keys of the profiles' template language: the content of `?` keys belongs to the profile, that of `__` keys
# does not.
CONDITION, PRIVATE = "?", "__"


def check_keys(arguments: Sequence[str] = sys.argv) -> None:
    path = profile_file(arguments)
    if path is None:
        return
    from reprise.core.errors import describe_choices
    from reprise.core.plain import sanitize
    from reprise.core.yaml_files import load_yaml
    from snakemake.cli import get_argument_parser

    parser = get_argument_parser()  # It includes the options of the installed plugins.
    allowed = {key.lstrip("-") for action in parser._actions for key in parser.get_possible_config_keys(action)}
    unknown = [key for key in _keys(load_yaml(path)) if key not in allowed]
    if unknown:
        problems = "\n".join(f"{path}: unknown key '{key}'.{describe_choices(key, allowed)}" for key in unknown)
        sys.exit(
            sanitize(
                f"Error: {problems}\nA key is a snakemake option without `--`; "
                "`make cluster` installs the options that begin with `slurm-`."
            )
        )


def _keys(profile: Mapping[str, Any]) -> Iterator[str]:
    for key, value in profile.items():
        if key.startswith(CONDITION) and isinstance(value, Mapping):
            yield from _keys(value)
        elif not key.startswith((CONDITION, PRIVATE)):
            yield key
