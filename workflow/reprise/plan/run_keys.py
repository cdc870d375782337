"""Compute the keys of runs, which hold every setting that affects answers, and the versions in any key.

See docs/reference/response-cache.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from reprise.benchmarks.prompts import Prompt, load_prompts
from reprise.config.benchmark import Protocol
from reprise.config.model import Model
from reprise.core.errors import UserError, suggest_name
from reprise.core.names import UNPINNED
from reprise.core.paths import Run
from reprise.core.settings import Key
from reprise.core.store import Store
from reprise.external import IMPORTS_FOLDER
from reprise.external.keys import ImportedRatingsKey, ImportedRunKey, RatingFilesKey, RunFilesKey
from reprise.fetch.plugins import PLUGINS
from reprise.models.adapters import ADAPTERS
from reprise.models.keys import ModelAnswersKey, ModelRunKey, RunKey
from reprise.models.remote.serving.environment import compute_pins_digest, pins_file, read_versions
from reprise.models.remote.serving.settings import LaunchSettings, ServingKey, build_launch_settings, build_serving_key
from reprise.plan.runs import Plan
from reprise.plan.versions import DECODER_VERSION, STAGE_VERSIONS


class ModelServer(NamedTuple):
    """Part of a run's key for the server that its job starts; empty if it starts none."""

    serving: ServingKey | None
    hosting: LaunchSettings | None
    versions: dict[str, str]
    settings: dict[str, Any]


def weights_identity(slug: str, model: Model, store: Store) -> dict[str, str]:
    """Return what identifies the weights: a hub revision, or the digest of a local folder's files."""
    if model.repo is not None:
        return {"repo": model.repo, "revision": model.revision or UNPINNED}
    if model.checkpoint is None:
        return {}
    setting, remedy = f"config/models/{slug}.yaml: checkpoint", f"or write `skip: [{slug}]` in the suite's file"
    return {"checkpoint": digest_local_weights(Path(model.checkpoint), setting, remedy, store, model.files)}


def digest_local_weights(folder: Path, setting: str, remedy: str, store: Store, files: Sequence[str] = ()) -> str:
    """Return the digest of a checkpoint's folder, or raise a UserError if it holds no weights."""
    if not folder.is_dir():
        folders = [str(path) for path in folder.parent.glob("*/")]
        raise UserError(
            f"{setting}: no folder '{folder}'.{suggest_name(str(folder), folders)} "
            f"Put the weights there, correct the path, {remedy}."
        )
    missing = [pattern for pattern in files or ["*.safetensors"] if not any(folder.glob(pattern))]
    if missing:
        raise UserError(
            f"{setting}: '{folder}' holds no weights ({', '.join(missing)}). "
            f"Found: {', '.join(sorted(path.name for path in folder.iterdir())) or 'nothing'}."
        )
    return store.folder_digest(folder)


def make_server(model: Model, identity: dict[str, str]) -> ModelServer:
    """Return the server that a job starts for a model.

    The server serves the model under a name that no other weights have.
    """
    served = model.served_by
    if served is None:
        return ModelServer(None, None, {}, {})
    pins = pins_file(served.environment)
    versions = read_versions(pins)
    serving = build_serving_key(
        served,
        compute_pins_digest(pins),
        dtype=model.dtype,
        trust_remote_code=model.trust_remote_code,
        is_video=model.settings["frames"] == "video",
        scores=model.settings["scores"],
    )
    name = f"{model.repo}@{model.revision}"
    if model.repo is None:
        name = f"{Path(str(model.checkpoint)).name}@{identity['checkpoint'][:12]}"
    return ModelServer(serving, build_launch_settings(served, model.gpus), versions, {"model": name})


def check_frames_setting(slug: str, model: Model) -> None:
    """Raise a UserError if a model's file does not say whether its frames are sent as a video or as images.

    A video model that is sent images answers as usual, but does not get the time of each frame.
    """
    if model.served_by is not None and model.settings["frames"] is None:
        raise UserError(
            f"config/models/{slug}.yaml: settings.frames: missing. Write `settings: {{frames: video}}` for a model "
            "whose processor and chat template take videos, such as Qwen2.5-VL or LLaVA-OneVision, or `frames: images` "
            f"for one that takes images alone. Once its weights are fetched, `reprise check {slug}` names the right "
            "one."
        )


NO_FRAMES = {"rule": "none"}
NO_IMAGES: Mapping[str, Any] = {}
K = TypeVar("K", bound=Key)


class RunKeys:
    """Keys of the runs of one plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._config = plan, plan.config
        self._runs: dict[Run, RunKey] = {}
        self._weights: dict[str, dict[str, str]] = {}
        self._versions = dict(STAGE_VERSIONS)
        for package in plan.packages.values():
            self._versions |= package.VERSIONS

    @cached_property
    def prompts(self) -> dict[str, dict[str, Prompt]]:
        """Return the prompts of each benchmark by name."""
        return {name: load_prompts(Path(spec.prompts)) for name, spec in self._config.benchmarks.items()}

    def add_versions(self, stage: str, key: K, *benchmarks: str, world: str = "") -> K:
        """Return settings with the versions of the code behind them.

        These are the versions of their stage, of the benchmarks that it computes, and of a synthetic world.
        """
        versions = {f"stage {stage}": self._versions[stage]}
        versions |= {f"benchmark {name}": self._config.benchmarks[name].version for name in benchmarks}
        if world in PLUGINS:
            versions[f"world {world}"] = PLUGINS[world].version
        return key.model_copy(update={"code_versions": versions})

    def run_key(self, run: Run) -> RunKey:
        """Return the key of a run."""
        if run not in self._runs:
            compute = self._imported_run if run.model in self._plan.imports.models else self._model_run
            self._runs[run] = compute(run)
        return self._runs[run]

    def _model_run(self, run: Run) -> RunKey:
        protocol = self._config.benchmarks[run.benchmark].protocols[run.protocol]
        sampling = self._config.main.samplings[run.sampling]
        request = {"form": protocol.form, "ask": protocol.ask, "max_tokens": protocol.max_tokens, "sampling": sampling}
        prompt = asdict(self.prompts[run.benchmark][protocol.prompt])
        return self.model_key(
            run.name, run.model, prompt, request, image_settings(protocol, self._config.models[run.model])
        )

    def judge_key(self, benchmark: str, protocol: str, judge: str) -> RunKey:
        """Return the key of a judge of the answers to a protocol."""
        name = f"{judge} as judge of {benchmark}/{protocol}"
        if judge in self._plan.imports.models:
            return self._imported_ratings(name, benchmark, protocol, judge)
        spec = self._config.benchmarks[benchmark].protocols[protocol]
        assert spec.judge is not None
        request = {"form": "judge", "ask": "write", "max_tokens": spec.judge_tokens, "sampling": NO_FRAMES}
        return self.model_key(name, judge, asdict(self.prompts[benchmark][spec.judge]), request)

    def model_key(
        self,
        name: str,
        slug: str,
        prompt: dict[str, str],
        request: dict[str, Any],
        images: Mapping[str, Any] = NO_IMAGES,
    ) -> ModelRunKey:
        """Return the key of a model that is queried with a prompt, for answers, as a judge, or as a writer.

        Args:
            name: Name of the run or of the job.
            slug: Slug of the model.
            prompt: Texts of the prompt.
            request: Fields of `ModelAnswersKey` that describe the requests.
            images: Settings of the adapter that the protocol determines.
        """
        model = self._config.models[slug]
        adapter = ADAPTERS[model.adapter]
        serving_names = adapter.answer_neutral_settings & model.settings.keys()
        if slug not in self._weights:
            self._weights[slug] = weights_identity(slug, model, self._plan.store)
        if request["sampling"] != NO_FRAMES:
            check_frames_setting(slug, model)
        server = make_server(model, self._weights[slug])
        answers = ModelAnswersKey(
            adapter=model.adapter,
            model=self._weights[slug],
            settings={key: value for key, value in model.settings.items() if key not in serving_names}
            | server.settings
            | dict(images),
            dtype=model.dtype,
            attention=model.attention,
            trust_remote_code=model.trust_remote_code,
            prompt=prompt,
            versions={
                library: installed_version(library)
                for library in adapter.get_versioned_packages(model.settings, model.attention)
            }
            | server.versions,
            serving=server.serving,
            code_versions={f"adapter {model.adapter}": adapter.version, "decoder": DECODER_VERSION},
            **request,
        )
        return ModelRunKey(
            run=name,
            key=answers.compute_digest(),
            answers=answers,
            code_versions={"stage infer": STAGE_VERSIONS["infer"]},
            patterns=tuple(model.patterns),
            checkpoint=model.checkpoint,
            gpus=model.gpus,
            gpus_per_copy=model.gpus_per_copy,
            serving={key: model.settings[key] for key in sorted(serving_names)},
            hosting=server.hosting,
            price=model.price,
        )

    def _imported_run(self, run: Run) -> RunKey:
        model, sampling = self._config.models[run.model], self._config.main.samplings[run.sampling]
        for package in self._plan.packages.values():
            if settings := package.run_settings(self, run):
                return settings
        files = self._plan.imports.answer_files(run)
        if not files:
            raise UserError(
                f"{run.name}: no files of answers. Put them into "
                f"{IMPORTS_FOLDER / run.benchmark / run.model / run.protocol / run.sampling}/, or remove the run."
            )
        answers = RunFilesKey(
            adapter=model.adapter,
            benchmark=run.benchmark,
            form=self._config.benchmarks[run.benchmark].protocols[run.protocol].form,
            sampling=sampling,
            files=self._plan.digests(files),
        )
        answers = self.add_versions("import_answers", answers, run.benchmark)
        return ImportedRunKey(
            run=run.name, key=answers.compute_digest(), answers=answers, patterns=tuple(model.patterns)
        )

    def _imported_ratings(self, name: str, benchmark: str, protocol: str, judge: str) -> ImportedRatingsKey:
        runs = [run for run in self._plan.runs() if (run.benchmark, run.protocol) == (benchmark, protocol)]
        files = {run.name: self._plan.digests(self._plan.imports.rating_files(run, judge)) for run in runs}
        answers = RatingFilesKey(
            adapter=self._config.models[judge].adapter,
            benchmark=benchmark,
            sampling=NO_FRAMES,
            files={run: digests for run, digests in files.items() if digests},
        )
        answers = self.add_versions("import_ratings", answers, benchmark)
        return ImportedRatingsKey(run=name, key=answers.compute_digest(), answers=answers)


def image_settings(protocol: Protocol, model: Model) -> dict[str, Any]:
    """Return the settings of a model's adapter that a protocol determines: how images are sent to a server."""
    values = {"detail": protocol.detail, "image_size": protocol.image_size}
    fields = ADAPTERS[model.adapter].settings.model_fields
    return {name: value for name, value in values.items() if value is not None and name in fields}


@cache
def installed_version(distribution: str) -> str:
    """Return the installed version of a distribution."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"
