"""Write docs/reference/samplings.md: every named sampling, the frames that it shows of one clip, and the rules."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reprise.config.load import load
from reprise.config.main import Grid
from reprise.media.sampling import RULES, description, plan
from reprise.media.views import ANOTHER, IN_WORDS, NONE

PAGE = "docs/reference/samplings.md"
FRAMES, FPS, BLACK = 240, 24, (96, 144)
LISTED_FRAMES = 8
ANY_FRAMES, SEVERAL_FRAMES = "frames", "more than one frame"
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
`interior16` as one picture, `fps1.shuffled` those of `fps1` in another order. Views are declared in `views:` of
`config/config.yaml`; one that does not fit its sampling is refused: a grid with another number of cells than frames,
an order of one frame, a view of `none`, a view of a view. A prompt that names the number of frames names that of the
plan. A model takes a grid as it takes a clip of one frame: as an image where its file says `settings.frames: images`.
A server that is given whole clips (`gemini` with `settings.frames: video`) can be shown no view.

The views of time show other frames at the moments of the plan: a model that is told the times of frames is told those
of the plan, whatever it sees at them. A shuffle is drawn by clip, and is never the planned order. Another clip is one
of the same benchmark and of another unit (a video, or a pair of Vinoground), with as many frames where there is one;
a clip that is missing is not drawn, and the frame plan names the one that is shown (`shown_clip`). Of a concatenation
each side of the black is viewed by itself, what is black stays, and another clip is another concatenation. A clip of
which a view shows just what was planned, such as one of a single frame, says so in its frame plan. `<sampling>.none`
has the answers of `none`.

## Names

The frames are those of a concatenation of {FRAMES} frames, {FPS} a second, whose frames {BLACK[0]} to {BLACK[1] - 1}
are black. Frames are counted from 0.
"""


def names_table(root: Path) -> Iterator[str]:
    """Yield the table of names."""
    main = load(root).main
    times = [number / FPS for number in range(FRAMES)]
    yield "| name | rule | frames shown | which |"
    yield "|---|---|--: |---|"
    for name, sampling in main.samplings.items():
        if main.is_viewed(name):
            continue
        indices = plan(sampling, FRAMES, times, "example.clip", BLACK).indices
        numbers = ", ".join(map(str, indices[:LISTED_FRAMES])) + (", ..." if len(indices) > LISTED_FRAMES else "")
        yield f"| `{name}` | {describe(sampling)} | {len(indices)} | {numbers} |"


def views_table(root: Path) -> Iterator[str]:
    """Yield the table of views."""
    yield "| view | shows | of samplings with |"
    yield "|---|---|---|"
    for name, view in load(root).main.views.items():
        if isinstance(view, Grid):
            words = f"all frames as one picture, {view.rows} x {view.columns}, in reading order"
            condition = f"{view.rows * view.columns} frames"
        else:
            words, condition = IN_WORDS[view.show], ANY_FRAMES if view.show in (NONE, ANOTHER) else SEVERAL_FRAMES
        yield f"| `{name}` | {words} | {condition} |"


def describe(sampling: Mapping[str, Any]) -> str:
    """Describe a rule with its parameters, one of which may be a rule itself."""
    parameters = [
        f"{key} {describe(value) if isinstance(value, dict) else value}"
        for key, value in sampling.items()
        if key != "rule"
    ]
    return ", ".join([f"`{sampling['rule']}`", *parameters])


def rules_table() -> Iterator[str]:
    """Yield the table of rules."""
    yield "| rule | parameters | |"
    yield "|---|---|---|"
    for rule, parameters in RULES.items():
        cells = (f"`{rule}`", ", ".join(f"`{parameter}`" for parameter in sorted(parameters)), description(rule))
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def page(root: Path) -> str:
    """Return the page."""
    return (
        "\n".join([HEAD, *names_table(root), "\n## Views\n", *views_table(root), "\n## Rules\n", *rules_table()]) + "\n"
    )
