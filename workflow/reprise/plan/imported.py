"""The imported runs and ratings of a suite: which of their files are there."""

from pathlib import Path

from reprise.config import Configuration, import_folder, import_settings, is_import
from reprise.core.paths import Run, Scored
from reprise.external import load_importer, load_rating_importer
from reprise.media.sampling import frames_shown


class Imports:
    """The files of imported answers and ratings, looked for once."""

    def __init__(self, config: Configuration) -> None:
        self._config = config
        self._found: dict[Scored, list[Path]] = {}
        self.models = frozenset(slug for slug, model in config.models.items() if is_import(model))

    def answer_files(self, run: Run) -> list[Path]:
        """The files of an imported run; none where they are not there."""
        if Scored(run) not in self._found:
            runs = import_settings(self._config.models[run.model]).runs
            folder = self._folder(run.model, run.benchmark, runs.get(f"{run.benchmark}/{run.protocol}/{run.sampling}"))
            form = self._config.benchmarks[run.benchmark].protocols[run.protocol].form
            frames = frames_shown(self._config.main.samplings[run.sampling])
            files = load_importer(run.benchmark).FORMS[form]
            self._found[Scored(run)] = files.find(folder, frames) if folder else []
        return self._found[Scored(run)]

    def rating_files(self, run: Run, judge: str) -> list[Path]:
        """The file of an imported judge's ratings of a run; none where it is not there."""
        rated = Scored(run, judge)
        if rated not in self._found:
            ratings = import_settings(self._config.models[judge]).ratings
            folder = self._folder(judge, run.benchmark, ratings.get(run.name))
            importer = load_rating_importer(run.benchmark) if folder else None
            self._found[rated] = importer.rating_files(folder) if importer and folder else []
        return self._found[rated]

    def _folder(self, slug: str, benchmark: str, folder: str | None) -> Path | None:
        place = None if folder is None else import_folder(slug, benchmark, folder)
        return place if place is not None and place.is_dir() else None
