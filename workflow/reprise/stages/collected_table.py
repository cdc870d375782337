"""Stage `collect`: Table N of every paper that has one, in one file of a format."""

from pathlib import Path

from reprise.core.checksums import sealed_text
from reprise.core.errors import run_command
from reprise.core.files import write_text
from reprise.stages.arguments import arguments
from reprise.tables.render import collect


def main() -> None:
    args = arguments("Collect a table of several papers.", table=str, parts=[Path], out=Path)
    title = f"Table {args.table.removeprefix('table')} of every paper that has one"
    parts = [sealed_text(path).read_text(encoding="utf-8") for path in args.parts]
    write_text(args.out, collect(title, parts, args.out.suffix.removeprefix(".")))


if __name__ == "__main__":
    run_command(main)
