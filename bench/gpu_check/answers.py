"""Check the shared engine against the plain one, the four families with their memory, and quantised weights."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from reprise.models.local.torch_setup import torch

from reprise.models.base import AnswerError, ModelSpec
from reprise.models.local.clip_size import compute_largest_clip_size, find_largest_clip
from reprise.models.local.device_memory import estimate_memory

from bench.gpu_check.families import checkpoint
from bench.gpu_check.memory import free_memory_limited_to, query_free_bytes
from bench.gpu_check.model_queries import (
    TOLERANCE,
    ClipAnswers,
    adapter_of,
    answer_clip,
    clip_of,
    dtype_of,
    spec_of,
    video,
)
from bench.gpu_check.outcome import FailedError, Line, NotTriedError, Session, line_with_reason

FRAMES = (8, 64)  # Numbers of frames of a clip.
# The tolerated relative difference between the weights in memory and the estimate.
WEIGHTS_TOLERANCE = 0.05


def engines(session: Session) -> Iterator[Line]:
    """Run a 7B model with both engines, each question twice, and compare engines and repetitions."""
    folder, dtype, path = checkpoint(session, "LLaVA-OneVision", is_whole=True), dtype_of(session), video(session)
    answers: dict[tuple[str, int, int], ClipAnswers] = {}
    for engine in ("plain", "shared"):
        with adapter_of(spec_of(session, folder, engine=engine)) as adapter:
            for frames in FRAMES:
                for repetition in (0, 1):
                    answers[engine, frames, repetition] = answer_clip(adapter, clip_of(path, frames))
    for frames in FRAMES:
        plain, shared = answers["plain", frames, 0], answers["shared", frames, 0]
        yield _compare_engines(f"engines, {frames} frames", plain, shared, dtype)
    repeats = [(answers[engine, frames, 0], answers[engine, frames, 1])
               for engine in ("plain", "shared") for frames in FRAMES]  # fmt: skip
    difference = max(first.largest_difference(second) for first, second in repeats)
    text_differences = sum(first.count_text_differences(second) for first, second in repeats)
    reason = "the same requests got different responses the second time" if difference or text_differences else ""
    yield line_with_reason("repeatability", reason, largest_difference=difference, other_texts=text_differences)


def _compare_engines(name: str, plain: ClipAnswers, shared: ClipAnswers, dtype: str) -> Line:
    """Compare both engines; texts must be equal only in float32, because half precision may flip close tokens."""
    difference, text_differences = shared.largest_difference(plain), shared.count_text_differences(plain)
    reason = "" if difference <= TOLERANCE[dtype] else f"shared and plain scores differ by more than {TOLERANCE[dtype]}"
    if dtype == "float32" and text_differences:
        reason = f"{text_differences} texts differ"
    return line_with_reason(
        name,
        reason,
        largest_difference=difference,
        other_texts=f"{text_differences} of {len(plain.texts)}",
        dtype=dtype,
    )


def family(session: Session, name: str) -> Iterator[Line]:
    """Run a family in float32 with both engines, then compare its memory in bfloat16 with the estimate."""
    free_at_start = 0 if session.is_cpu else query_free_bytes()
    folder = checkpoint(session, name)
    yield _check_answers(session, name, folder)
    if session.is_cpu:
        raise NotTriedError("memory is measured on a GPU only")
    yield _check_memory(session, name, folder, free_at_start)
    if name != "LLaVA-OneVision":  # other checks use this checkpoint
        shutil.rmtree(folder)


def _check_answers(session: Session, name: str, folder: Path) -> Line:
    """Compare both engines, and check that the answers about another video differ."""
    clip, other_clip = clip_of(video(session), 8), clip_of(video(session, "other"), 8, "other")
    answers: dict[str, ClipAnswers] = {}
    for engine in ("plain", "shared"):
        with adapter_of(spec_of(session, folder, "float32", engine=engine)) as adapter:
            answers[engine], other_answers = answer_clip(adapter, clip), answer_clip(adapter, other_clip)
    line = _compare_engines(name, answers["plain"], answers["shared"], "float32")
    if line.reason or answers["shared"].largest_difference(other_answers):
        return line
    return line_with_reason(name, "the scores are the same for another video: the model does not see the video")


def _check_memory(session: Session, name: str, folder: Path, free_at_start: int) -> Line:
    """Answer questions while the GPU has no more free memory than the estimate asks for."""
    clip = clip_of(video(session), FRAMES[-1])
    spec = replace(spec_of(session, folder), largest_clip=find_largest_clip([clip]))
    reason = ""
    with adapter_of(spec) as adapter:
        weights = torch.cuda.memory_allocated()
        estimate = estimate_memory(folder, spec.dtype, None, compute_largest_clip_size(spec))
        reserve = estimate.compute_reserve(1)
        driver = max(0, free_at_start - torch.cuda.mem_get_info()[0] - torch.cuda.memory_reserved())
        with free_memory_limited_to(reserve - driver) as usage:
            try:
                answer_clip(adapter, clip, scores=20)
            except (FailedError, AnswerError) as error:
                reason = f"{error}; the estimated memory is too low"
    if not reason and abs(weights - estimate.weight_bytes) > WEIGHTS_TOLERANCE * estimate.weight_bytes:
        reason = "the memory of the weights differs from the estimate"
    sizes = {
        "weights_GB": weights,
        "estimated_GB": estimate.weight_bytes,
        "kept_free_GB": reserve,
        "of_which_driver_GB": driver,
        "peak_beside_GB": usage.peak_bytes - weights,
    }
    gigabytes = {label: size / 1e9 for label, size in sizes.items()}
    return line_with_reason(name, reason, **gigabytes, allocations_refused=usage.refused_allocations)


def quantised(session: Session, method: str) -> Iterator[Line]:
    """Run quantised weights: scores must be finite, and the memory must match the estimate."""
    folder, clip = checkpoint(session, "LLaVA-OneVision"), clip_of(video(session), 8)
    # bitsandbytes computes int8 in float16.
    base = spec_of(session, folder, "float16" if method == "int8" and not session.is_cpu else "")
    with adapter_of(base) as adapter:
        base_answers, base_size = answer_clip(adapter, clip, texts=0), _size(adapter.model)
    spec: ModelSpec = replace(base, settings={"quantised": method})
    with adapter_of(spec) as adapter:
        quantised_answers, quantised_size = answer_clip(adapter, clip, texts=0), _size(adapter.model)
    estimated = estimate_memory(folder, base.dtype, method).weight_bytes
    reason = "" if quantised_size < base_size else "quantised weights do not take less memory"
    if not session.is_cpu and abs(quantised_size - estimated) > WEIGHTS_TOLERANCE * estimated:
        reason = "the memory of the weights differs from the estimate"
    yield line_with_reason(
        method, reason, largest_difference=quantised_answers.largest_difference(base_answers),
        weights_GB=quantised_size / 1e9, estimated_GB=estimated / 1e9, unquantised_GB=base_size / 1e9,
    )  # fmt: skip


def _size(model: object) -> int:
    """Return the bytes of a model's weights and buffers."""
    return int(model.get_memory_footprint())  # type: ignore[attr-defined]
