"""Measure how often verdicts of temporal profiles are wrong, on simulated models: `docs/reference/temporal-errors.md`.

`python -m bench.temporal_errors > docs/reference/temporal-errors.md` rewrites that page, in some minutes.
"""

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from math import sqrt
from typing import NamedTuple

import numpy as np
from reprise.temporal.findings import CLAIMS
from reprise.temporal.rules import Outcome, Rule

from bench.coverage import table
from bench.temporal_worlds import (
    FRAME_COUNT,
    MODELS,
    NOISE,
    Frames,
    SimulatedModel,
    draw_shuffles,
    measure_losses,
    simulate_profile,
)

CLIPS = (40, 100, 500, 2000)  # Numbers of clips of a benchmark.
BENCHMARKS = 4  # Benchmarks of a profile.
SIMULATIONS = 400  # Simulated profiles of each model.
BEHAVIOURS = {
    "last moment only": "needs the planned last frame, at the last position",
    "one position only": "needs the third planned frame, at the third position",
    "two middle positions, in any order": "needs the two middle frames at the two middle positions, in either order",
    "last two positions, in any order": "the same for the last two frames and positions",
    "one informative frame anywhere": "needs one frame, at any position; the frame differs between clips",
    "one informative frame, often unsure": "the same, but its confidence finds this frame in about 60 % of cases only",
    "one informative frame, equally sure of all": "the same, but it is equally confident of all answers",
    "one informative frame, less sure with it": "the same, but it is less confident when it sees this frame",
    "bag of frames": "needs two frames, at any positions",
    "bag that fails on jumps": "needs two frames, and is confused if successive frames are far apart",
    "bag that fails on unusual input": "needs two frames, and is confused unless the frames follow each other forward",
    "direction of motion": "answers right if most frames are in forward order, wrong if most are in reverse order",
    "order of two distant events": "answers right if two frames are shown in their order, wrong in the opposite order",
    "order of two distant events, in words": "the same, but answers Yes or No, so its losses "
    "must exceed what shifts of Yes explain",
    "text only": "guesses",
    "text only, refuses without frames": "guesses, but does not answer if there are no frames",
    "text only, refuses without frames, confused by changed ones": "answers right from the "
    "text on 75 % of the questions, but only if frames of any clip follow each other forward; does not answer without "
    "frames",
    "text only, refuses 4 % of altered input": "guesses, but leaves out 4 % of the answers if frames are changed",
    "text only, threshold moved: little": "answers Yes or No from the text (evidence 2 standard deviations apart), and "
    "needs more evidence for Yes if frames are changed, by 0.25 standard deviations",
    "text only, threshold moved: much": "the same with 0.6 standard deviations",
    "text only, threshold moved: biased before": "the same, and also says Yes too rarely with planned frames, by a "
    "threshold of 0.5",
    "text only, threshold moved: evidence for Yes less varied": "0.6 again, but the evidence has a standard "
    "deviation of 0.7 if the answer is Yes",
    "text only, threshold moved: evidence for Yes more varied": "needs 0.6 less evidence for Yes; the evidence has a "
    "standard deviation of 1.4 if the answer is Yes",
    "text only, threshold moved: worse without frames": "0.6 more, and guesses half of the answers without frames",
    "coin flip": "guesses anew under each condition",
}
"""title of a model -> when it answers right, or that it guesses"""
POWER_MODELS = ("direction of motion", "order of two distant events", "order of two distant events, in words")
POWER_LOSS = 10.0
"""true loss in points of the power simulation, under the ablation of the clip's own frames with the smallest loss"""


class Rates(NamedTuple):
    """Results over the simulated profiles of a model."""

    false_claims: float
    """share of profiles with any false claim on any benchmark"""
    shown: dict[Rule, float]
    """rule -> share of benchmarks on which it is shown"""


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description="Measure false verdicts; prints docs/reference/temporal-errors.md.")
    parser.add_argument("--simulations", type=int, default=SIMULATIONS, help="profiles of each model and size")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print("\n\n".join(write_page(args.simulations, args.seed)))


def measure_rates(
    model: SimulatedModel, clips: int, simulations: int, seed: int, shuffles: Frames, used_share: float = 1.0
) -> Rates:
    """Simulate profiles of a model over `BENCHMARKS` benchmarks of so many clips.

    The model uses its ability on `used_share` of the clips, and guesses on the others.
    """
    generator = np.random.default_rng([seed, clips])
    false_claims, shown = 0, dict.fromkeys(Rule, 0)
    for _ in range(simulations):
        results = simulate_profile(model.answer, clips, BENCHMARKS, shuffles, generator, used_share)
        claims = [rule for rules in results for rule, result in rules.items() if result.outcome == Outcome.SHOWN]
        false_claims += any(rule not in model.true_claims for rule in claims)
        for rule in claims:
            shown[rule] += 1
    total = simulations * BENCHMARKS
    return Rates(false_claims / simulations, {rule: count / total for rule, count in shown.items()})


def write_page(simulations: int, seed: int) -> Iterator[str]:
    """Yield the paragraphs of the page."""
    shuffles = draw_shuffles()
    with ProcessPoolExecutor() as processes:
        futures = {
            model.title: {
                clips: processes.submit(measure_rates, model, clips, simulations, seed, shuffles) for clips in CLIPS
            }
            for model in MODELS
        }
        rates = {title: {clips: future.result() for clips, future in row.items()} for title, row in futures.items()}
    error = 100 * 1.96 * sqrt(0.05 * 0.95 / simulations)
    yield "# Error rates of temporal verdicts"
    yield (
        "How often is a verdict of a [temporal profile](temporal.md) wrong? `python -m bench.temporal_errors` measures "
        "this on simulated models, whose true behaviour is known, and writes this page."
    )
    yield "## The simulated models"
    yield (
        f"Each clip has {FRAME_COUNT} frames and one question with two options. A model sees the frames, but not the "
        "name of the condition. If the frames do not show what a model needs, it guesses. It also answers "
        f"{100 * NOISE:g} % of all questions at random."
    )
    yield "\n".join(f"- **{model.title}**: {BEHAVIOURS[model.title]}." for model in MODELS)
    yield (
        f"A profile covers {BENCHMARKS} benchmarks with the same number of clips, all with the [single-frame "
        "probe](temporal.md#the-single-frame-probe). The columns of the tables are numbers of clips per benchmark."
    )
    yield "## False claims"
    yield (
        f"The numbers are percentages of {simulations} profiles: those with at least one verdict, on any benchmark, "
        "whose claim is false for the model. The second column lists the claims that are true for the model: *video* "
        "(uses the video), *single frames* (better than its first, middle or last frame alone), *shuffling* (lower "
        "with shuffled frames), *order* (sensitive to the order or position of frames), and with the probe *several "
        "frames* (needs several frames). [The rules](temporal.md#rules) define them. A rate of 5 % has a simulation "
        f"error of ±{error:.1f} percentage points."
    )
    yield table(
        ("model", "true claims", *(f"{clips} clips" for clips in CLIPS)),
        (
            (
                model.title,
                ", ".join(rule.value.replace("_", " ") for rule in Rule if rule in model.true_claims) or "none",
                *(f"{100 * rates[model.title][clips].false_claims:.1f}" for clips in CLIPS),
            )
            for model in MODELS
        ),
    )
    yield "## True claims"
    yield (
        "The numbers are percentages of benchmarks on which the strongest claim that is true for the model is shown. "
        "The model behaves as described above on every question."
    )
    yield table(
        ("model", "claim", *(f"{clips} clips" for clips in CLIPS)),
        (
            (
                model.title,
                CLAIMS[strongest],
                *(f"{100 * rates[model.title][clips].shown[strongest]:.0f}" for clips in CLIPS),
            )
            for model in MODELS
            if (strongest := next((rule for rule in reversed(CLAIMS) if rule in model.true_claims), None))
        ),
    )
    yield "## Power"
    yield from _power_section(simulations, seed, shuffles)


def _power_section(simulations: int, seed: int, shuffles: Frames) -> Iterator[str]:
    """Yield the paragraphs about the power to detect a small effect."""
    models = [model for model in MODELS if model.title in POWER_MODELS]
    rows = []
    for model in models:
        full = measure_losses(model.answer, 1.0, shuffles, np.random.default_rng(seed))
        # The smallest loss is proportional to the share of questions on which the model uses its ability.
        share = POWER_LOSS / 100 / min(full.losses.values())
        losses = measure_losses(model.answer, share, shuffles, np.random.default_rng(seed))
        powers = (
            100 * measure_rates(model, clips, simulations, seed, shuffles, share).shown[Rule.ORDER] for clips in CLIPS
        )
        rows.append(
            (
                model.title,
                f"{100 * min(losses.losses.values()):.1f}",
                f"{100 * losses.discordance:.0f}",
                *map("{:.0f}".format, powers),
            )
        )
    yield (
        "How many clips does a small effect need? Here, the model behaves as described on some questions only and "
        f"guesses on the others. Its score then falls by about {POWER_LOSS:g} percentage points under the condition "
        'with the smallest loss (column "smallest loss"). "Changed answers" is the percentage of questions that are '
        "right either with planned frames or under this condition, but not both. The other numbers are percentages of "
        f'benchmarks on which "{CLAIMS[Rule.ORDER]}" is shown, in {simulations} profiles of {BENCHMARKS} benchmarks: a '
        f"power of 80 % has a simulation error of ±{100 * 1.96 * sqrt(0.8 * 0.2 / simulations / BENCHMARKS):.1f} "
        "percentage points. This claim needs eight significant comparisons."
    )
    yield table(("model", "smallest loss", "changed answers", *(f"{clips} clips" for clips in CLIPS)), rows)


if __name__ == "__main__":
    main()
