"""Write the reference of the commands from the commands themselves."""

import re
from collections.abc import Iterator
from typing import Any

from reprise.__main__ import app
from typer.main import get_command

PAGE = "docs/reference/commands.md"
HEAD = """# Commands

Written by `make reference` from the commands: to change this page, change `workflow/reprise/__main__.py`.

`reprise` is the console command, `python -m reprise` the same; both run in the working directory of `snakemake`.
A run is named
`<benchmark>/<protocol>/<sampling>/<model>`, or by as many of these parts, or parts of them, as identify it:
`mc/oracle`. `--suite` looks at another suite than the configured one. `reprise --install-completion` has your shell
complete commands, suites, runs and tables. `reprise <command> --help` says the same as this page.
"""


def page() -> str:
    """Return the page."""
    parts, panel = [HEAD], ""
    for name, command in commands().items():
        if command.rich_help_panel != panel:
            panel = command.rich_help_panel
            parts.append(f"## {panel}\n")
        parts += _command_section(name, command)
    return "\n".join(parts)


def commands() -> dict[str, Any]:
    """Return every command by its name, in the order of the help."""
    group: Any = get_command(app)
    return dict(group.commands)


def _command_section(name: str, command: Any) -> Iterator[str]:
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    required = [
        parameter for parameter in command.params if parameter.param_type_name == "option" and parameter.required
    ]
    usage = " ".join([f"reprise {name}", *map(_usage, arguments), *map(_spelling, required)])
    yield f"### `{usage}`\n\n{command.help}\n"
    lines = [
        f"| `{_spelling(parameter)}` | {_description(parameter)} |"
        for parameter in command.params
        if parameter.name != "help"
    ]
    if lines:
        yield "\n".join(["| | |", "|---|---|", *lines]) + "\n"


def _usage(parameter: Any) -> str:
    text = f"{parameter.metavar}{'...' if parameter.nargs == -1 else ''}"
    return text if parameter.required else f"[{text}]"


def _spelling(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return str(parameter.metavar)
    option = max(parameter.opts, key=len)
    return option if parameter.is_flag else f"{option} {parameter.metavar}"


def _description(parameter: Any) -> str:
    text = re.sub(r"([<>*|])", r"\\\1", parameter.help)
    if parameter.param_type_name == "option" and parameter.required:
        return f"{text}; required"
    return f"{text}; {parameter.default} by default" if parameter.default not in (None, False, [], ()) else text
