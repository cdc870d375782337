"""The imported runs of a suite: which of their files are there, and the keys that change with them."""

from pathlib import Path
from typing import Any

from reprise.config import Configuration, import_folder, import_settings, is_import
from reprise.core.code_digest import modules_digest
from reprise.core.errors import UserError
from reprise.core.files import value_digest
from reprise.core.store import Store
from reprise.external import load_importer, load_rating_importer
from reprise.media.sampling import frames_shown


class Imports:
    """Runs are named <benchmark>/<protocol>/<sampling>/<model>."""

    def __init__(self, config: Configuration, store: Store) -> None:
        self._config = config
        self._store = store
        self._found: dict[tuple[str, str], list[Path]] = {}
        self.models = frozenset(slug for slug, model in config.models.items() if is_import(model))

    def answer_files(self, run: str) -> list[Path]:
        """The files of an imported run; none where they are not there."""
        if (run, "") not in self._found:
            benchmark, protocol, sampling, slug = run.split("/")
            runs = import_settings(self._config.models[slug]).runs
            folder = self._folder(slug, benchmark, runs.get(f"{benchmark}/{protocol}/{sampling}"))
            form = self._config.benchmarks[benchmark].protocols[protocol].form
            frames = frames_shown(self._config.main.samplings[sampling])
            self._found[run, ""] = load_importer(benchmark).FORMS[form].find(folder, frames) if folder else []
        return self._found[run, ""]

    def rating_files(self, run: str, judge: str) -> list[Path]:
        """The file of an imported judge's ratings of a run; none where it is not there."""
        if (run, judge) not in self._found:
            benchmark = run.split("/")[0]
            folder = self._folder(judge, benchmark, import_settings(self._config.models[judge]).ratings.get(run))
            importer = load_rating_importer(benchmark) if folder else None
            self._found[run, judge] = importer.rating_files(folder) if importer and folder else []
        return self._found[run, judge]

    def _folder(self, slug: str, benchmark: str, folder: str | None) -> Path | None:
        place = None if folder is None else import_folder(slug, benchmark, folder)
        return place if place is not None and place.is_dir() else None

    def run_key(self, run: str, asked: dict[str, Any]) -> dict[str, Any]:
        """The key of an imported run: its files, and the code that reads them."""
        files = self.answer_files(run)
        benchmark, slug = run.split("/")[0], run.split("/")[-1]
        if not files:
            raise UserError(
                f"{run}: no answers are there. Put the files where settings.runs of config/models/{slug}.yaml says, "
                "or remove the run."
            )
        code = self._code(benchmark, "reprise.stages.import_answers")
        return self._key(run, slug, {"files": self._digests(files), **asked, "code": code})

    def rating_key(self, benchmark: str, protocol: str, judge: str) -> dict[str, Any]:
        """The key of an imported judge: its files for all runs of a protocol, and the code that reads them."""
        runs = sorted(import_settings(self._config.models[judge]).ratings)
        mine = [run for run in runs if run.split("/")[:2] == [benchmark, protocol]]
        files = {run: self._digests(self.rating_files(run, judge)) for run in mine}
        code = self._code(benchmark, "reprise.stages.import_ratings")
        return self._key(f"{judge} as judge of {benchmark}/{protocol}", judge, {"files": files, "code": code})

    def _key(self, name: str, slug: str, answers: dict[str, Any]) -> dict[str, Any]:
        model = self._config.models[slug]
        answers = {"adapter": model.adapter, **answers}
        return {"run": name, "label": model.label, "answers": answers, "key": value_digest(answers), "adopted": ""}

    def _digests(self, files: list[Path]) -> dict[str, str]:
        return {str(path): self._store.digest(path) for path in files}

    def _code(self, benchmark: str, stage: str) -> str:
        return modules_digest((stage, "reprise.external.answers", f"reprise.external.{benchmark}"))
