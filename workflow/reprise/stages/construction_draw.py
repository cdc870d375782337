"""Stage `construction_draw`: questions of another set of videos, drawn by a seed, as a manifest."""

from pathlib import Path

from reprise.construction.keys import DrawKey
from reprise.construction.mmbench_video.other_sets import drawn
from reprise.core.checksums import seal_text
from reprise.core.errors import run_command
from reprise.core.files import write_text
from reprise.core.keyfile import read_key
from reprise.core.log import log
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments("Draw questions of another set.", key=Path, set=str, file=Path, out=Path)
    key = read_key(args.key, DrawKey)
    found = drawn(args.file, key.count, key.scoring[args.set], key.seed)
    write_text(args.out, found.write_csv())
    seal_text(args.out)
    if found.height < key.count:
        log.warning(f"{args.file}: {found.height} questions, fewer than the {key.count} that are to be drawn: all are.")
    log.info(f"{args.out}: {found.height} questions of {args.set}, scored by {key.scoring[args.set]}")


if __name__ == "__main__":
    run_command(main)
