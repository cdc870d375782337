"""Stage `construction_release`: what was kept, as a release in the authors' layout, which the evaluation reads."""

import json
from pathlib import Path

from reprise.construction.filters import kept
from reprise.construction.keys import ConstructedReleaseKey
from reprise.construction.registry import load_step, read_tables
from reprise.construction.settings import Construction, MmbenchVideoSettings
from reprise.core.checksums import seal_text, sealed_text
from reprise.core.errors import UserError, run_command
from reprise.core.files import file_digest, write_text
from reprise.core.keyfile import read_key
from reprise.core.log import log
from reprise.fetch.release_files import VIDEOS
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments("Write a constructed release.", key=Path, tables=[Path], sets=[Path], out=Path)
    settings = read_key(args.key, ConstructedReleaseKey).settings
    tables = read_tables(settings.kind, args.tables)
    if not any(kept(table).height for table in tables.values()):
        raise UserError(
            f"{args.tables[0]}: nothing is left to release. Beside it, `statistics.md`, a target, says which filter "
            "dropped what, and `review/tasks.csv` is for people to fill in: put it where `review.verdicts:` says."
        )
    listing = []
    for name, content in load_step(settings.kind, "release")(tables, settings).items():
        path = args.out.parent / name
        write_text(path, content)
        listing.append({"name": name, "path": str(path), "sha256": file_digest(path)})
    listing += [_drawn(path, settings) for path in args.sets]
    write_text(args.out, json.dumps(listing, indent=1) + "\n")
    seal_text(args.out)
    log.info(f"{len(listing)} files in {args.out.parent}")


def _drawn(path: Path, settings: Construction) -> dict[str, str]:
    """The manifest of another set, whose videos stay where the whole set is."""
    assert isinstance(settings, MmbenchVideoSettings) and settings.other_sets is not None  # no other draws any
    videos = str(Path(settings.other_sets.folder) / path.stem)
    return {"name": f"sets/{path.name}", "path": str(path), "sha256": file_digest(sealed_text(path)), VIDEOS: videos}


if __name__ == "__main__":
    run_command(main)
