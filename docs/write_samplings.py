"""Write docs/reference/samplings.md: every named sampling, the frames that it shows of one clip, and the rules."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reprise.config.load import load
from reprise.config.main import GridTransform
from reprise.media.ablations import DESCRIPTIONS, MISMATCHED, NONE
from reprise.media.sampling import PARAMETERS_BY_RULE, describe_rule, plan_frames

PAGE = "docs/reference/samplings.md"
FRAMES, FPS, BLACK = 240, 24, (96, 144)
EXAMPLE_FRAMES = 5
ANY_FRAMES, SEVERAL_FRAMES = "frames", "more than one frame"
HEAD = f"""# Samplings: which frames a model sees

Written by `make reference` from `config/config.yaml` and `workflow/reprise/media/sampling.py`.

A *sampling* is a name for a rule and its parameters. To add one, write a line into `samplings:` of
`config/config.yaml`, such as `linspace12: {{rule: linspace, frames: 12}}`, and name it in a row of a table. Draw what
a model sees of a clip:

```
snakemake results/demo/frames/preview/velociti/toyt0KmlFOX.4-14.fps1.png --cores 2
```

## Rules

N is the number of frames of the clip, f its frame rate and n the parameter `frames`. N and f come from the file's
packets, not from its header. A rule follows the code that it is named after, even if that repeats a frame or selects
more or fewer frames. The frame plan (`results/<suite>/frames/<benchmark>/<sampling>.parquet`) notes this.

The examples are frames of a concatenation of {FRAMES} frames at {FPS} per second, counted from 0. Frames {BLACK[0]} to
{BLACK[1] - 1} are black.
"""
TRANSFORMS = """
## Transforms

A *transform* shows the frames of any sampling in another way, such as `fps1.shuffled`. `transforms:` of
`config/config.yaml` declares them. All but grids are [temporal ablations](glossary.md#inference). A transform that does
not fit its sampling, a transform of `none` and a transform of a transform are errors.

"""
ABLATIONS = """
- **Grids.** A model takes a grid like a clip of one frame: as an image with `settings.frames: images`.
- **Prompts and times** stay those of the planned frames.
- **Another clip** has another cluster (video, or pair of Vinoground) of the same benchmark, and as many frames if
  possible. The frame plan names it (`shown_clip`). A concatenation gets another concatenation.
- **Concatenations.** A transform changes each side of the black span separately. Black frames stay.
- The frame plan notes clips that a transform does not change, such as those of one frame.
- `<sampling>.none` uses the answers of `none`.
- Servers that receive whole clips (`gemini` with `settings.frames: video`) support no transform.
"""


def rules_table(root: Path) -> Iterator[str]:
    """Yield the table of rules, with the named samplings of each and the frames of one of them."""
    main = load(root).main
    yield "| rule (parameters) | samplings | example | definition |"
    yield "|---|---|---|---|"
    for rule, parameters in PARAMETERS_BY_RULE.items():
        samplings = {
            name: sampling
            for name, sampling in main.samplings.items()
            if sampling["rule"] == rule and not main.is_transformed(name)
        }
        keys = f" ({', '.join(f'`{key}`' for key in sorted(parameters))})" if parameters else ""
        names = ", ".join(
            f"`{name}`" + (f" (of `{sampling['of']['rule']}`)" if "of" in sampling else "")
            for name, sampling in samplings.items()
        )
        cells = (f"`{rule}`{keys}", names, _example(samplings), describe_rule(rule))
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _example(samplings: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the frames of the longest sampling that fits into a cell, or the first frames of another one."""
    times = [number / FPS for number in range(FRAMES)]
    plans = {
        name: plan_frames(sampling, FRAMES, times, "example.clip", BLACK).indices
        for name, sampling in samplings.items()
    }
    short_plans = {name: indices for name, indices in plans.items() if len(indices) <= EXAMPLE_FRAMES}
    if not plans or plans.keys() == {"none"}:
        return ""
    name, indices = (
        max(short_plans.items(), key=lambda entry: len(entry[1])) if short_plans else next(iter(plans.items()))
    )
    numbers = ", ".join(map(str, indices[:EXAMPLE_FRAMES])) + (", ..." if len(indices) > EXAMPLE_FRAMES else "")
    return f"`{name}`: {numbers}"


def transforms_table(root: Path) -> Iterator[str]:
    """Yield the table of transforms."""
    yield "| transform | frames | for samplings with |"
    yield "|---|---|---|"
    for name, transform in load(root).main.transforms.items():
        if isinstance(transform, GridTransform):
            words = f"all frames as one picture, {transform.rows} x {transform.columns}, in reading order"
            condition = f"{transform.rows * transform.columns} frames"
        else:
            words, condition = (
                DESCRIPTIONS[transform.show],
                ANY_FRAMES if transform.show in (NONE, MISMATCHED) else SEVERAL_FRAMES,
            )
        yield f"| `{name}` | {words} | {condition} |"


def page(root: Path) -> str:
    """Return the page."""
    return "\n".join([HEAD, *rules_table(root), TRANSFORMS.rstrip("\n"), "", *transforms_table(root), ABLATIONS])
