"""Stage `construction_release`: what was kept, as a release in the authors' layout, which the evaluation reads."""

import json
from pathlib import Path

from reprise.construction.filters import kept
from reprise.construction.keys import StepKey
from reprise.construction.registry import load_step, read_tables
from reprise.construction.settings import MmbenchVideoSettings
from reprise.core.errors import UserError
from reprise.core.files import file_digest, sealed_text, write_sealed, write_text
from reprise.core.log import log
from reprise.fetch.release_files import VIDEOS
from reprise.stages.command import In, Out


def main(key: In[StepKey], tables: In[list[Path]], sets: In[list[Path]], out: Out[Path]) -> None:
    settings = key.settings
    made = read_tables(settings.kind, tables)
    if not any(kept(table).height for table in made.values()):
        raise UserError(
            f"{tables[0]}: nothing is left to release. Beside it, `statistics.md`, a target, says which filter "
            "dropped what, and `review/tasks.csv` is for people to fill in: put it where `review.verdicts:` says."
        )
    listing = []
    for name, content in load_step(settings.kind, "release")(made, settings).items():
        path = out.parent / name
        write_text(path, content)
        listing.append({"name": name, "path": str(path), "sha256": file_digest(path)})
    for path in sets:  # whose videos stay where the whole set is
        assert isinstance(settings, MmbenchVideoSettings) and settings.other_sets is not None  # no other draws any
        videos, digest = str(Path(settings.other_sets.folder) / path.stem), file_digest(sealed_text(path))
        listing.append({"name": f"sets/{path.name}", "path": str(path), "sha256": digest, VIDEOS: videos})
    write_sealed(out, json.dumps(listing, indent=1) + "\n")
    log.info(f"{len(listing)} files in {out.parent}")
