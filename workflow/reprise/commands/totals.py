"""Format the sums of pending inference: requests, time, cost and disk space."""

from collections.abc import Iterator, Sequence

from reprise.commands.numbers import format_count, format_duration, format_known_sum, format_size
from reprise.commands.pending import JobEstimate
from reprise.models.adapters import ADAPTERS
from reprise.models.inference.money.prices import Ledger, TokenUsage
from reprise.plan.costs import estimate_pending_data, measure_weights
from reprise.plan.forecast import is_made_here, measure_videos, size_of_model
from reprise.plan.runs import Plan


def format_totals(plan: Plan, estimates: Sequence[JobEstimate]) -> Iterator[str]:
    """Yield the total numbers of requests, frames and tokens, and the total times with and without GPUs."""
    gpu_counts = [plan.config.models[estimate.pending_job.slug].gpus for estimate in estimates]
    sums = []
    for noun, counts in (
        ("requests", [estimate.request_count for estimate in estimates]),
        ("frames", [estimate.frame_count for estimate in estimates]),
        ("tokens", [estimate.prompt_tokens for estimate in estimates]),
    ):
        known_counts = [count for count in counts if count is not None]
        text = f"{sum(known_counts):,}" if noun == "requests" else format_count(sum(known_counts))
        sums.append(f"{noun} {format_known_sum(text, len(known_counts), len(counts))}")
    yield f"Total: {'; '.join(sums)}."
    for title, is_on_gpus in (("GPU time", True), ("Time without a GPU", False)):
        # GPU time is the time of a run times its GPUs.
        times = [
            (estimate.time, max(1, gpu_count))
            for estimate, gpu_count in zip(estimates, gpu_counts, strict=True)
            if bool(gpu_count) == is_on_gpus
        ]
        known_times = [(time.seconds, gpu_count) for time, gpu_count in times if time]
        total = sum(seconds * gpu_count for seconds, gpu_count in known_times)
        if times:
            yield f"{title}: {format_known_sum(format_duration(total), len(known_times), len(times))}."
    if any(estimate.time is None for estimate in estimates):
        yield (
            "No run similar to those of unknown time was timed here. Start one, stop it with Ctrl-C, and plan again: "
            "its first requests give an estimate, and their responses stay in the cache."
        )


def describe_costs(plan: Plan, estimates: Sequence[JobEstimate]) -> Iterator[str]:
    """Yield the spent money and the maximum cost of pending paid requests, for models with and without a price."""
    models = [(estimate, plan.config.models[estimate.pending_job.slug]) for estimate in estimates]
    paid_runs = [(estimate, model) for estimate, model in models if ADAPTERS[model.adapter].is_paid(model.settings)]
    spent = Ledger(plan.store.root).read_spending()
    for is_priced in (True, False):
        group = [(estimate, model) for estimate, model in paid_runs if (model.price is not None) == is_priced]
        usages = [(model.price, _max_usage(plan, estimate)) for estimate, model in group]
        costs = [
            price.compute_usd(usage) if price else float(usage.total) for price, usage in usages if usage is not None
        ]
        text = format_known_sum(
            ("${:.2f}" if is_priced else "{:,.0f} tokens").format(sum(costs)), len(costs), len(group)
        )
        if group and is_priced:
            dates = {
                f"{estimate.pending_job.slug} {model.price.date}, {model.price.source}"
                for estimate, model in group
                if model.price
            }
            yield (
                f"Cost: ${spent.usd:.2f} of `budget_usd` {plan.budget.usd:g} are spent; pending, with answers of "
                f"maximal length: {text} (prices of {', '.join(sorted(dates))})."
            )
        elif group:
            slugs = ", ".join(sorted({estimate.pending_job.slug for estimate, _ in group}))
            yield (
                f"Price unknown: {slugs}. {spent.tokens:,} of "
                f"`budget_tokens` {plan.budget.tokens:,} are used; pending, with answers of maximal length: {text}."
            )


def _max_usage(plan: Plan, estimate: JobEstimate) -> TokenUsage | None:
    """Return the prompt tokens and the maximum answer tokens of a run; None if they are unknown."""
    if estimate.request_count is None or estimate.prompt_tokens is None:
        return None
    max_tokens = plan.config.models[estimate.pending_job.slug].settings.get("max_tokens")
    if not isinstance(max_tokens, int):
        max_tokens = estimate.pending_job.job.max_tokens
    return TokenUsage(round(estimate.prompt_tokens), estimate.request_count * max_tokens)


def format_disk_space(plan: Plan, estimates: Sequence[JobEstimate]) -> Iterator[str]:
    """Yield a line with the disk space of weights, videos and clips that are not in the store yet."""
    parts: list[str] = []
    for slug in sorted({estimate.pending_job.slug for estimate in estimates}):
        weights, size = (
            measure_weights(plan.config.models[slug], plan.store),
            size_of_model(plan, plan.config.models[slug]),
        )
        if weights is not None and size is not None and weights.download_bytes != 0:
            parts.append(f"weights of {slug} {format_size(weights.download_bytes or size.weights.value)}")
    for benchmark in sorted({estimate.scored_run.run.benchmark for estimate in estimates}):
        data = estimate_pending_data(plan, benchmark)
        if data is None:
            size_text = format_size(measure_videos(plan, benchmark).value)
            parts.append(f"videos of {benchmark} {'rendered here' if is_made_here(plan, benchmark) else size_text}")
        for noun, (count, size_bytes) in (data or {}).items():
            if count:
                parts.append(f"{count:,} {noun} of {benchmark} {format_size(size_bytes, 'about ')}")
    yield f"Disk, at most: {', '.join(parts)}." if parts else "Disk: nothing to fetch, no clip to encode."
