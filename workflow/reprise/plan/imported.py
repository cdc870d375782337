"""Find the files of a suite's imported predictions and ratings.

The folder of a run's files follows from its name: `resources/imports/<benchmark>/<slug>/<protocol>/<sampling>/`, else
`resources/imports/<benchmark>/<slug>/` itself, unless the model's `runs:` names another folder.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reprise.config.configuration import Configuration
from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.core.paths import Run, ScoredRun
from reprise.external import (
    IMPORTS_FOLDER,
    AnswerFiles,
    RatingImporter,
    has_importer,
    imports_folder,
    load_importer,
    load_rating_importer,
)
from reprise.external.answers import filter_by_frames, parse_frame_count
from reprise.media.sampling import count_frames
from reprise.plan.name_matching import format_list

if TYPE_CHECKING:  # These modules import this one.
    from reprise.plan.side_package import SidePackage


class Imports:
    """Files of imported predictions and ratings, each searched once."""

    def __init__(self, config: Configuration, packages: "Iterable[SidePackage]" = ()) -> None:
        self._config, self._packages = config, packages
        self._files: dict[ScoredRun, list[Path]] = {}
        self.models = frozenset(slug for slug in config.models if config.is_import(slug))

    def answer_files(self, run: Run) -> list[Path]:
        """Return the prediction files of an imported run, or nothing if they do not exist."""
        if ScoredRun(run) not in self._files:
            paths = [path for package in self._packages for path in package.answer_files(run)]
            if not paths:
                paths = self.run_folder_files(run) or self._shared_files(run)
                paths = [*paths, *self._answer_format(run).find_settings_files(paths)]
            self._files[ScoredRun(run)] = paths
        return self._files[ScoredRun(run)]

    def rating_files(self, run: Run, judge: str) -> list[Path]:
        """Return the files with an imported judge's ratings of a run, or nothing if they do not exist."""
        if ScoredRun(run, judge) not in self._files:
            subfolder = self._config.imports(judge).ratings.get(run.name)
            defaults = [f"{protocol}/{run.sampling}/{run.model}" for protocol in self._protocols(run)]
            importer = _rating_importer(run.benchmark)
            folders = self._folders(judge, run.benchmark, subfolder, defaults)
            matches = [files for folder in folders if importer and (files := importer.find_rating_files(folder))]
            self._files[ScoredRun(run, judge)] = matches[0] if matches else self._ratings_beside(run, judge)
        return self._files[ScoredRun(run, judge)]

    def _ratings_beside(self, run: Run, judge: str) -> list[Path]:
        """Return the ratings that the harness wrote next to a run's imported predictions under a name of the judge."""
        importer = _rating_importer(run.benchmark)
        if importer is None or run.model not in self.models:
            return []
        names = (judge, *self._config.imports(judge).names)
        return [path for file in self.answer_files(run) for path in importer.find_judge_ratings(file, names)]

    def judges(self, benchmark: str, runs: Sequence[Run]) -> list[str]:
        """Return the imported models with ratings of one of these runs, in the order of the configuration."""
        if _rating_importer(benchmark) is None:
            return []
        answered_runs = [run for run in runs if run.model in self.models and self.answer_files(run)]
        return [
            slug
            for slug in self._config.models
            if slug in self.models
            and any(
                self.rating_files(run, slug)
                for run in (runs if imports_folder(benchmark, slug).is_dir() else answered_runs)
            )
        ]

    def warn_about_unused_files(self, models: frozenset[str]) -> None:
        """Warn of files in the folders that runs share whose names match no run of these models."""
        for benchmark in self._config.benchmarks:
            for slug in sorted(self.models & models):
                runs, folder = self._runs(benchmark, slug), imports_folder(benchmark, slug)
                used_paths = {path for run in runs for path in self.answer_files(run)}
                used_paths |= {
                    path for run in runs for judge in self.models for path in self._ratings_beside(run, judge)
                }
                unused_paths = [path for path in _files(folder) if path not in used_paths]
                if runs and unused_paths:
                    log.warning(f"{folder}: {_names(unused_paths)}: not used: their names match no run of this suite.")

    def run_folder_files(self, run: Run) -> list[Path]:
        """Return the files in a folder for this run alone."""
        subfolder = self._config.imports(run.model).runs.get(_short(run))
        defaults = [f"{protocol}/{run.sampling}" for protocol in self._protocols(run)]
        for folder in self._folders(run.model, run.benchmark, subfolder, defaults):
            if files := self._answer_format(run).find(folder, self._frames(run)):
                return files
            if names := _names(_files(folder)):
                raise UserError(
                    f"{folder}: found {names}, whose names are not those of answers to {run.benchmark}/{run.protocol}. "
                    f"{IMPORTS_FOLDER}/README.md lists the names."
                )
        return []

    def _shared_files(self, run: Run) -> list[Path]:
        """Return the files that match a run in the folder that all runs of its model share.

        Each file can belong to one run only.
        """
        folder = imports_folder(run.benchmark, run.model)
        entries = self._config.imports(run.model).runs.items()
        claims = {
            name for name, subfolder in entries if imports_folder(name.split("/")[0], run.model) / subfolder == folder
        }
        if _short(run) in dict(entries) or claims or not folder.is_dir():
            return []
        matches = []
        for alternatives in self._answer_format(run).find_candidates(folder):
            files = filter_by_frames(alternatives, self._frames(run))
            if len(files) > 1:
                raise UserError(f"{folder}: found {_names(files)}; one file of answers is expected. Keep one of them.")
            for path in files:
                self._check_single_run(path, run)
            matches += files
        return matches

    def _check_single_run(self, path: Path, run: Run) -> None:
        """Raise a UserError if a file could hold the answers of other runs of the same model too."""
        folder, key = imports_folder(run.benchmark, run.model), (self._protocols(run)[-1], run.sampling)
        rivals = [
            candidate
            for candidate in self._runs(run.benchmark, run.model)
            if (self._protocols(candidate)[-1], candidate.sampling) != key
            and not self.run_folder_files(candidate)
            and parse_frame_count(path) in (None, self._frames(candidate))
            and any(path in alternatives for alternatives in self._answer_format(candidate).find_candidates(folder))
        ]
        if rivals:
            runs = sorted(_short(rival) for rival in (run, *rivals))
            raise UserError(
                f"{path}: could be the answers of several runs of '{run.model}': {format_list(runs)}. Put it into the "
                f"folder of its run, {folder}/<protocol>/<sampling>/, or name its run in "
                f"{self._config.model_file(run.model)} (`runs: {{{runs[0]}: .}}`)."
            )

    def _folders(self, slug: str, benchmark: str, subfolder: str | None, defaults: list[str]) -> list[Path]:
        """Return the folder that the model's file names, else the default folders that exist."""
        base = imports_folder(benchmark, slug)
        folders = [base / name for name in defaults] if subfolder is None else [base / subfolder]
        return [folder for folder in folders if folder.is_dir()]

    def _runs(self, benchmark: str, slug: str) -> list[Run]:
        runs = (Run.parse(f"{benchmark}/{name}") for name in self._config.list_runs(benchmark))
        return sorted(run for run in runs if run.model == slug)

    def _protocols(self, run: Run) -> list[str]:
        """Return the protocols whose answers a run accepts: its own, and those that `answers_of` leads to."""
        protocols, names = self._config.benchmarks[run.benchmark].protocols, [run.protocol]
        while (parent := protocols[names[-1]].answers_of) is not None and parent not in names:
            names.append(parent)
        return names

    def _answer_format(self, run: Run) -> AnswerFiles:
        """Return the format in which the authors' files hold answers to a run's form of question."""
        form = self._config.benchmarks[run.benchmark].protocols[run.protocol].form
        return load_importer(run.benchmark).FORMS[form]

    def _frames(self, run: Run) -> int | None:
        return count_frames(self._config.main.samplings[run.sampling])


def _short(run: Run) -> str:
    return f"{run.benchmark}/{run.protocol}/{run.sampling}"


def _files(folder: Path) -> list[Path]:
    """Return the files in a folder, without hidden ones."""
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    return [path for path in paths if path.is_file() and not path.name.startswith(".")]


def _names(files: list[Path]) -> str:
    return ", ".join(path.name for path in files)


def _rating_importer(benchmark: str) -> RatingImporter | None:
    return load_rating_importer(benchmark) if has_importer(benchmark) else None
