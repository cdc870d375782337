"""Write the reference of the commands from the commands themselves."""

import re
from collections.abc import Iterator
from typing import Any

from reprise.__main__ import app
from reprise.commands.definitions.options import RUN_HELP
from typer.main import get_command

PAGE = "docs/reference/commands.md"
HEAD = """# Commands

Written by `make reference` from `workflow/reprise/commands/definitions/`. `reprise` and `python -m reprise` are the
same command; run it in the working directory of `snakemake`. `reprise <command> --help` shows the text of this page,
and `reprise --install-completion` completes commands, runs, tables and, except in bash, suites.

- `RUN` is `<benchmark>/<protocol>/<sampling>/<model>`, or enough of these parts to be unique, such as `mc/oracle`.
- `--config suite=NAME` or `-C suite=NAME` selects a suite other than the configured one, as for `snakemake`.
  All commands take it except `init`, `pin` and `store`.
"""


def page() -> str:
    """Return the page."""
    parts, panel = [HEAD], ""
    described: dict[str, str] = {}
    for name, command in commands().items():
        if command.rich_help_panel != panel:
            panel = command.rich_help_panel
            parts.append(f"## {panel}\n")
        parts += _command_section(name, command, described)
    return "\n".join(parts)


def commands() -> dict[str, Any]:
    """Return every command by its name, in the order of the help."""
    group: Any = get_command(app)
    return dict(group.commands)


def _command_section(name: str, command: Any, described: dict[str, str]) -> Iterator[str]:
    """Yield the section of a command.

    A parameter that an earlier command describes in the same way is only named. `described` maps the description of
    each parameter to the first command that has it; this function adds the parameters of its command.
    """
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    required = [
        parameter for parameter in command.params if parameter.param_type_name == "option" and parameter.required
    ]
    usage = " ".join([f"reprise {name}", *map(_usage, arguments), *map(_spelling, required)])
    yield f"### `{usage}`\n\n{command.help}\n"
    lines, repeated = [], []
    for parameter in command.params:
        if parameter.name in ("help", "suite") or parameter.help == RUN_HELP:
            continue
        line = f"- `{_spelling(parameter)}`: {_description(parameter)}"
        if described.setdefault(line, name) == name:
            lines.append(line)
        else:
            repeated.append(f"`{_spelling(parameter)}`")
            first_command = described[line]
    if repeated:
        lines.append(f"- {', '.join(repeated)}: as for `reprise {first_command}`")
    if lines:
        yield "\n".join(lines) + "\n"


def _usage(parameter: Any) -> str:
    """Return an argument as it is written in a call; one that may be left out is in brackets."""
    text = f"{parameter.metavar}{'...' if parameter.nargs == -1 else ''}"
    return text if parameter.required else f"[{text}]"


def _spelling(parameter: Any) -> str:
    """Return an argument's name, or an option's longest name with a placeholder for its value."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar)
    option = max(parameter.opts, key=len)
    return option if parameter.is_flag else f"{option} {parameter.metavar or 'N'}"


def _description(parameter: Any) -> str:
    """Return the help of a parameter for Markdown, with its default."""
    text = re.sub(r"([<>*|])", r"\\\1", parameter.help)
    if parameter.param_type_name == "option" and parameter.required:
        return f"{text}; required"
    return f"{text}; {parameter.default} by default" if parameter.default not in (None, False, "", [], ()) else text
