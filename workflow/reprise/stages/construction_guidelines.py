"""Stage `construction_guidelines`: what annotators are told, and the file that they fill in."""

from pathlib import Path

from reprise.construction.keys import AnnotationKey
from reprise.construction.mmbench_video.writing import guidelines
from reprise.construction.registry import read_tables
from reprise.construction.settings import MmbenchVideoSettings
from reprise.core.errors import run_command
from reprise.core.files import write_text
from reprise.core.keyfile import read_key
from reprise.core.log import log
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments("Write the task of annotators.", key=Path, tables=[Path], guidelines=Path, tasks=Path)
    settings = read_key(args.key, AnnotationKey).settings
    if not isinstance(settings, MmbenchVideoSettings):
        raise ValueError(f"{args.key}: nobody writes questions for {settings.kind}")
    page, rows = guidelines(settings, read_tables(settings.kind, args.tables)["pool"])
    write_text(args.guidelines, page)
    write_text(args.tasks, rows)
    log.info(f"{args.tasks}: for annotators to fill in, with {args.guidelines} beside it")


if __name__ == "__main__":
    run_command(main)
