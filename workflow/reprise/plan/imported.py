"""The imported runs of a suite: which of their files are there, and the keys that change with them.

Where a run's files lie follows from its name: in `resources/imports/<benchmark>/<slug>/<protocol>/<sampling>/`, else in
`resources/imports/<benchmark>/<slug>/` itself, unless the model's `runs:` says another folder.
"""

from pathlib import Path
from typing import Any

from reprise.config import Configuration, import_folder, import_settings
from reprise.core.code_digest import modules_digest
from reprise.core.errors import UserError
from reprise.core.files import value_digest
from reprise.core.log import log
from reprise.core.store import Store
from reprise.external import FOLDER, has_importer, load_importer, load_rating_importer
from reprise.external.answers import could_be, fitting
from reprise.media.sampling import frames_shown

MOST_RUNS = 8


class Imports:
    """Runs are named <benchmark>/<protocol>/<sampling>/<model>."""

    def __init__(self, config: Configuration, store: Store) -> None:
        self._config = config
        self._store = store
        self._found: dict[tuple[str, str], list[Path]] = {}
        self.models = frozenset(slug for slug in config.models if config.is_import(slug))

    def answer_files(self, run: str) -> list[Path]:
        """The files of an imported run; none where they are not there."""
        if (run, "") not in self._found:
            self._found[run, ""] = self._own_files(run) or self._shared_files(run)
        return self._found[run, ""]

    def rating_files(self, run: str, judge: str) -> list[Path]:
        """The file of an imported judge's ratings of a run; none where it is not there."""
        if (run, judge) not in self._found:
            benchmark, protocol, sampling, model = run.split("/")
            said = import_settings(self._config, judge).ratings.get(run)
            usual = [f"{one}/{sampling}/{model}" for one in self._protocols(benchmark, protocol)]
            importer = load_rating_importer(benchmark) if has_importer(benchmark) else None
            folders = self._folders(judge, benchmark, said, usual) if importer else []
            found = [files for folder in folders if importer and (files := importer.rating_files(folder))]
            self._found[run, judge] = found[0] if found else []
        return self._found[run, judge]

    def warn_of_unused(self, models: frozenset[str]) -> None:
        """Name the files in the folders that runs share whose names fit no run of these models."""
        for benchmark in self._config.benchmarks:
            for slug in sorted(self.models & models):
                runs, folder = self._runs(benchmark, slug), FOLDER / benchmark / slug
                used = {path for run in runs for path in self.answer_files(run)}
                unused = [path for path in _files(folder) if path not in used]
                if runs and unused:
                    log.warning(
                        f"{folder}: {_names(unused)}: not used, since by their names no run of this suite is theirs."
                    )

    # --- where files lie -------------------------------------------------------------------------------------------

    def _own_files(self, run: str) -> list[Path]:
        """The files in a folder for this run alone."""
        benchmark, protocol, sampling, slug = run.split("/")
        said = import_settings(self._config, slug).runs.get(f"{benchmark}/{protocol}/{sampling}")
        usual = [f"{one}/{sampling}" for one in self._protocols(benchmark, protocol)]
        for folder in self._folders(slug, benchmark, said, usual):
            if files := load_importer(benchmark).files(folder, self._form(run), self._frames(run)):
                return files
            if others := _names(_files(folder)):
                raise UserError(
                    f"{folder}: found {others}, which are no answers to {benchmark}/{protocol} by their names. "
                    f"{FOLDER}/README.md lists the names."
                )
        return []

    def _shared_files(self, run: str) -> list[Path]:
        """The files that fit a run in the folder that all runs of its model share; each can be of one run only."""
        benchmark, _, _, slug = run.split("/")
        folder = FOLDER / benchmark / slug
        said = import_settings(self._config, slug).runs
        taken = {
            name: import_folder(slug, benchmark, one) for name, one in said.items() if name.startswith(f"{benchmark}/")
        }
        if run.removesuffix(f"/{slug}") in taken or folder in taken.values() or not folder.is_dir():
            return []
        found = []
        for alternatives in load_importer(benchmark).candidates(folder, self._form(run)):
            files = fitting(alternatives, self._frames(run))
            if len(files) > 1:
                raise UserError(
                    f"{folder}: found {_names(files)}; one file of answers is expected. Keep one of them there."
                )
            for path in files:
                self._check_single_run(path, run)
            found += files
        return found

    def _check_single_run(self, path: Path, run: str) -> None:
        """Stop where a file could hold the answers of other runs of the same model too."""
        benchmark, _, _, slug = run.split("/")
        folder = FOLDER / benchmark / slug
        rivals = [
            other
            for other in self._runs(benchmark, slug)
            if self._asked(other) != self._asked(run)
            and not self._own_files(other)
            and self._could_be(path, folder, other)
        ]
        if rivals:
            runs = sorted(name.removesuffix(f"/{slug}") for name in (run, *rivals))
            listed = ", ".join(runs[:MOST_RUNS]) + (f", ... ({len(runs)} in all)" if len(runs) > MOST_RUNS else "")
            raise UserError(
                f"{path}: could be the answers of several runs of '{slug}': {listed}. Put it into the folder of its "
                f"run, {folder}/<protocol>/<sampling>/, or say which run it is in "
                f"{self._config.file_of(slug)} (`runs: {{{runs[0]}: .}}`)."
            )

    def _could_be(self, path: Path, folder: Path, run: str) -> bool:
        candidates = load_importer(run.split("/")[0]).candidates(folder, self._form(run))
        return could_be(path, self._frames(run)) and any(path in alternatives for alternatives in candidates)

    def _folders(self, slug: str, benchmark: str, said: str | None, usual: list[str]) -> list[Path]:
        """The folder that the model's file says, else the usual ones, where they are there."""
        own = FOLDER / benchmark / slug
        places = [own / name for name in usual] if said is None else [import_folder(slug, benchmark, said)]
        return [place for place in places if place.is_dir()]

    # --- runs ------------------------------------------------------------------------------------------------------

    def _runs(self, benchmark: str, slug: str) -> list[str]:
        """The runs of an imported model in this suite."""
        names = self._config.runs_of(benchmark)
        return sorted(f"{benchmark}/{name}" for name in names if name.endswith(f"/{slug}"))

    def _protocols(self, benchmark: str, protocol: str) -> list[str]:
        """The protocols to which answers are answers to this one: itself, and the one that it names."""
        other = self._config.benchmarks[benchmark].protocols[protocol].answers_of
        return [protocol, other] if other else [protocol]

    def _asked(self, run: str) -> tuple[str, str]:
        """What two runs that share their answers have in common."""
        benchmark, protocol, sampling, _ = run.split("/")
        return self._protocols(benchmark, protocol)[-1], sampling

    def _form(self, run: str) -> str:
        benchmark, protocol, _, _ = run.split("/")
        return self._config.benchmarks[benchmark].protocols[protocol].form

    def _frames(self, run: str) -> int | None:
        return frames_shown(self._config.main.samplings[run.split("/")[2]])

    # --- keys ------------------------------------------------------------------------------------------------------

    def run_key(self, run: str, asked: dict[str, Any]) -> dict[str, Any]:
        """The key of an imported run: its files, and the code that reads them."""
        files = self.answer_files(run)
        benchmark, protocol, sampling, slug = run.split("/")
        if not files:
            raise UserError(
                f"{run}: no answers are there. Put the files into {FOLDER / benchmark / slug / protocol / sampling}/, "
                "or remove the run."
            )
        code = self._code(benchmark, "reprise.stages.import_answers")
        return self._key(run, slug, {"files": self._digests(files), **asked, "code": code})

    def rating_key(self, benchmark: str, protocol: str, judge: str) -> dict[str, Any]:
        """The key of an imported judge: its files for all runs of a protocol, and the code that reads them."""
        names = {f"{benchmark}/{name}" for name in self._config.runs_of(benchmark)}
        mine = [name for name in sorted(names) if name.split("/")[1] == protocol]
        files = {run: self._digests(found) for run in mine if (found := self.rating_files(run, judge))}
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


def _files(folder: Path) -> list[Path]:
    """The files in a folder, hidden ones left out."""
    inside = sorted(folder.iterdir()) if folder.is_dir() else []
    return [path for path in inside if path.is_file() and not path.name.startswith(".")]


def _names(files: list[Path]) -> str:
    return ", ".join(path.name for path in files)
