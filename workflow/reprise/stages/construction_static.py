"""Stage `construction_static`: questions that a model answers from one random frame are dropped, and listed."""

from pathlib import Path

from reprise.construction.filters import kept
from reprise.construction.keys import StaticKey
from reprise.construction.mmbench_video.review import static
from reprise.construction.registry import read_tables, write_tables
from reprise.construction.review import Problem, as_sheet, warn_of
from reprise.construction.settings import MmbenchVideoSettings
from reprise.core.errors import run_command
from reprise.core.files import write_text
from reprise.core.keyfile import read_key, refuse_edited
from reprise.core.log import log
from reprise.core.schemas import VERDICTS, read_table
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments(
        "Drop static questions.", key=Path, reviewed=Path, ratings=[Path], tasks=Path, problems=Path, out=Path
    )  # fmt: skip
    key = read_key(args.key, StaticKey)
    settings = key.settings
    if not isinstance(settings, MmbenchVideoSettings) or settings.static is None:
        raise ValueError(f"{args.key}: no filter of static questions")
    reviewed = read_tables(settings.kind, [args.reviewed])["reviewed"]
    rated = [read_table(path, VERDICTS) for path in args.ratings]
    found = static(reviewed, rated, list(map(Path, key.verdicts)), settings)
    refuse_edited(key.verdicts)
    write_text(args.tasks, as_sheet(found.tasks, found.columns))
    write_text(args.problems, as_sheet([one._asdict() for one in found.problems], Problem._fields))
    table = write_tables(settings.kind, {"static": found.reviewed}, [args.out], args.made_under)["static"]
    warn_of(found.problems, args.problems)
    log.info(f"{kept(table).height} of {table.height} questions kept; {args.tasks} is for people to check")


if __name__ == "__main__":
    run_command(main)
