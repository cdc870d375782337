"""Find the files of a suite's imported predictions and ratings.

The files of a run are in `resources/imports/<benchmark>/<slug>/<protocol>/<sampling>/`, or in the folder that all runs
of the model share, `resources/imports/<benchmark>/<slug>/`. The model's `runs:` may name another folder.
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
    get_imports_folder,
    has_importer,
    load_importer,
    load_rating_importer,
)
from reprise.external.answers import filter_by_frame_count, parse_frame_count
from reprise.media.sampling import count_frames
from reprise.plan.name_matching import format_list

if TYPE_CHECKING:  # That module imports this one.
    from reprise.plan.side_package import SidePackage


class ImportedFiles:
    """Find the files of imported predictions and ratings, and remember them for each run."""

    def __init__(self, config: Configuration, packages: "Iterable[SidePackage]" = ()) -> None:
        self._config, self._packages = config, packages
        # Files of answers by run, and of ratings by run and judge.
        self._paths_by_run: dict[ScoredRun, list[Path]] = {}
        self.models = frozenset(slug for slug in config.models if config.is_import(slug))

    def answer_files(self, run: Run) -> list[Path]:
        """Return the prediction files of an imported run; the list is empty if there are none."""
        if ScoredRun(run) not in self._paths_by_run:
            paths = [path for package in self._packages for path in package.answer_files(run)]
            if not paths:
                prediction_paths = self.find_run_folder_files(run) or self._find_shared_files(run)
                paths = [*prediction_paths, *self._answer_format(run).find_settings_files(prediction_paths)]
            self._paths_by_run[ScoredRun(run)] = paths
        return self._paths_by_run[ScoredRun(run)]

    def rating_files(self, run: Run, judge: str) -> list[Path]:
        """Return the files with an imported judge's ratings of a run; the list is empty if there are none."""
        if ScoredRun(run, judge) not in self._paths_by_run:
            configured_subfolder = self._config.get_import_settings(judge).ratings.get(run.name)
            default_subfolders = [
                f"{protocol}/{run.sampling}/{run.model}" for protocol in self._list_accepted_protocols(run)
            ]
            importer = _load_importer_of_ratings(run.benchmark)
            folders = self._find_folders(judge, run.benchmark, configured_subfolder, default_subfolders)
            paths_by_folder = (importer.find_rating_files(folder) for folder in folders if importer)
            paths = next(filter(None, paths_by_folder), None) or self._find_harness_ratings(run, judge)
            self._paths_by_run[ScoredRun(run, judge)] = paths
        return self._paths_by_run[ScoredRun(run, judge)]

    def _find_harness_ratings(self, run: Run, judge: str) -> list[Path]:
        """Return the rating files that an evaluation harness wrote beside a run's imported predictions.

        The harness names them by the judge. The judge's `names:` list its names in the harness.
        """
        importer = _load_importer_of_ratings(run.benchmark)
        if importer is None or run.model not in self.models:
            return []
        judge_names = (judge, *self._config.get_import_settings(judge).names)
        return [path for file in self.answer_files(run) for path in importer.find_judge_ratings(file, judge_names)]

    def judges(self, benchmark: str, runs: Sequence[Run]) -> list[str]:
        """Return the imported models that rated any of these runs, in the order of the configuration."""
        if _load_importer_of_ratings(benchmark) is None:
            return []
        runs_with_predictions = [run for run in runs if run.model in self.models and self.answer_files(run)]
        judges = []
        for slug in self._config.models:
            if slug not in self.models:
                continue
            # A judge without a folder can only have ratings that a harness wrote beside imported predictions.
            candidates = runs if get_imports_folder(benchmark, slug).is_dir() else runs_with_predictions
            if any(self.rating_files(run, slug) for run in candidates):
                judges.append(slug)
        return judges

    def warn_about_unused_files(self, models: frozenset[str]) -> None:
        """Warn about files in a model's shared folder whose names match no run of these models."""
        for benchmark in self._config.benchmarks:
            for slug in sorted(self.models & models):
                runs, folder = self._list_model_runs(benchmark, slug), get_imports_folder(benchmark, slug)
                used_paths = {path for run in runs for path in self.answer_files(run)}
                used_paths |= {
                    path for run in runs for judge in self.models for path in self._find_harness_ratings(run, judge)
                }
                unused_paths = [path for path in _list_files(folder) if path not in used_paths]
                if runs and unused_paths:
                    log.warning(
                        f"{folder}: {_join_names(unused_paths)}: not used: their names match no run of this suite."
                    )

    def find_run_folder_files(self, run: Run) -> list[Path]:
        """Return the prediction files in a run's own folder; raise a UserError if their names are wrong."""
        configured_subfolder = self._config.get_import_settings(run.model).runs.get(_shorten_run_name(run))
        default_subfolders = [f"{protocol}/{run.sampling}" for protocol in self._list_accepted_protocols(run)]
        for folder in self._find_folders(run.model, run.benchmark, configured_subfolder, default_subfolders):
            if files := self._answer_format(run).find(folder, self._count_frames(run)):
                return files
            if names := _join_names(_list_files(folder)):
                raise UserError(
                    f"{folder}: found {names}, whose names are not those of answers to {run.benchmark}/{run.protocol}. "
                    f"{IMPORTS_FOLDER}/README.md lists the names."
                )
        return []

    def _find_shared_files(self, run: Run) -> list[Path]:
        """Return the files that match a run, in the folder that all runs of its model share.

        Raise a UserError if a file matches several runs.
        """
        folder = get_imports_folder(run.benchmark, run.model)
        subfolder_by_run = self._config.get_import_settings(run.model).runs
        configured_folders = {
            get_imports_folder(name.split("/")[0], run.model) / subfolder
            for name, subfolder in subfolder_by_run.items()
        }
        if _shorten_run_name(run) in subfolder_by_run or folder in configured_folders or not folder.is_dir():
            return []
        matches = []
        for alternatives in self._answer_format(run).find_candidates(folder):
            files = filter_by_frame_count(alternatives, self._count_frames(run))
            if len(files) > 1:
                raise UserError(
                    f"{folder}: found {_join_names(files)}; one file of answers is expected. Keep one of them."
                )
            for path in files:
                self._check_single_run(path, run)
            matches += files
        return matches

    def _check_single_run(self, path: Path, run: Run) -> None:
        """Raise a UserError if a file may also contain the answers of other runs of the same model."""
        folder = get_imports_folder(run.benchmark, run.model)
        # Runs with the same source protocol, the end of the chain of `responses_from`, share their answers.
        source = (self._list_accepted_protocols(run)[-1], run.sampling)
        other_matches = [
            candidate
            for candidate in self._list_model_runs(run.benchmark, run.model)
            if (self._list_accepted_protocols(candidate)[-1], candidate.sampling) != source
            and not self.find_run_folder_files(candidate)
            and parse_frame_count(path) in (None, self._count_frames(candidate))
            and any(path in alternatives for alternatives in self._answer_format(candidate).find_candidates(folder))
        ]
        if other_matches:
            run_names = sorted(_shorten_run_name(match) for match in (run, *other_matches))
            raise UserError(
                f"{path}: could be the answers of several runs of '{run.model}': {format_list(run_names)}. "
                f"Put it into the folder of its run, {folder}/<protocol>/<sampling>/, or name its run in "
                f"{self._config.model_file(run.model)} (`runs: {{{run_names[0]}: .}}`)."
            )

    def _find_folders(
        self, slug: str, benchmark: str, configured_subfolder: str | None, default_subfolders: list[str]
    ) -> list[Path]:
        """Return the folder that the model's file configures, or else the default folders; skip missing folders."""
        subfolders = default_subfolders if configured_subfolder is None else [configured_subfolder]
        folders = [get_imports_folder(benchmark, slug) / subfolder for subfolder in subfolders]
        return [folder for folder in folders if folder.is_dir()]

    def _list_model_runs(self, benchmark: str, slug: str) -> list[Run]:
        """Return all runs of a model on a benchmark that the configuration names."""
        runs = (Run.parse(f"{benchmark}/{name}") for name in self._config.list_runs(benchmark))
        return sorted(run for run in runs if run.model == slug)

    def _list_accepted_protocols(self, run: Run) -> list[str]:
        """Return the protocols whose answers a run accepts: its own, and the chain of `responses_from`."""
        protocols, names = self._config.benchmarks[run.benchmark].protocols, [run.protocol]
        while (parent := protocols[names[-1]].responses_from) is not None and parent not in names:
            names.append(parent)
        return names

    def _answer_format(self, run: Run) -> AnswerFiles:
        """Return the authors' file format for answers to a run's form of question."""
        form = self._config.benchmarks[run.benchmark].protocols[run.protocol].form
        return load_importer(run.benchmark).FORMS[form]

    def _count_frames(self, run: Run) -> int | None:
        return count_frames(self._config.main.samplings[run.sampling])


def _shorten_run_name(run: Run) -> str:
    """Return a run's name without its model, as `runs:` of a model's file names it."""
    return f"{run.benchmark}/{run.protocol}/{run.sampling}"


def _list_files(folder: Path) -> list[Path]:
    """Return the files in a folder, without hidden ones."""
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    return [path for path in paths if path.is_file() and not path.name.startswith(".")]


def _join_names(files: list[Path]) -> str:
    return ", ".join(path.name for path in files)


def _load_importer_of_ratings(benchmark: str) -> RatingImporter | None:
    """Return the importer of a benchmark's ratings, or None if its answers are not rated."""
    return load_rating_importer(benchmark) if has_importer(benchmark) else None
