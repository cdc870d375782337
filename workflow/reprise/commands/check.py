"""Command `check`: query a model with a few requests before a long run."""

import logging
import random
import re
import resource
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from reprise.commands.output import write_lines
from reprise.commands.served import is_server_url
from reprise.commands.shared import find_model_file, list_inference_inputs, load_clip_requests, load_plan
from reprise.commands.weights_folder import is_path, no_folder_error
from reprise.config.model import Model
from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.core.paths import Run, locate
from reprise.core.yaml_files import dump_yaml, load_yaml
from reprise.models.adapters import ADAPTERS, OPTION_SHARE, import_object
from reprise.models.base import Adapter, ModelSpec, PendingRequests
from reprise.models.inference.money.prices import NO_BUDGET, Account
from reprise.models.inference.outcomes import FAILURE_FIELD, run_requests
from reprise.models.inference.reasons import FAILURE_REASONS, describe_failure
from reprise.models.inference.resident import end_idle_process
from reprise.models.inference.vision_check import MISMATCHED_CLIP, VisionCheck, run_vision_check
from reprise.models.local.gpus import take_gpus
from reprise.models.local.weights import WEIGHT_PATTERN, get_snapshot_folder
from reprise.models.remote.reachability import require_answer
from reprise.models.remote.serving.host import ServerProcess
from reprise.models.settings import DEFAULT_OPTION_SHARE
from reprise.plan.builds import check_model_gpus, find_torch_build
from reprise.plan.run_keys import build_model_server, check_frames_setting, identify_weights
from reprise.plan.runs import Plan

CHECKABLE_REQUEST_TYPES = ("score", "choose")
UNREACHABLE_REASONS = ("network", "timeout")
SERVER_TIMEOUT_S = 60.0  # of a request to the user's server, unless the model's file sets `timeout_s`
MB = 10**6


class RefusedModelError(UserError):
    """Each run that the check tried shows a problem of the model."""

    exit_code = 3


def check_model(source: str, questions: int, suite: str | None, benchmarks: str | None = None) -> None:
    """Query a model with about `questions` requests of the suite, with and without frames, and print a summary.

    `source` is the name of the model's file, its repository or its folder of weights.

    Raises:
        UserError: The model cannot be checked, its server does not answer, or every run that was tried shows a problem.
    """
    plan = load_plan(suite, benchmarks)
    slug = find_model_file(plan.config.models, source) or source
    if is_server_url(source):
        raise UserError(
            f"check: '{source}' is the address of a server. Name the model's file in config/models/; `reprise eval "
            f"{source}` writes it, and checks the model before it runs."
        )
    if slug not in plan.config.models and is_path(source) and not locate(source).exists():
        raise no_folder_error("check", source)
    if slug not in plan.config.models and (locate(source).is_dir() or "/" in source):
        raise UserError(
            f"check: '{source}' has no file in config/models/ yet. `reprise eval {source}` writes it, and checks the "
            "model before it runs."
        )
    model = plan.config.require_model(slug, "check")
    if not is_checkable_model(model):
        raise UserError(
            f"check: '{slug}' has adapter '{model.adapter}'; only local models and your own servers "
            "that accept frames can be checked."
        )
    check_model_gpus(slug, model)
    _require_frames_setting(plan, slug, model)
    if ADAPTERS[model.adapter].needs_weights:
        for line in _collect_notes(plan, slug, model):
            write_lines([line])
    runs = _find_runs_with_data(plan, slug, model)
    require_answering_server(slug, model)
    samples = {run: sample for run in runs if (sample := _sample_requests(plan, run, questions // len(runs)))}
    problems: dict[str, str] = {}
    drops_frames = False
    with _load_model(plan, slug, model) as adapter, _log_failures_once():
        if samples and ADAPTERS[model.adapter].is_remote:
            _require_first_answer(slug, adapter, next(iter(samples.values()))[0])
        for run, sample in samples.items():
            check = run_vision_check(adapter, sample)
            drops_frames = drops_frames or set(check.failures) == {"not_shown"}
            write_lines(_format_check(run, check))
            min_share = float(model.settings.get(OPTION_SHARE, DEFAULT_OPTION_SHARE))
            if problem := find_problem(check, _request_type(plan, run), min_share):
                problems[run.name] = problem
    if samples and ADAPTERS[model.adapter].needs_weights:
        write_lines(_format_memory(model))
    messages = [f"{name}: {problem}" for name, problem in problems.items()]
    if messages and len(messages) == len(samples):
        runs_text = f"each of the {len(messages)} runs" if len(messages) > 1 else "the only run"
        reason = f"{runs_text} that {'were' if len(messages) > 1 else 'was'} tried shows a problem"
        if drops_frames and "check_frames" in ADAPTERS[model.adapter].settings.model_fields:
            # Without the vision check, the run would fail in the same way.
            raise UserError(f"{slug} should not be run, because {reason}. {' '.join(messages)} {_allow_counts(slug)}")
        raise RefusedModelError(
            f"{slug} should not be run, because {reason}. Check its weights, its chat template and `settings.frames`. "
            f"{' '.join(messages)}"
        )
    for message in messages:
        log.warning(message)
    usable_runs = [run.name for run in samples if run.name not in problems]
    outcome = f"The answers of {slug} change with its clips in {', '.join(usable_runs)}."
    write_lines([outcome if usable_runs else f"{slug} was not checked."])


def find_problem(check: VisionCheck, request_type: str, min_option_share: float) -> str:
    """Return why the answers of a check are useless, with the evidence; an empty text if they are not.

    `min_option_share` is the minimum total probability of the options, as a share of 1.
    """
    mismatched = check.changes[MISMATCHED_CLIP]
    if check.failures.total() == check.request_count:
        reason, _ = check.failures.most_common(1)[0]
        return f"all {check.request_count} requests failed: {describe_failure(reason, check.first_failure_message)}."
    if request_type == "choose" and check.option_share == 0:
        return f"none of {check.request_count - check.failures.total()} answers names an option."
    if request_type == "score" and check.option_share < min_option_share:
        return (
            f"the options hold {100 * check.option_share:.2g} % of the probability of an answer's first token, so the "
            "scores are meaningless, and the run would abort after its first requests. If the model reasons before it "
            "answers, set `template_arguments`, or use protocols with `request_type: choose` or `request_type: write`."
        )
    if check.is_video_ignored:
        return (
            f"the model ignores the video: none of {mismatched.compared_count} answers changes with another clip's "
            "frames."
        )
    return ""


def _allow_counts(slug: str) -> str:
    """Return the complete text of the file of a model whose server reports wrong token counts.

    `reprise eval` deletes a new file when the check fails.
    """
    file = Path(f"config/models/{slug}.yaml")
    content = load_yaml(locate(file))
    text = dump_yaml(content | {"settings": content["settings"] | {"check_frames": False}})
    return f"Then {file} has this text; write it, and run the same command again:\n{text}"


@contextmanager
def _log_failures_once() -> Iterator[None]:
    """Log only the first of the failures in the block that differ in nothing but the clip and numbers."""
    logged: set[str] = set()

    def is_new(record: logging.LogRecord) -> bool:
        kind = re.sub(r"\d+", "", getattr(record, FAILURE_FIELD, ""))
        is_repeated = kind in logged
        logged.update([kind] if kind else [])
        return not is_repeated

    log.addFilter(is_new)
    try:
        yield
    finally:
        log.removeFilter(is_new)


def require_answering_server(slug: str, model: Model) -> None:
    """Raise a UserError if a model is behind the user's own server, and this server does not answer."""
    if ADAPTERS[model.adapter].is_remote and model.served_by is None:
        require_answer(str(model.settings["url"]), f"config/models/{slug}.yaml: settings.url")


def _require_first_answer(slug: str, adapter: Adapter, batch: PendingRequests) -> None:
    """Raise a UserError if the first request meets no server, since every further one would wait as long."""
    (outcome,) = run_requests(adapter, batch.clip, batch.requests[:1])
    if outcome.answer.error in UNREACHABLE_REASONS:
        raise UserError(f"{slug}: {describe_failure(outcome.answer.error, outcome.answer.message)}.")


def _require_frames_setting(plan: Plan, slug: str, model: Model) -> None:
    """Raise a UserError with the suitable value of `settings.frames` if a served model lacks this setting."""
    try:
        check_frames_setting(slug, model)
    except UserError as error:
        from reprise.models.local.checks import detect_frame_mode

        folder, trust_remote_code = _find_weights(plan, slug, model), model.trust_remote_code
        mode = detect_frame_mode(ModelSpec(folder, "cpu", 1, model.dtype, model.attention, trust_remote_code, {}))
        raise UserError(
            f"config/models/{slug}.yaml: settings.frames: missing. The processor and the chat template of this "
            f"checkpoint take {'a video' if mode == 'video' else 'images'}: write `settings: {{frames: {mode}}}`."
        ) from error


def _collect_notes(plan: Plan, slug: str, model: Model) -> Iterable[str]:
    """Return notes on a model's files.

    Raises:
        UserError: The adapter does not support the model; its weights are not loaded yet.
    """
    from reprise.models.local.checks import collect_notes, find_incompatibilities

    folder, trust_remote_code = _find_weights(plan, slug, model), model.trust_remote_code
    spec = ModelSpec(folder, "cpu", 1, model.dtype, model.attention, trust_remote_code, model.settings, has_frames=True)
    if problems := list(find_incompatibilities(model.adapter, spec)):
        raise UserError(f"{slug}: " + " ".join(problems))
    return collect_notes(spec)


def _request_type(plan: Plan, run: Run) -> str:
    return plan.config.benchmarks[run.benchmark].protocols[run.protocol].request_type


def is_checkable_model(model: Model) -> bool:
    """Return whether a model can be checked: it receives frames, costs no money, and scores or chooses options."""
    adapter = ADAPTERS[model.adapter]
    # A baseline has neither weights nor a server.
    is_free_model = model.has_weights or (adapter.is_remote and not adapter.is_paid(model.settings))
    return (
        adapter.frame_support == "optional"
        and is_free_model
        and not {*CHECKABLE_REQUEST_TYPES}.isdisjoint(adapter.get_request_types(model.settings))
    )


def is_checkable_run(plan: Plan, run: Run) -> bool:
    """Return whether a run can be checked: it shows frames, and its answers are scores or choices of options."""
    return (
        _request_type(plan, run) in CHECKABLE_REQUEST_TYPES
        and plan.config.main.samplings[run.sampling]["rule"] != "none"
    )


def _find_runs_with_data(plan: Plan, slug: str, model: Model) -> list[Run]:
    """Return a run with existing data for each benchmark and request type; the model's own runs take precedence.

    If a run belongs to another model, its requests are sent to this model.
    """
    supported = ADAPTERS[model.adapter].get_request_types(model.settings)
    candidates = [run for run in plan.runs() if _request_type(plan, run) in supported and is_checkable_run(plan, run)]
    runs_by_kind: dict[tuple[str, str], Run] = {}
    for run in sorted(candidates, key=lambda run: (run.model != slug, run)):
        if all(map(Path.is_file, list_inference_inputs(plan, run))):
            kind = run.benchmark, _request_type(plan, run)
            runs_by_kind.setdefault(kind, Run(run.benchmark, run.protocol, run.sampling, slug))
    if not runs_by_kind:
        hint = (
            f" Make them first: snakemake {' '.join(map(str, list_inference_inputs(plan, candidates[0])))}"
            if candidates
            else ""
        )
        raise UserError(
            f"check: suite '{plan.config.name}' has no requests with frames yet that '{slug}' supports.{hint}"
        )
    return list(runs_by_kind.values())


def _sample_requests(plan: Plan, run: Run, questions: int) -> list[PendingRequests]:
    """Return about `questions` requests of a run, distributed over at most 12 of its clips.

    The check exchanges the frames of clips. With fewer than two clips, the run is left out with a warning.
    """
    batches = [batch for batch in load_clip_requests(plan, run) if batch.clip.indices]
    if len(batches) < 2:
        log.warning(
            f"{run.name}: not checked: {plan.results.frames(run.benchmark, run.sampling)} has frames of {len(batches)} "
            "clips. The check needs two clips to exchange their frames."
        )
        return []
    sample = random.Random(0).sample(batches, min(12, max(2, questions), len(batches)))
    for batch in sample:
        batch.verify_clip()
    return [PendingRequests(batch.clip, batch.requests[: max(1, questions // len(sample))]) for batch in sample]


def _find_weights(plan: Plan, slug: str, model: Model) -> Path:
    """Return the folder with a model's weights, or raise a UserError if it has none."""
    folder = Path(model.checkpoint or get_snapshot_folder(str(model.repo), str(model.revision), plan.store))
    if not any(any(folder.glob(pattern)) for pattern in (WEIGHT_PATTERN, *model.files)):
        hint = f"Fetch them first: snakemake {plan.results.weights(slug)}" if model.repo else "Correct `checkpoint`."
        raise UserError(f"config/models/{slug}.yaml: no weights in {folder}. {hint}")
    return folder


@contextmanager
def _load_model(plan: Plan, slug: str, model: Model) -> Iterator[Adapter]:
    """Yield the adapter of a model.

    The adapter loads the model in this process, or queries a server: one that is started here, or the user's own.
    """
    folder, settings = _find_weights(plan, slug, model) if model.has_weights else None, model.settings
    with ExitStack() as stack:
        for lock in take_gpus(model.gpus, plan.store.root / "locks", slug, find_torch_build(model), end_idle_process):
            stack.callback(lock.release)  # The GPUs stay locked while the model is in use.
        server = build_model_server(model, identify_weights(slug, model, plan.store))
        if server.serving is not None and server.launch_settings is not None and folder is not None:
            log_file = plan.results.log("check", slug).with_suffix(".server.log")
            host = ServerProcess(
                server.serving,
                server.launch_settings,
                weights_folder=folder,
                model_name=server.adapter_settings["model"],
                store=plan.store,
                log_file=log_file,
            )
            stack.callback(host.close)
            settings = settings | server.adapter_settings | host.start()
        device, trust_remote_code = "cuda" if model.gpus else "cpu", model.trust_remote_code
        spec = ModelSpec(folder, device, model.threads, model.dtype, model.attention, trust_remote_code, settings)
        if ADAPTERS[model.adapter].is_remote:
            if server.serving is None:  # The user waits, and a further command repeats a failed request.
                spec = replace(spec, settings={"timeout_s": SERVER_TIMEOUT_S} | settings | {"retries": 0})
            # A checked server costs no money, even with an API key, as one that this command starts has.
            spec = replace(spec, account=Account(plan.store.root, slug, None, NO_BUDGET, is_paid=False))
        yield import_object(ADAPTERS[model.adapter].import_string)(spec)


def _format_check(run: Run, check: VisionCheck) -> Iterator[str]:
    """Yield the lines about the check of a run."""
    frame_count_range = " to ".join(str(count) for count in sorted({min(check.frame_counts), max(check.frame_counts)}))
    rows = [("frames received", f"{frame_count_range} per clip, {check.tokens_per_frame:.1f} tokens each")]
    for ablation, changes in check.changes.items():
        counts = f"{changes.changed_count} of {changes.compared_count} answers change"
        rows.append((ablation, f"{counts}, by {changes.max_change:.2g} at most"))
    rows += [
        ("options", f"{100 * check.option_share:.0f} % of the answers or of their probability"),
        ("time", f"{check.mean_seconds:.2f} s per request"),
    ]
    for reason, count in check.failures.most_common():
        rows.append(("failed", f"{count}: {reason} ({FAILURE_REASONS[reason]})"))
    width = max(len(name) for name, _ in rows)
    yield f"{run.name}: {check.request_count} requests about {check.clip_count} clips"
    yield from (f"  {name:<{width}}  {text}" for name, text in rows)


def _format_memory(model: Model) -> Iterator[str]:
    """Yield the peak memory of each GPU, and the peak main memory beside the model's `memory_mb`."""
    import torch

    if model.gpus:
        for number in range(torch.cuda.device_count()):
            peak, total = torch.cuda.max_memory_allocated(number), torch.cuda.get_device_properties(number).total_memory
            yield f"memory of GPU {number}: {peak / MB:.0f} MB at most, of {total / MB:.0f} MB"
    # `ru_maxrss` is in bytes on macOS and in KiB on Linux.
    main_memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / MB
    is_enough = "enough" if main_memory <= model.memory_mb else "too little: set it to more"
    yield f"main memory: {main_memory:.0f} MB at most; `memory_mb: {model.memory_mb}` is {is_enough}"
