"""Write docs/reference/samplings.md: every named sampling, the frames that it shows of one clip, and the rules."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reprise.config.load import load
from reprise.config.main import GridTransform
from reprise.media.ablations import DESCRIPTIONS, MISMATCHED, NONE
from reprise.media.sampling import RULES, describe_rule, plan

PAGE = "docs/reference/samplings.md"
FRAMES, FPS, BLACK = 240, 24, (96, 144)
LISTED_FRAMES = 8
ANY_FRAMES, SEVERAL_FRAMES = "frames", "more than one frame"
HEAD = f"""# Samplings: which frames a model sees

Written by `make reference` from `config/config.yaml` and `workflow/reprise/media/sampling.py`.

A *sampling* is a name for a rule and its parameters, used in tables, runs and results. To add one, write a line into
`config/config.yaml`, such as `linspace12: {{rule: linspace, frames: 12}}`, and name it in a row. Draw what a model sees
of a clip:

```
snakemake results/demo/frames/preview/velociti/toyt0KmlFOX.4-14.fps1.png --cores 2
```

A rule uses the clip's real frames, read from its packets, not from its header. It follows the code that it is named
after, even if that repeats a frame or selects more or fewer frames. The frame plan notes this:
`results/<suite>/frames/<benchmark>/<sampling>.parquet`.

## Names

The frames are those of a concatenation of {FRAMES} frames at {FPS} per second. Frames {BLACK[0]} to {BLACK[1] - 1} are
black. Frames are counted from 0.
"""
VIEWS = """
## Transforms

A *transform* shows the frames of any sampling in another way: `interior16.grid4x4` as one picture, `fps1.shuffled` in
shuffled order. `transforms:` of `config/config.yaml` declares them. All but grids are
[temporal ablations](glossary.md#inference). A transform that does not fit its sampling (last column) is an error, and
so is a transform of `none` or of a transform.

"""
ABLATIONS = """
- **Grids.** A model takes a grid like a clip of one frame: as an image if its file says `settings.frames: images`.
- **Prompts and times** are those of the plan: its number of frames, and the times of its frames.
- **Another clip** is of the same benchmark and another cluster (a video, or a pair of Vinoground), with as many frames
  if such a clip exists. The frame plan names it (`shown_clip`). A concatenation gets another concatenation.
- **Concatenations.** A transform acts on each side of the black span by itself. Black frames stay.
- A frame plan notes a clip whose transform equals the plan, such as one of a single frame.
- `<sampling>.none` uses the answers of `none`.
- Transforms do not work with a server that receives whole clips (`gemini` with `settings.frames: video`).
"""


def names_table(root: Path) -> Iterator[str]:
    """Yield the table of names."""
    main = load(root).main
    times = [number / FPS for number in range(FRAMES)]
    yield "| name | rule | frames shown | which |"
    yield "|---|---|--: |---|"
    for name, sampling in main.samplings.items():
        if main.is_transformed(name):
            continue
        indices = plan(sampling, FRAMES, times, "example.clip", BLACK).indices
        numbers = ", ".join(map(str, indices[:LISTED_FRAMES])) + (", ..." if len(indices) > LISTED_FRAMES else "")
        yield f"| `{name}` | {describe_parameters(sampling)} | {len(indices)} | {numbers} |"


def views_table(root: Path) -> Iterator[str]:
    """Yield the table of transforms."""
    yield "| transform | shows | of samplings with |"
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


def describe_parameters(sampling: Mapping[str, Any]) -> str:
    """Describe a rule with its parameters, one of which may be a rule itself."""
    parameters = [
        f"{key} {describe_parameters(value) if isinstance(value, dict) else value}"
        for key, value in sampling.items()
        if key != "rule"
    ]
    return ", ".join([f"`{sampling['rule']}`", *parameters])


def rules_table() -> Iterator[str]:
    """Yield the table of rules."""
    yield "| rule | parameters | |"
    yield "|---|---|---|"
    for rule, parameters in RULES.items():
        cells = (f"`{rule}`", ", ".join(f"`{parameter}`" for parameter in sorted(parameters)), describe_rule(rule))
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def page(root: Path) -> str:
    """Return the page."""
    return (
        "\n".join([HEAD, *names_table(root), VIEWS, *views_table(root), ABLATIONS, "\n## Rules\n", *rules_table()])
        + "\n"
    )
