"""Stage `construction_release`: write the kept rows as a release in the authors' layout for the evaluation."""

import json
from pathlib import Path

from reprise.core.errors import UserError
from reprise.core.files import file_digest, verify_sealed_text, write_sealed_text, write_text
from reprise.core.log import log
from reprise.fetch.release_files import VIDEOS
from reprise.stages.command import In, Out

from construction.filters import kept_rows
from construction.keys import StepKey
from construction.registry import load_step, read_tables
from construction.settings import MmbenchVideoSettings


def main(settings: StepKey, tables: In[list[Path]], sets: In[list[Path]], out: Out[Path]) -> None:
    construction = settings.settings
    released_tables = read_tables(construction.kind, tables)
    if not any(kept_rows(table).height for table in released_tables.values()):
        raise UserError(
            f"{tables[0]}: no row is left to release. The target `statistics.md` in the same folder lists the "
            "dropped rows. Annotators fill in `review/tasks.csv`; save their file where `review.verdicts:` points."
        )
    files = []
    for name, content in load_step(construction.kind, "release")(released_tables, construction).items():
        path = out.parent / name
        write_text(path, content)
        files.append({"name": name, "path": str(path), "sha256": file_digest(path)})
    for path in sets:  # The videos of a set stay in the folder of the whole set.
        assert isinstance(construction, MmbenchVideoSettings) and construction.other_sets is not None
        videos = str(Path(construction.other_sets.folder) / path.stem)
        digest = file_digest(verify_sealed_text(path))
        files.append({"name": f"sets/{path.name}", "path": str(path), "sha256": digest, VIDEOS: videos})
    write_sealed_text(out, json.dumps(files, indent=1) + "\n")
    log.info(f"{len(files)} files in {out.parent}")
