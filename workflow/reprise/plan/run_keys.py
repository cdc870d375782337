"""Compute the keys of runs, which contain every setting that affects answers. Add versions of the code to all keys.

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
from reprise.models.remote.serving.environment import compute_pins_digest, get_pins_path, read_versions
from reprise.models.remote.serving.settings import LaunchSettings, ServingKey, build_launch_settings, build_serving_key
from reprise.plan.runs import Plan
from reprise.plan.versions import DECODER_VERSION, STAGE_VERSIONS


class ModelServer(NamedTuple):
    """Parts of a run's key that describe the server that its job starts; empty if the job starts none."""

    serving: ServingKey | None
    """settings that affect answers"""
    launch_settings: LaunchSettings | None
    """further settings for starting the server"""
    package_versions: dict[str, str]
    """package in the server's environment -> version"""
    adapter_settings: dict[str, Any]
    """settings that the adapter needs to query the server"""


def identify_weights(slug: str, model: Model, store: Store) -> dict[str, str]:
    """Return the identity of a model's weights: a hub revision, or the digest of a local folder's files."""
    if model.repo is not None:
        return {"repo": model.repo, "revision": model.revision or UNPINNED}
    if model.checkpoint is None:
        return {}
    setting, alternative = f"config/models/{slug}.yaml: checkpoint", f"or write `skip: [{slug}]` in the suite's file"
    return {"checkpoint": digest_local_weights(Path(model.checkpoint), setting, alternative, store, model.files)}


def digest_local_weights(
    folder: Path, setting: str, alternative: str, store: Store, patterns: Sequence[str] = ()
) -> str:
    """Return the digest of a checkpoint's folder; raise a UserError if the folder contains no weights.

    Args:
        folder: Folder of the checkpoint.
        setting: File and key that name the folder, for the message.
        alternative: What else the user can do, for the message.
        store: Store that remembers digests.
        patterns: Patterns of the files that must exist; by default those of safetensors.
    """
    if not folder.is_dir():
        folders = [str(path) for path in folder.parent.glob("*/")]
        raise UserError(
            f"{setting}: no folder '{folder}'.{suggest_name(str(folder), folders)} "
            f"Put the weights there, correct the path, {alternative}."
        )
    missing_patterns = [pattern for pattern in patterns or ["*.safetensors"] if not any(folder.glob(pattern))]
    if missing_patterns:
        raise UserError(
            f"{setting}: '{folder}' holds no weights ({', '.join(missing_patterns)}). "
            f"Found: {', '.join(sorted(path.name for path in folder.iterdir())) or 'nothing'}."
        )
    return store.folder_digest(folder)


def build_model_server(model: Model, identity: dict[str, str]) -> ModelServer:
    """Return the parts of a run's key that describe the server of its job.

    The server offers the model under a name that identifies its weights.
    """
    server_settings = model.served_by
    if server_settings is None:
        return ModelServer(None, None, {}, {})
    pins = get_pins_path(server_settings.environment)
    versions = read_versions(pins)
    serving = build_serving_key(
        server_settings,
        compute_pins_digest(pins),
        dtype=model.dtype,
        trust_remote_code=model.trust_remote_code,
        is_video=model.settings["frames"] == "video",
        scores=model.settings["scores"],
    )
    name = f"{model.repo}@{model.revision}"
    if model.repo is None:
        name = f"{Path(str(model.checkpoint)).name}@{identity['checkpoint'][:12]}"
    return ModelServer(serving, build_launch_settings(server_settings, model.gpus), versions, {"model": name})


def check_frames_setting(slug: str, model: Model) -> None:
    """Raise a UserError if a model's file does not say whether its frames are sent as a video or as images.

    If a video model receives images, it answers as usual but does not know the time of each frame.
    """
    if model.served_by is not None and model.settings["frames"] is None:
        raise UserError(
            f"config/models/{slug}.yaml: settings.frames: missing. Write `settings: {{frames: video}}` for a model "
            "whose processor and chat template take videos, such as Qwen2.5-VL or LLaVA-OneVision, or `frames: images` "
            f"for one that takes images alone. Once its weights are fetched, `reprise check {slug}` names the right "
            "one."
        )


NO_FRAMES = {"rule": "none"}
NO_IMAGE_SETTINGS: Mapping[str, Any] = {}
KeyT = TypeVar("KeyT", bound=Key)


class RunKeys:
    """Compute the keys of a plan's runs, each once."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._config = plan, plan.config
        self._key_by_run: dict[Run, RunKey] = {}
        self._weights_by_model: dict[str, dict[str, str]] = {}
        self._stage_versions = dict(STAGE_VERSIONS)
        for package in plan.packages.values():
            self._stage_versions |= package.VERSIONS

    @cached_property
    def prompts(self) -> dict[str, dict[str, Prompt]]:
        """Return the prompts by benchmark and name."""
        return {name: load_prompts(Path(spec.prompts)) for name, spec in self._config.benchmarks.items()}

    def add_versions(self, stage: str, key: KeyT, *benchmarks: str, world: str = "") -> KeyT:
        """Return a copy of a key with the versions of the code that computes its results.

        Args:
            stage: Stage of the key.
            key: Key without versions.
            benchmarks: Benchmarks whose code the stage runs.
            world: Synthetic world that provides its data, if any.
        """
        versions = {f"stage {stage}": self._stage_versions[stage]}
        versions |= {f"benchmark {name}": self._config.benchmarks[name].version for name in benchmarks}
        if world in PLUGINS:
            versions[f"world {world}"] = PLUGINS[world].version
        return key.model_copy(update={"code_versions": versions})

    def run_key(self, run: Run) -> RunKey:
        """Return the key of a run."""
        if run not in self._key_by_run:
            is_imported = run.model in self._plan.imports.models
            make_key = self._make_imported_run_key if is_imported else self._make_model_run_key
            self._key_by_run[run] = make_key(run)
        return self._key_by_run[run]

    def _make_model_run_key(self, run: Run) -> RunKey:
        protocol = self._config.benchmarks[run.benchmark].protocols[run.protocol]
        sampling = self._config.main.samplings[run.sampling]
        request = {
            "form": protocol.form,
            "request_type": protocol.request_type,
            "max_tokens": protocol.max_tokens,
            "sampling": sampling,
        }
        prompt = asdict(self.prompts[run.benchmark][protocol.prompt])
        return self.model_key(
            run.name, run.model, prompt, request, select_image_settings(protocol, self._config.models[run.model])
        )

    def judge_key(self, benchmark: str, protocol: str, judge: str) -> RunKey:
        """Return the key of a judge that rates the answers to a protocol."""
        name = f"{judge} as judge of {benchmark}/{protocol}"
        if judge in self._plan.imports.models:
            return self._make_imported_ratings_key(name, benchmark, protocol, judge)
        spec = self._config.benchmarks[benchmark].protocols[protocol]
        assert spec.judge is not None
        request = {"form": "judge", "request_type": "write", "max_tokens": spec.judge_tokens, "sampling": NO_FRAMES}
        return self.model_key(name, judge, asdict(self.prompts[benchmark][spec.judge]), request)

    def model_key(
        self,
        name: str,
        slug: str,
        prompt: dict[str, str],
        request: dict[str, Any],
        image_settings: Mapping[str, Any] = NO_IMAGE_SETTINGS,
    ) -> ModelRunKey:
        """Return the key of the requests to a model for one prompt.

        Args:
            name: Name of the run or of the job.
            slug: Slug of the model.
            prompt: Texts of the prompt.
            request: Fields of `ModelAnswersKey` that describe the requests.
            image_settings: Settings of the adapter that the protocol determines.
        """
        model = self._config.models[slug]
        adapter = ADAPTERS[model.adapter]
        # These settings affect how requests are sent, but not the answers, so they are not part of the cache key.
        serving_setting_names = adapter.answer_neutral_settings & model.settings.keys()
        if slug not in self._weights_by_model:
            self._weights_by_model[slug] = identify_weights(slug, model, self._plan.store)
        if request["sampling"] != NO_FRAMES:
            check_frames_setting(slug, model)
        server = build_model_server(model, self._weights_by_model[slug])
        answers = ModelAnswersKey(
            adapter=model.adapter,
            model=self._weights_by_model[slug],
            settings={key: value for key, value in model.settings.items() if key not in serving_setting_names}
            | server.adapter_settings
            | dict(image_settings),
            dtype=model.dtype,
            attention=model.attention,
            trust_remote_code=model.trust_remote_code,
            prompt=prompt,
            versions={
                library: read_installed_version(library)
                for library in adapter.get_versioned_packages(model.settings, model.attention)
            }
            | server.package_versions,
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
            serving={key: model.settings[key] for key in sorted(serving_setting_names)},
            hosting=server.launch_settings,
            price=model.price,
        )

    def _make_imported_run_key(self, run: Run) -> RunKey:
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
            files=self._plan.compute_digests(files),
        )
        answers = self.add_versions("import_answers", answers, run.benchmark)
        return ImportedRunKey(
            run=run.name, key=answers.compute_digest(), answers=answers, patterns=tuple(model.patterns)
        )

    def _make_imported_ratings_key(self, name: str, benchmark: str, protocol: str, judge: str) -> ImportedRatingsKey:
        runs = [run for run in self._plan.runs() if (run.benchmark, run.protocol) == (benchmark, protocol)]
        files = {run.name: self._plan.compute_digests(self._plan.imports.rating_files(run, judge)) for run in runs}
        answers = RatingFilesKey(
            adapter=self._config.models[judge].adapter,
            benchmark=benchmark,
            sampling=NO_FRAMES,
            files={run: digests for run, digests in files.items() if digests},
        )
        answers = self.add_versions("import_ratings", answers, benchmark)
        return ImportedRatingsKey(run=name, key=answers.compute_digest(), answers=answers)


def select_image_settings(protocol: Protocol, model: Model) -> dict[str, Any]:
    """Return the adapter settings that a protocol determines: how images are sent to a server."""
    values = {"detail": protocol.detail, "image_size": protocol.image_size}
    fields = ADAPTERS[model.adapter].settings.model_fields
    return {name: value for name, value in values.items() if value is not None and name in fields}


@cache
def read_installed_version(distribution: str) -> str:
    """Return the installed version of a distribution."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"
