"""A wrong key in a profile: told in words, before Snakemake answers it with all of its options.

The project's profiles call this while Snakemake reads them, as no other code of the project runs that early.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reprise.core.paths import profile_file

# Keys of the template language of profiles: what they hold is a part of the profile, or none of it.
CONDITION, OWN = "?", "__"


def check_keys(arguments: Sequence[str] = sys.argv) -> None:
    path = profile_file(arguments)
    if path is None:
        return
    from reprise.core.errors import choices
    from reprise.core.plain import safe
    from reprise.core.yaml_files import load_yaml
    from snakemake.cli import get_argument_parser

    parser = get_argument_parser()  # with the options of the plugins that are installed here
    allowed = {key.lstrip("-") for action in parser._actions for key in parser.get_possible_config_keys(action)}
    wrong = [key for key in _keys(load_yaml(path)) if key not in allowed]
    if wrong:
        problems = "\n".join(f"{path}: unknown key '{key}'.{choices(key, allowed)}" for key in wrong)
        sys.exit(
            safe(
                f"Error: {problems}\nA key is an option of snakemake without its `--`; `make cluster` installs those "
                "that begin with `slurm-`."
            )
        )


def _keys(profile: Mapping[str, Any]) -> Iterator[str]:
    for key, value in profile.items():
        if key.startswith(CONDITION) and isinstance(value, Mapping):
            yield from _keys(value)
        elif not key.startswith((CONDITION, OWN)):
            yield key
