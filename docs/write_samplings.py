"""Write docs/reference/samplings.md: every named sampling, what it shows of one clip, and the rules behind them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reprise.config.load import load
from reprise.media.sampling import RULES, description, plan

PAGE = "docs/reference/samplings.md"
FRAMES, FPS, BLACK = 240, 24, (96, 144)
SHOWN = 8
HEAD = f"""# Samplings: which frames a model sees

Written by `make reference` from `config/config.yaml` and `workflow/reprise/media/sampling.py`.

A *sampling* is a name for a rule and its parameters; tables, runs and results use the name. A rule is a pure function
of the clip's real number of frames (from its packets, not from its header). It follows the code that it is named after
even where that repeats a frame or shows more or fewer than asked; the frame plan,
`results/<suite>/frames/<benchmark>/<sampling>.parquet`, then says so. What a model saw of a clip, as a picture:

```
snakemake results/demo/frames/preview/velociti/toyt0KmlFOX.4-14.fps1.png --cores 2
```

For another sampling add a line to `config/config.yaml`, such as `linspace12: {{rule: linspace, frames: 12}}`, and name
it in a row.

A *view* is another way to show the frames of any sampling, named behind it: `interior16.grid4x4` shows the frames of
`interior16` as one picture. Views are declared in `views:` of `config/config.yaml`; a view that does not fit its
sampling, such as a grid with another number of cells than frames, is refused. A prompt that names the number of frames
names that of the plan. A model takes the picture as it takes a clip of one frame: as an image where its file says
`settings.frames: images`.

## Names

The frames are those of a concatenation of {FRAMES} frames, {FPS} a second, whose frames {BLACK[0]} to {BLACK[1] - 1}
are black. Frames are counted from 0.
"""


def named(root: Path) -> Iterator[str]:
    """The table of names."""
    samplings = load(root).main.samplings
    times = [number / FPS for number in range(FRAMES)]
    yield "| name | rule | frames shown | which |"
    yield "|---|---|--: |---|"
    for name, sampling in samplings.items():
        if "view" in sampling:
            continue
        shown = plan(sampling, FRAMES, times, "example.clip", BLACK).indices
        which = ", ".join(map(str, shown[:SHOWN])) + (", ..." if len(shown) > SHOWN else "")
        yield f"| `{name}` | {in_words(sampling)} | {len(shown)} | {which} |"


def views(root: Path) -> Iterator[str]:
    """The table of views."""
    yield "| view | shows | of samplings with |"
    yield "|---|---|---|"
    for name, view in load(root).main.views.items():
        cells = f"{view.rows * view.columns} frames"
        yield f"| `{name}` | all frames as one picture, {view.rows} x {view.columns}, in reading order | {cells} |"


def in_words(sampling: Mapping[str, Any]) -> str:
    """A rule with its parameters, one of which may be a rule itself."""
    parameters = [
        f"{key} {in_words(value) if isinstance(value, dict) else value}"
        for key, value in sampling.items()
        if key != "rule"
    ]
    return ", ".join([f"`{sampling['rule']}`", *parameters])


def rules() -> Iterator[str]:
    """The table of rules."""
    yield "| rule | parameters | |"
    yield "|---|---|---|"
    for rule, parameters in RULES.items():
        cells = (f"`{rule}`", ", ".join(f"`{one}`" for one in sorted(parameters)), description(rule))
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def page(root: Path) -> str:
    """The page."""
    return "\n".join([HEAD, *named(root), "\n## Views\n", *views(root), "\n## Rules\n", *rules()]) + "\n"
