"""Command `init`: create a working directory with a Snakefile, configuration and profiles."""

import shlex
import shutil
from pathlib import Path

from reprise.commands.output import write_lines
from reprise.core.errors import UserError
from reprise.core.files import draft_folder
from reprise.core.paths import PROFILES_FOLDER, WORKFLOW

SNAKEFILE = """\
# Runs the workflow of the installed package `reprise` with the configuration of this folder.
from reprise.core.paths import WORKFLOW


include: f"{WORKFLOW}/Snakefile"


rule default:
    default_target: True
    input:
        rules.all.input,
"""
CONFIG = """\
# yaml-language-server: $schema=schemas/config.schema.json
# Settings that all suites share. The other settings of a suite are in suites/<suite>.yaml.
suite: demo  # `paper` for the papers' benchmarks

# Folder of videos, clips, weights and answers. Several working directories can share it.
store: resources/store
"""
ENTRIES = "Snakefile", "config", "profiles"  # Files and folders of a new working directory.
# Folders that are copied from the workflow. All other files are read from the workflow's own folder.
COPIED = Path("config/suites"), Path("config/schemas"), PROFILES_FOLDER


def create_working_directory(folder: Path) -> None:
    """Create a working directory, and print the next commands.

    Raises:
        UserError: The folder has one of the entries; nothing is changed.
    """
    existing = [name for name in ENTRIES if (folder / name).exists()]
    if existing:
        raise UserError(
            f"init: {folder.absolute()} already has {', '.join(existing)}. Nothing was changed. "
            "Name another folder: reprise init <folder>"
        )
    with draft_folder(folder) as draft:
        (draft / "Snakefile").write_text(SNAKEFILE, encoding="utf-8")
        for file in (file for path in COPIED for file in (WORKFLOW / path).rglob("*") if file.is_file()):
            target = draft / file.relative_to(WORKFLOW)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
        (draft / "config/config.yaml").write_text(CONFIG, encoding="utf-8")
    change_folder = "" if folder.resolve() == Path.cwd() else f"  cd {shlex.quote(str(folder))}\n"
    write_lines(
        [
            f"""Created Snakefile, config/ and profiles/ in {folder.absolute()}. Next:

{change_folder}  snakemake all report --cores 2  # a toy world's tables and report, in minutes
  reprise eval <model>            # <owner>/<name> of the hub, or a folder of weights

With `suite: paper` in config/config.yaml, both use the papers' benchmarks.
Models, tables, prompts and documentation: {WORKFLOW}
To change one of these files, copy it to the same path in this folder."""
        ]
    )
