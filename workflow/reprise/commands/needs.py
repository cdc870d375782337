"""Format what benchmarks need: questions, videos, weights, GPU time and price, each with its basis, and their terms."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from reprise.benchmarks.annotations import group_by_key
from reprise.commands.numbers import format_bytes, format_duration, format_known_sum
from reprise.commands.pending import JobEstimate
from reprise.commands.shared import find_model_file
from reprise.commands.weights_folder import is_below_local_folder
from reprise.config.benchmark import ReleasedData
from reprise.config.model import Model
from reprise.core.paths import Run, locate
from reprise.core.plain import summarize_list
from reprise.fetch.settings import Archive, Folder, Huggingface, ReleaseFolder, ReleaseHub
from reprise.models.adapters import ADAPTERS
from reprise.models.inference.money.prices import TokenUsage
from reprise.models.local.weights import WEIGHT_PATTERN
from reprise.plan.forecast import (
    ARITHMETIC,
    ASSUMPTIONS,
    BILLION,
    GPU,
    ModelSize,
    Quantity,
    count_answer_tokens,
    count_requests,
    forecast_gpu_seconds,
    forecast_prompt_tokens,
    forecast_workload,
    is_encoded_once,
    is_made_here,
    measure_videos,
    size_from_name,
    size_of_folder,
    size_of_model,
)
from reprise.plan.runs import Plan, run_from_row
from reprise.tables.render.terminal import wrap_text

DATA_FOLDER = Path("resources/data")  # Example of a folder into which users copy data by hand.
TIMED, UNKNOWN = "timed here", "unknown"  # Bases of an estimate.
LABEL_WIDTH, MAX_LISTED = 13, 6  # Minimum width of the column of labels, and number of protocols in a line.
GPU_TIME = "GPU time"
Row = tuple[str, str]  # label and text


class NamedModel(NamedTuple):
    """Model that the user names although no run of it is pending, or a typical model."""

    name: str
    size: ModelSize | None
    """None if the model has no weights here"""
    model: Model | None = None
    """its configuration, if it has a file"""


TYPICAL_MODEL = NamedModel(
    "a 7B model", ModelSize(7.0 * BILLION, Quantity(14.0 * BILLION, f"{ARITHMETIC}: 7B parameters, 2 bytes each"))
)


def find_named_model(plan: Plan, target: str) -> NamedModel | None:
    """Return the model that a target names: a model's file, a repository of the hub, or a folder of weights."""
    if slug := find_model_file(plan.config.models, target):
        model = plan.config.models[slug]
        return NamedModel(slug, size_of_model(plan, model), model)
    folder = locate(target)
    if folder.is_dir() and any(folder.glob(WEIGHT_PATTERN)):
        return NamedModel(folder.name, size_of_folder(folder))
    owner, _, name = target.partition("/")
    is_table = owner in plan.config.benchmarks or name in {table for _, table, _ in plan.list_tables()}
    if re.fullmatch(r"[\w.-]+/[\w.-]+", target) and not is_table and not is_below_local_folder(target):
        return NamedModel(target, size_from_name(target))
    return None


def format_needs(
    plan: Plan, benchmarks: Sequence[str], estimates: Sequence[JobEstimate], models: Sequence[NamedModel], width: int
) -> Iterator[str]:
    """Yield the needs of each benchmark, the weights of each model, and the assumptions of the arithmetic."""
    rows_by_heading: dict[str, list[Row]] = {}
    # Jobs of side packages have a title, and a kind of job instead of a protocol.
    run_estimates = [estimate for estimate in estimates if not estimate.pending_job.job.title]
    for benchmark in benchmarks:
        pending = [estimate for estimate in run_estimates if estimate.scored_run.run.benchmark == benchmark]
        model_runs = [(model, run) for model in models if (run := _find_overview_run(plan, benchmark, model))]
        runs = [estimate.scored_run.run for estimate in pending] + [run for _, run in model_runs]
        rows_by_heading[plan.config.benchmarks[benchmark].title] = [
            *_count_rows(plan, benchmark, sorted({run.protocol for run in runs})),
            *_video_rows(plan, benchmark),
            *_time_rows(plan, pending),
            *(_forecast_row(plan, run, model) for model, run in model_runs),
            *_judge_rows(plan, benchmark, {run.protocol for run in runs}),
            *_terms_rows(plan, benchmark),
        ]
    sizes = {model.name: model.size for model in models}
    sizes |= {
        slug: size_of_model(plan, plan.config.models[slug])
        for slug in sorted({estimate.pending_job.slug for estimate in estimates})
    }
    rows_by_heading["Weights"] = [
        (name, _format_quantity(size.weights, format_bytes)) for name, size in sizes.items() if size is not None
    ]
    for heading, rows in rows_by_heading.items():
        if rows:
            yield f"\n{heading}"
            yield from _format_rows(rows, width)
    if any(label == GPU_TIME and ARITHMETIC in text for rows in rows_by_heading.values() for label, text in rows):
        yield ""
        yield from wrap_text(ASSUMPTIONS, width)


def _find_overview_run(plan: Plan, benchmark: str, named: NamedModel) -> Run | None:
    """Return the run that a model would have in the overview."""
    row = plan.config.find_overview_row(benchmark, named.name if named.model else "new")
    return run_from_row(benchmark, row.model_copy(update={"model": named.name})) if row else None


def _format_rows(rows: Sequence[Row], width: int) -> Iterator[str]:
    """Yield the lines of labelled texts. Lines of a text that start with a space are kept as they are."""
    label_width = max(LABEL_WIDTH, *(len(label) + 4 for label, _ in rows), 0)
    for label, text in rows:
        lines: list[str] = []
        for line in text.split("\n"):
            lines += [line] if line.startswith(" ") else wrap_text(line, width - label_width)
        for number, line in enumerate(lines):
            yield f"{'' if number else f'  {label}':{label_width}}{line}"


def _format_quantity(quantity: Quantity, format_number: Callable[[float], str]) -> str:
    """Return a number as text, with its basis in parentheses."""
    number = UNKNOWN if quantity.value is None else format_number(quantity.value)
    return f"{number} ({quantity.basis})"


def _count_rows(plan: Plan, benchmark: str, protocols: Sequence[str]) -> Iterator[Row]:
    """Yield the numbers of requests and clips; protocols with the same number share a line."""
    counts = {protocol: count_requests(plan, benchmark, protocol) for protocol in protocols}
    for index, label in enumerate(("questions", "clips")):
        protocols_by_count = group_by_key(
            protocols,
            lambda protocol, index=index: counts[protocol][index],  # type: ignore[misc]
        )
        lines = []
        for quantity, members in protocols_by_count.items():
            names = ", ".join(summarize_list(members, MAX_LISTED, "and {} more"))
            text = _format_quantity(quantity, lambda number: f"{number:,.0f}")
            lines.append(text.replace(" (", f" for {names} (", 1))  # The names precede the basis in parentheses.
        yield label, "\n".join(lines)


# --- time and price --------------------------------------------------------------------------------------------------


def _time_rows(plan: Plan, estimates: Iterable[JobEstimate]) -> Iterator[Row]:
    """Yield the time of the pending runs of each model with weights. GPU time counts each GPU."""
    estimates_by_model = group_by_key(estimates, lambda estimate: estimate.pending_job.slug)
    for slug, model_estimates in estimates_by_model.items():
        model = plan.config.models[slug]
        if not model.has_weights:
            continue
        times = [estimate.time for estimate in model_estimates if estimate.time is not None]
        total = format_duration(sum(time.seconds for time in times) * max(1, model.gpus))
        is_computed_flags = {time.source == ARITHMETIC for time in times}
        if len(is_computed_flags) == 2:
            basis = "partly timed here"
        else:
            basis = f"{ARITHMETIC} for an {GPU}" if True in is_computed_flags else TIMED
        run_count = len(model_estimates)
        text = format_known_sum(total, len(times), run_count) if times else UNKNOWN
        reason = basis if times else "it has not run here"
        runs = f"{run_count} run{'s' * (run_count > 1)}"
        yield GPU_TIME if model.gpus else "time", f"{text} for {slug}, {runs} ({reason})"


def _forecast_row(plan: Plan, run: Run, named: NamedModel) -> Row:
    """Return the GPU time or the price of a model of which no run is pending, for the run of the overview."""
    model, label = named.model, f"{named.name}, {run.protocol}/{run.sampling}"
    request_type = plan.config.benchmarks[run.benchmark].protocols[run.protocol].request_type
    if model is not None and request_type not in ADAPTERS[model.adapter].get_request_types(model.settings):
        return "time", f"{UNKNOWN} for {label} (its adapter '{model.adapter}' has no {request_type} requests)"
    if model is not None and ADAPTERS[model.adapter].is_paid(model.settings):
        return "price", f"{_forecast_price(plan, run, named)} for {label}"
    if named.size is None or (model is not None and not model.gpus):
        return "time", f"{UNKNOWN} for {label} ({_explain_unknown_time(model)})"
    workload = forecast_workload(plan, run)
    if workload is None or named.size.parameters is None:
        reason = "the questions are not counted yet" if workload is None else named.size.weights.basis
        return GPU_TIME, f"{UNKNOWN} for {label} ({reason})"
    seconds = forecast_gpu_seconds(plan, run, workload, named.size.parameters, encoded_once=is_encoded_once(model))
    if seconds is None:
        return GPU_TIME, f"{UNKNOWN} for {label} (the length of the clips is unknown)"
    duration = format_duration(seconds * (model.gpus if model else 1))
    return GPU_TIME, f"{duration} for {label} ({ARITHMETIC} for an {GPU})"


def _judge_rows(plan: Plan, benchmark: str, protocols: Iterable[str]) -> Iterator[Row]:
    """Yield a row if a judge must rate the answers, but the suite names none."""
    if any(plan.is_judged(benchmark, protocol) for protocol in protocols) and not plan.benchmark_judges(benchmark):
        yield "judge", "rates each answer in addition; name one in `judges:` and `run:` of the suite"


def _explain_unknown_time(model: Model | None) -> str:
    """Return why the time of a model without a size or a GPU is unknown."""
    adapter = ADAPTERS[model.adapter] if model else None
    if adapter is not None and adapter.is_import:
        return "its answers are imported"
    if model is not None and model.is_remote:
        return "the speed of its server is unknown"
    return "its file names no GPU, and it has not run here"


def _forecast_price(plan: Plan, run: Run, named: NamedModel) -> str:
    """Return the maximum price of a run at a vendor."""
    assert named.model is not None
    file, price, workload = f"config/models/{named.name}.yaml", named.model.price, forecast_workload(plan, run)
    if price is None:
        return f"{UNKNOWN} ({file} has no `price:`)"
    if workload is None:
        return f"{UNKNOWN} (the questions are not counted yet)"
    tokens = forecast_prompt_tokens(plan, run, named.model, workload.request_count)
    if tokens is None:
        return f"{UNKNOWN} ({file} has no `settings.image_tokens`, or the clips have an unknown length)"
    protocol = plan.config.benchmarks[run.benchmark].protocols[run.protocol]
    usage = TokenUsage(round(tokens), workload.request_count * max(1, count_answer_tokens(protocol)))
    return (
        f"${price.compute_usd(usage):,.2f} at most ({ARITHMETIC}: {usage.input / 1e6:,.1f}M input tokens with "
        f"`image_tokens` per frame and without a discount for cached ones, {usage.output / 1e6:,.1f}M output tokens; "
        f"price of {price.date}, {price.source})"
    )


# --- terms and files -------------------------------------------------------------------------------------------------


def describe_terms(plan: Plan, benchmarks: Iterable[str]) -> Iterator[str]:
    """Yield a line with the licence of each benchmark's data and with what users must accept."""
    for benchmark in benchmarks:
        settings = plan.config.benchmarks[benchmark]
        if settings.data is not None and not is_made_here(plan, benchmark):
            yield f"Data of {settings.title}: {settings.data.licence}. Access: {_describe_access(settings.data)}."


def _describe_access(data: ReleasedData) -> str:
    """Return how users get access to released data."""
    if data.access == "open":
        return f"open; nothing to accept at {data.page}"
    if data.access == "gated":
        return f"gated; log in at {data.page}, accept {data.accept}, and set HF_TOKEN"
    return f"unknown; see {data.page}, and set HF_TOKEN if it asks you to accept terms"


def _video_rows(plan: Plan, benchmark: str) -> Iterator[Row]:
    """Yield a row with the size of the videos, or the fact that they are made here."""
    if is_made_here(plan, benchmark):
        yield "videos", "made on this machine; nothing to download or to accept"
    else:
        yield "videos", _format_quantity(measure_videos(plan, benchmark), format_bytes)


def _terms_rows(plan: Plan, benchmark: str) -> Iterator[Row]:
    """Yield the licence, what users must accept, and where they copy the data by hand."""
    if is_made_here(plan, benchmark):
        return
    data = plan.config.benchmarks[benchmark].data
    if data is not None:
        yield "licence", data.licence
        yield "access", _describe_access(data)
    yield "by hand", _describe_placement(plan, benchmark)


def _describe_placement(plan: Plan, benchmark: str) -> str:
    """Return where users copy the data by hand: the folders of the suite, or an example for data of the hub."""
    settings = plan.config.suite.benchmarks[benchmark]
    release, route = settings.release, settings.route
    if not isinstance(release, ReleaseHub):
        folders = [release.path] if isinstance(release, ReleaseFolder) else []
        if isinstance(route, Folder):
            folders.append(f"{route.path}/{route.pattern}")
        elif isinstance(route, Archive):
            folders.append(route.path)
        return ", ".join(folders)
    folder = DATA_FOLDER / benchmark
    data, lines = plan.config.benchmarks[benchmark].data, []
    files = data.annotation_files if data else list(plan.config.benchmarks[benchmark].release_files)
    if isinstance(route, Huggingface) and route.files:
        files = [*files, *route.files]
        lines = [" route:", "   kind: archive", f"   path: {folder / _merge_patterns(route.files)}"]
        if route.member != Archive.model_fields["member"].default:
            lines.append(f'   member: "{route.member}"')
    return "\n".join(
        [
            f"copy files such as {', '.join(files)} to {folder}/, and set in {plan.config.suite_file}, `{benchmark}:`",
            f" release: {{kind: folder, path: {folder}}}",
            *lines,
        ]
    )


def _merge_patterns(files: Sequence[str]) -> str:
    """Return one glob pattern for all of these files: what their names begin and end with."""
    if len(files) == 1:
        return files[0]
    reversed_suffix = _common_beginning([file[::-1] for file in files])
    return f"{_common_beginning(files)}*{reversed_suffix[::-1]}"


def _common_beginning(texts: Sequence[str]) -> str:
    """Return the longest text with which all of these texts begin."""
    # Each element has the letters of all texts at one position.
    letters_by_position = zip(*texts, strict=False)
    return "".join(letters[0] for letters in takewhile(lambda letters: len(set(letters)) == 1, letters_by_position))
