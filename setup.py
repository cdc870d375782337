"""Add the workflow's files to the package; all other settings of the build are in pyproject.toml.

In a clone, the Snakefile, configuration and resources are beside the library. An installed package has the same tree in
`reprise/project/` (`WORKFLOW` in `workflow/reprise/core/paths.py`).
"""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

TARGET = "reprise/project"
# Folders of `resources/` are named here, because a clone may also have a store and checkpoints there.
RESOURCES = ("demo", "imports", "prompts", "published", "rehearsal", "runners", "subsets")
PATTERNS = (
    *("Snakefile", "workflow/rules/*", "workflow/*/rules.smk", "workflow/report/*"),
    *("config/**/*", "profiles/**/*", "envs/*", "docs/**/*.md", "docs/images/*"),
    *(f"resources/{name}/**/*" for name in RESOURCES),
)
EXCLUDED = {"training", "__pycache__"}  # The training of the toy checkpoints belongs to no run.


class BuildWithProject(build_py):
    """Build the library, and copy the workflow's files beside it."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for path in list_files():
                target = Path(self.build_lib, TARGET, path)
                self.mkpath(str(target.parent))
                self.copy_file(str(path), str(target))

    def get_source_files(self) -> list[str]:
        """Return the files that a source distribution contains."""
        return [*super().get_source_files(), *map(str, list_files())]


def list_files() -> list[Path]:
    """Return the workflow's files, relative to this folder."""
    paths = (path for pattern in PATTERNS for path in sorted(Path().glob(pattern)))
    return [path for path in paths if path.is_file() and EXCLUDED.isdisjoint(path.parts)]


setup(cmdclass={"build_py": BuildWithProject})
