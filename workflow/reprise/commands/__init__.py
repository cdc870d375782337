"""Commands of `reprise <command>`, in addition to Snakemake's own."""

import typer


def command_line(about: str, *, with_completion: bool = False) -> typer.Typer:
    """Return a Typer app for several commands that shows Python's own traceback for a bug."""
    return typer.Typer(help=about, no_args_is_help=True, add_completion=with_completion, pretty_exceptions_enable=False)
