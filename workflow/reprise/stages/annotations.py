"""Stage `annotations`: a benchmark's release, whatever its layout, as clips and items in one schema."""

from pathlib import Path

from reprise.benchmarks.keys import AnnotationsKey
from reprise.benchmarks.registry import load_release
from reprise.benchmarks.rows import with_long_texts_flawed
from reprise.core.errors import UserError, run_command
from reprise.core.keyfile import read_key
from reprise.core.log import log
from reprise.core.schemas import CLIPS, ITEMS, write_table
from reprise.core.tabular import listed_files
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments(
        "Read a release into clips.parquet and items.parquet.", key=Path, release=Path, clips=Path, items=Path
    )
    key = read_key(args.key, AnnotationsKey)
    files = list(listed_files(args.release).values())
    found = load_release(key.benchmark).read_release(files, key.clips, key.options)
    items_found = list(with_long_texts_flawed(found.items, key.text_chars_max))
    clips, items = found._replace(items=items_found).tables()
    for name, column, frame in (("clip", "clip_id", clips), ("item", "item_id", items)):
        twice = frame.filter(frame[column].is_duplicated())
        if twice.height:
            raise UserError(f"{args.release}: duplicate {name} id '{twice[column][0]}'. Remove one of them.")
    write_table(clips, args.clips, CLIPS, args.made_under)
    write_table(items, args.items, ITEMS, args.made_under)
    log.info(f"{clips.height} clips of {clips['unit'].n_unique()} units, {items.height} items")


if __name__ == "__main__":
    run_command(main)
