"""The shared engine beside the plain one, the four families with their memory, and quantised weights."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from reprise.models.local.torch_setup import torch

from reprise.models.base import ModelSpec
from reprise.models.local.clip_size import clip_size_of, largest_clip
from reprise.models.local.devices import needed

from bench.gpu_check.asking import CLOSE, Said, adapter_of, clip_of, dtype_of, said, spec_of, video
from bench.gpu_check.families import checkpoint
from bench.gpu_check.outcome import Line, NotTriedError, Session, judged

FRAMES = (8, 64)
# The weights in memory may differ by this share from the estimate.
ESTIMATE = 0.05


def engines(session: Session) -> Iterator[Line]:
    """Ask a 7B model with both engines, each question twice: the same scores and texts, and each time the same."""
    folder, dtype, path = checkpoint(session, "LLaVA-OneVision", is_whole=True), dtype_of(session), video(session)
    answers: dict[tuple[str, int, int], Said] = {}
    for engine in ("plain", "shared"):
        with adapter_of(spec_of(session, folder, engine=engine)) as adapter:
            for frames in FRAMES:
                for time in (0, 1):
                    answers[engine, frames, time] = said(adapter, clip_of(path, frames))
    for frames in FRAMES:
        plain, shared = answers["plain", frames, 0], answers["shared", frames, 0]
        yield _alike(f"engines, {frames} frames", plain, shared, dtype)
    repeats = [(answers[engine, frames, 0], answers[engine, frames, 1])
               for engine in ("plain", "shared") for frames in FRAMES]  # fmt: skip
    off, texts = max(one.off(two) for one, two in repeats), sum(one.other_texts(two) for one, two in repeats)
    reason = "the same questions got other answers the second time" if off or texts else ""
    yield judged("repeatability", reason, largest_difference=off, other_texts=texts)


def _alike(name: str, plain: Said, shared: Said, dtype: str) -> Line:
    """In float32 both engines write the same; in half precision rounding may choose another word of two as likely."""
    off, texts = shared.off(plain), shared.other_texts(plain)
    reason = f"shared and plain scores differ by more than {CLOSE[dtype]}" if not off <= CLOSE[dtype] else ""
    if dtype == "float32" and texts:
        reason = f"{texts} texts differ"
    return judged(name, reason, largest_difference=off, other_texts=f"{texts} of {len(plain.texts)}", dtype=dtype)


def family(session: Session, name: str) -> Iterator[Line]:
    """Ask a family in float32 with both engines, then measure its memory in bfloat16 beside the estimate."""
    folder = checkpoint(session, name)
    yield _answers_of(session, name, folder)
    if session.is_cpu:
        raise NotTriedError("a processor does not say how much memory a model takes")
    yield _memory_of(session, name, folder)
    if name != "LLaVA-OneVision":  # which other checks use
        shutil.rmtree(folder)


def _answers_of(session: Session, name: str, folder: Path) -> Line:
    clip, other = clip_of(video(session), 8), clip_of(video(session, "other"), 8, "other")
    found: dict[str, Said] = {}
    for engine in ("plain", "shared"):
        with adapter_of(spec_of(session, folder, "float32", engine=engine)) as adapter:
            found[engine], elsewhere = said(adapter, clip), said(adapter, other)
    line = _alike(name, found["plain"], found["shared"], "float32")
    if line.reason or found["shared"].off(elsewhere):
        return line
    return judged(name, "another video changes no score: the model does not see it")


def _memory_of(session: Session, name: str, folder: Path) -> Line:
    clip = clip_of(video(session), FRAMES[-1])
    spec = replace(spec_of(session, folder), largest=largest_clip([clip]))
    torch.cuda.reset_peak_memory_stats()
    with adapter_of(spec) as adapter:
        weights = torch.cuda.memory_allocated()
        said(adapter, clip, scores=20)
        peak = torch.cuda.max_memory_allocated()
    need = needed(folder, spec.dtype, None, clip_size_of(spec))
    return _within(f"{name}, memory", weights, peak, need.weights, need.beside(1))


def _within(name: str, weights: int, peak: int, estimated: int, beside: int) -> Line:
    reason = ""
    if abs(weights - estimated) > ESTIMATE * estimated:
        reason = "the weights take another amount of memory than estimated"
    elif peak - weights > beside:
        reason = "clips take more memory than is kept free for them"
    numbers = {
        "weights_GB": weights,
        "estimated_GB": estimated,
        "peak_beside_GB": peak - weights,
        "kept_free_GB": beside,
    }
    return judged(name, reason, **{name: value / 1e9 for name, value in numbers.items()})


def quantised(session: Session, method: str) -> Iterator[Line]:
    """Ask with quantised weights: finite scores, and as much memory as estimated."""
    folder, clip = checkpoint(session, "LLaVA-OneVision"), clip_of(video(session), 8)
    # bitsandbytes computes int8 in float16.
    base = spec_of(session, folder, "float16" if method == "int8" and not session.is_cpu else "")
    with adapter_of(base) as adapter:
        whole, size = said(adapter, clip, texts=0), _size(adapter.model)
    spec: ModelSpec = replace(base, settings={"quantised": method})
    with adapter_of(spec) as adapter:
        small, less = said(adapter, clip, texts=0), _size(adapter.model)
    estimated = needed(folder, base.dtype, method).weights
    reason = "" if less < size else "its weights take no less memory"
    if not session.is_cpu and abs(less - estimated) > ESTIMATE * estimated:
        reason = "the weights take another amount of memory than estimated"
    yield judged(
        method, reason, largest_difference=small.off(whole), weights_GB=less / 1e9, estimated_GB=estimated / 1e9,
        unquantised_GB=size / 1e9,
    )  # fmt: skip


def _size(model: object) -> int:
    return int(model.get_memory_footprint())  # type: ignore[attr-defined]
