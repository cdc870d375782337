"""Forecast requests, videos, weights and GPU time before any download, from papers, releases and arithmetic."""

import re
from pathlib import Path
from typing import NamedTuple

from reprise.config.benchmark import Protocol, RequestCount, StatedNumber
from reprise.config.model import Model
from reprise.core.errors import UserError
from reprise.core.paths import Run
from reprise.core.schemas import REQUESTS, SOURCES, read_table
from reprise.fetch.settings import ReleaseConstructed, ReleaseHub, ReleaseRehearsal, ReleaseToy
from reprise.media.sampling import count_pictures
from reprise.models.adapters import ADAPTERS
from reprise.models.local.weights import WEIGHT_PATTERN
from reprise.plan.costs import Workload, measure_weights
from reprise.plan.runs import Plan

COUNTED, ARITHMETIC = "counted here", "arithmetic"
GB = 10**9
# Assumptions about GPU time. Nobody has measured them on this machine.
GPU = "H100"
# Operations per second of the GPU, and the shares of them that are reached for frames and for questions.
PEAK_FLOPS, CLIP_UTILISATION, REQUEST_UTILISATION = 989e12, 0.45, 0.3
FLOPS_PER_PARAMETER = 2  # for each token
# Tokens of a frame and of a question, and the constant time of a request.
FRAME_TOKENS, REQUEST_TOKENS, REQUEST_S = 196, 100, 0.03
# Tokens of an answer that chooses an option and of a written answer, and the time of each token.
SHORT_ANSWER_TOKENS, WRITTEN_ANSWER_TOKENS, TOKEN_S = 5, 100, 0.025
# Processor time for each second of video, and number of parallel processes.
DECODING_S, DECODERS = 0.15, 8
ASSUMPTIONS = (
    f"GPU time by arithmetic is for one {GPU} with 16-bit weights; it is not measured, and was 0.3 to "
    "3.3 times the time on an H200 for two models (docs/reference/gpu-results.md). It assumes "
    f"{PEAK_FLOPS / 1e12:.0f} TFLOP/s, of which frames use {CLIP_UTILISATION:.0%} and questions "
    f"{REQUEST_UTILISATION:.0%}; {FRAME_TOKENS} tokens a frame and {REQUEST_TOKENS} a question, plus "
    f"{1000 * REQUEST_S:.0f} ms; answers of {SHORT_ANSWER_TOKENS} tokens if an option is chosen and "
    f"{WRITTEN_ANSWER_TOKENS} if text is written, at {1000 * TOKEN_S:.0f} ms each; {DECODERS} processes that need "
    f"{DECODING_S:g} s to decode a second of video. The frames of a clip are computed once for all of its questions. "
    "For a model on several GPUs, the time is multiplied by their number."
)
# The number of parameters in the name of a repository, such as `7b` in `llava-onevision-qwen2-7b-ov-hf`.
PARAMETERS = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)[bB](?![a-zA-Z])")
BILLION = 10**9  # the unit of parameters in names of models


class Quantity(NamedTuple):
    """A number with its basis; without a number, the basis is the reason why it is unknown."""

    value: float | None
    basis: str


class ModelSize(NamedTuple):
    """Size of a model, as far as it is known without its weights."""

    parameters: float | None
    weights: Quantity
    """bytes of its weights"""


def is_made_here(plan: Plan, benchmark: str) -> bool:
    """Return whether a benchmark's release is written on this machine, so that it differs from the real one."""
    release = plan.config.suite.benchmarks[benchmark].release
    return isinstance(release, ReleaseToy | ReleaseRehearsal | ReleaseConstructed)


# --- requests and clips ----------------------------------------------------------------------------------------------


def find_request_count(plan: Plan, benchmark: str, protocol: Protocol) -> RequestCount | None:
    """Return what is stated about the samples and clips of a protocol, or None for data that are made here."""
    data = plan.config.benchmarks[benchmark].data
    if data is None or is_made_here(plan, benchmark):
        return None
    return next(
        (count for count in data.counts if protocol.form in count.forms and count.items == protocol.items), None
    )


def count_requests(plan: Plan, benchmark: str, protocol_name: str) -> tuple[Quantity, Quantity]:
    """Return the numbers of requests and clips of a protocol: counted here if possible, or else as stated."""
    path = plan.results.requests(benchmark, protocol_name)
    if path.is_file():
        try:
            clips = read_table(path, REQUESTS)["clip_id"]
            return Quantity(clips.len(), COUNTED), Quantity(clips.n_unique(), COUNTED)
        except UserError:  # The table is damaged or from another version, and is computed again.
            pass
    count = find_request_count(plan, benchmark, plan.config.benchmarks[benchmark].protocols[protocol_name])
    # A part of a suite has fewer samples, and a user's folder may have others.
    is_whole = plan.config.limit is None and isinstance(plan.config.suite.benchmarks[benchmark].release, ReleaseHub)
    if count is None or not is_whole:
        unknown = Quantity(None, "not counted yet")
        return unknown, unknown
    clips_quantity = Quantity(count.clips.number, _describe_basis(count.clips))
    basis = _describe_basis(count.samples)
    if count.requests_per_sample == 1:
        return Quantity(count.samples.number, basis), clips_quantity
    basis = f"{ARITHMETIC}: {count.samples.number:,.0f} samples ({basis}) x {count.requests_per_sample}"
    return Quantity(count.samples.number * count.requests_per_sample, basis), clips_quantity


def forecast_workload(plan: Plan, run: Run) -> Workload | None:
    """Return the workload of a run, counted here or as stated, or None if it is unknown."""
    (requests, _), (clips, _) = count_requests(plan, run.benchmark, run.protocol)
    if requests is None or clips is None:
        return None
    frames = count_frames_per_clip(plan, run)
    return Workload(int(requests), int(clips), None if frames is None else frames * clips)


def count_frames_per_clip(plan: Plan, run: Run) -> float | None:
    """Return the frames of a clip by its sampling, a grid as one frame; None if they depend on an unknown length."""
    rule = plan.config.main.samplings[run.sampling]
    pictures = count_pictures(rule)
    count = find_request_count(plan, run.benchmark, plan.config.benchmarks[run.benchmark].protocols[run.protocol])
    if pictures is None and "fps" in rule and count is not None and count.clip_seconds is not None:
        return float(rule["fps"] * count.clip_seconds.number)
    return pictures


def measure_videos(plan: Plan, benchmark: str) -> Quantity:
    """Return the bytes of a benchmark's videos: counted here if all are fetched, or else as stated."""
    manifests = plan.list_manifests("sources", benchmark)
    if all(path.is_file() for path in manifests):
        tables = [read_table(path, SOURCES).filter(status="ok") for path in manifests]
        return Quantity(sum(int(table["bytes"].sum()) for table in tables), COUNTED)
    data = plan.config.benchmarks[benchmark].data
    size = data.video_gb if data else None
    if size is None or is_made_here(plan, benchmark):
        return Quantity(None, "no source states it; the log prints it before the download")
    return Quantity(size.number * GB, _describe_basis(size))


def _describe_basis(stated: StatedNumber) -> str:
    """Return where a stated number comes from, such as `paper: Table 1`."""
    return f"{stated.basis}: {stated.source}"


# --- models ----------------------------------------------------------------------------------------------------------


def parse_parameters(name: str) -> float | None:
    """Return the number of parameters that the name of a repository states, or None."""
    match = PARAMETERS.search(name.rpartition("/")[2])
    return float(match[1]) * BILLION if match else None


def size_from_name(name: str) -> ModelSize:
    """Return the size of a model with 16-bit weights by the number of parameters in its name."""
    parameters = parse_parameters(name)
    if parameters is None:
        return ModelSize(None, Quantity(None, f"the name {name} states no number of parameters"))
    basis = f"{ARITHMETIC}: {parameters / BILLION:g}B parameters by its name, 2 bytes each"
    return ModelSize(parameters, Quantity(2 * parameters, basis))


def size_of_folder(folder: Path) -> ModelSize:
    """Return the size of the weights in a folder, as 16-bit numbers unless the folder's name says otherwise."""
    weights_bytes = sum(path.stat().st_size for path in folder.glob(WEIGHT_PATTERN))
    return ModelSize(parse_parameters(folder.name) or weights_bytes / 2, Quantity(weights_bytes, COUNTED))


def size_of_model(plan: Plan, model: Model) -> ModelSize | None:
    """Return the size of a configured model, or None if it has no weights."""
    weights = measure_weights(model, plan.store)
    if weights is None:
        return None
    by_name = size_from_name(model.repo or str(model.checkpoint))
    if weights.download_bytes == 0 and weights.loaded_bytes is not None:
        size = Quantity(weights.loaded_bytes, COUNTED)
    elif model.weights_bytes is not None:
        size = Quantity(model.weights_bytes, f"release: files of {model.repo}")
    else:
        return by_name
    return ModelSize(by_name.parameters or (size.value or 0) / 2, size)


def is_encoded_once(model: Model | None) -> bool:
    """Return whether a model encodes the frames of a clip once for all its requests, as new models do."""
    return model is None or model.adapter != "transformers" or model.settings.get("engine") == "shared"


def forecast_gpu_seconds(
    plan: Plan, run: Run, workload: Workload, parameters: float | None, *, encoded_once: bool
) -> float | None:
    """Return the seconds that a workload takes on one GPU (`ASSUMPTIONS`), or None if something is unknown."""
    protocol = plan.config.benchmarks[run.benchmark].protocols[run.protocol]
    count = find_request_count(plan, run.benchmark, protocol)
    if parameters is None or workload.frame_count is None or count is None:
        return None
    if workload.frame_count and count.clip_seconds is None:
        return None
    seconds_per_clip = count.clip_seconds.number if count.clip_seconds and workload.frame_count else 0.0
    decoding_s = workload.clip_count * seconds_per_clip * DECODING_S / DECODERS
    frame_count = workload.frame_count
    if not encoded_once and workload.clip_count:
        frame_count *= workload.request_count / workload.clip_count
    token_flops = FLOPS_PER_PARAMETER * parameters
    clip_s = frame_count * FRAME_TOKENS * token_flops / (PEAK_FLOPS * CLIP_UTILISATION)
    request_s = workload.request_count * REQUEST_TOKENS * token_flops / (PEAK_FLOPS * REQUEST_UTILISATION)
    answer_s = workload.request_count * (REQUEST_S + count_answer_tokens(protocol) * TOKEN_S)
    return decoding_s + clip_s + request_s + answer_s


def count_answer_tokens(protocol: Protocol) -> int:
    """Return the assumed number of tokens of an answer after the first one; scores need none."""
    if protocol.request_type in ("score", "similarity"):
        return 0
    assumed = SHORT_ANSWER_TOKENS if protocol.request_type == "choose" else WRITTEN_ANSWER_TOKENS
    return min(assumed, protocol.max_tokens)


def forecast_prompt_tokens(plan: Plan, run: Run, model: Model, n_requests: int) -> float | None:
    """Return the tokens of all prompts of a run, or None if they are unknown.

    Of a vendor's model, this is a maximum by its setting `image_tokens`.
    """
    if ADAPTERS[model.adapter].is_paid(model.settings):
        frame_tokens = model.settings.get("image_tokens")
    else:
        frame_tokens = FRAME_TOKENS if model.has_weights else None
    frames = count_frames_per_clip(plan, run)
    return None if frame_tokens is None or frames is None else n_requests * (frames * frame_tokens + REQUEST_TOKENS)
