"""Commands besides snakemake: `reprise <command>`, or `python -m reprise <command>`."""

import typer


def command_line(about: str, *, with_completion: bool = False) -> typer.Typer:
    """A program of several commands; a bug keeps Python's own traceback."""
    return typer.Typer(help=about, no_args_is_help=True, add_completion=with_completion, pretty_exceptions_enable=False)
