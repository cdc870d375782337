"""The reference of the commands, from the commands themselves."""

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
`<benchmark>/<protocol>/<sampling>/<model>`, or by as many of these parts, or pieces of them, as tell it from others:
`mc/oracle`. `--suite` looks at another suite than the configured one. `reprise --install-completion` has your shell
complete commands, suites, runs and tables. `reprise <command> --help` says the same as this page.
"""


def page() -> str:
    """The page."""
    parts, panel = [HEAD], ""
    for name, command in commands().items():
        if command.rich_help_panel != panel:
            panel = command.rich_help_panel
            parts.append(f"## {panel}\n")
        parts += _command(name, command)
    return "\n".join(parts)


def commands() -> dict[str, Any]:
    """Every command by its name, in the order of the help."""
    group: Any = get_command(app)
    return dict(group.commands)


def _command(name: str, command: Any) -> Iterator[str]:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    required = [one for one in command.params if one.param_type_name == "option" and one.required]
    usage = " ".join([f"reprise {name}", *map(_usage, arguments), *map(_spelled, required)])
    yield f"### `{usage}`\n\n{command.help}\n"
    lines = [f"| `{_spelled(one)}` | {_sentence(one)} |" for one in command.params if one.name != "help"]
    if lines:
        yield "\n".join(["| | |", "|---|---|", *lines]) + "\n"


def _usage(one: Any) -> str:
    text = f"{one.metavar}{'...' if one.nargs == -1 else ''}"
    return text if one.required else f"[{text}]"


def _spelled(one: Any) -> str:
    if one.param_type_name == "argument":
        return str(one.metavar)
    option = max(one.opts, key=len)
    return option if one.is_flag else f"{option} {one.metavar}"


def _sentence(one: Any) -> str:
    text = re.sub(r"([<>*|])", r"\\\1", one.help)
    if one.param_type_name == "option" and one.required:
        return f"{text}; required"
    return f"{text}; {one.default} by default" if one.default not in (None, False, [], ()) else text
