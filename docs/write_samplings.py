"""Write docs/reference/samplings.md: every named sampling, the frames that it shows of one clip, and the rules."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reprise.config.load import load
from reprise.config.main import GridTransform
from reprise.media.ablations import DESCRIPTIONS, MISMATCHED, NONE
from reprise.media.sampling import PARAMETERS_BY_RULE, describe_rule, plan_frames

PAGE = "docs/reference/samplings.md"
FRAMES, FPS, BLACK = 240, 24, (96, 144)  # The example clip: frames, frame rate, and span of black frames.
EXAMPLE_FRAMES = 5  # Maximum number of frames in an example.
ANY_FRAMES, SEVERAL_FRAMES = "all with frames", "all with more than one frame"
HEAD = f"""# Samplings: which frames a model sees

Written by `make reference` from `config/config.yaml` and `workflow/reprise/media/sampling.py`.

A model sees some frames of a clip, not all. A *sampling* selects them: it is a named combination of a rule and its
parameters. For example, `linspace8` is the rule `linspace` with 8 frames. To add a sampling, write a line into
`samplings:` of `config/config.yaml`, such as `linspace12: {{rule: linspace, frames: 12}}`. A row of a table then names
it. This command draws a picture of the frames of `fps1` in a clip of VELOCITI:

```
snakemake results/demo/frames/preview/velociti/toyt0KmlFOX.4-14.fps1.png --cores 2
```

## Rules

This table defines each rule. N is the number of frames of the clip, f its frame rate, and n the parameter `frames`. N
and f come from the packets of the video file, not from its header.

Most rules follow the code of a benchmark, a model or an evaluation harness. They also do what this code does by
mistake: some repeat a frame, or give more or fewer frames than n. In such a case, the file
`results/<suite>/frames/<benchmark>/<sampling>.parquet` has a note.

The column "example" shows the frame numbers that a sampling selects, counted from 0. The example clip has {FRAMES}
frames at {FPS} per second. It is two joined videos with black frames between them: frames {BLACK[0]} to {BLACK[1] - 1}.
"""
TRANSFORMS = """
## Transforms

A *transform* changes the frames that a sampling selects. `fps1.shuffled`, for example, shows the frames of `fps1` in
random order. `transforms:` in `config/config.yaml` defines the transforms. All of them except grids are
[temporal ablations](glossary.md#inference), which remove information from the video. A sampling that the transform does
not accept is an error. A sampling can have one transform only.

"""
ABLATIONS = """
- **Grids.** A grid is a single picture, so a model receives it like a clip with one frame. With
  `settings.frames: images`, it is sent as an image.
- **Prompts and times.** The prompt and the times of the frames do not change.
- **Another clip** (`mismatched`) comes from another source video of the same benchmark (Vinoground: another pair).
  Reprise prefers a clip with the same number of frames. For two joined videos, it is another clip of two joined videos.
  Column `shown_clip` of the parquet file above names it.
- **Joined videos.** A transform changes the frames of each video separately. The black frames between them stay.
- **Unchanged clips.** If a transform does not change a clip, for example because it has one frame, the parquet file has
  a note.
- **Text only.** `<sampling>.none` shows no frames, so it uses the answers of the sampling `none`.
- **Whole clips.** If a server receives whole clips instead of frames (`gemini` with `settings.frames: video`), no
  transform is possible.
"""


def rules_table(root: Path) -> Iterator[str]:
    """Yield the table of rules, with the named samplings of each and the frames of one of them."""
    main = load(root).main
    yield "| rule (parameters) | samplings with this rule | example | selected frames | code it follows, or remark |"
    yield "|---|---|---|---|---|"
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
        definition, _, remark = describe_rule(rule).removesuffix(".").partition(": ")
        cells = (f"`{rule}`{keys}", names, _example(samplings), definition, remark)
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _example(samplings: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the frames of the longest sampling that fits into a cell, or the first frames of another one."""
    times = [number / FPS for number in range(FRAMES)]
    indices_by_sampling = {
        name: plan_frames(sampling, FRAMES, times, "example.clip", BLACK).indices
        for name, sampling in samplings.items()
    }
    if not indices_by_sampling or indices_by_sampling.keys() == {"none"}:
        return ""
    short_samplings = [name for name, indices in indices_by_sampling.items() if len(indices) <= EXAMPLE_FRAMES]
    first_sampling = next(iter(indices_by_sampling))
    name = max(short_samplings, key=lambda name: len(indices_by_sampling[name]), default=first_sampling)
    indices = indices_by_sampling[name]
    numbers = ", ".join(map(str, indices[:EXAMPLE_FRAMES])) + (", ..." if len(indices) > EXAMPLE_FRAMES else "")
    return f"`{name}`: {numbers}"


def transforms_table(root: Path) -> Iterator[str]:
    """Yield the table of transforms."""
    yield "| transform | what the model sees | samplings that it accepts |"
    yield "|---|---|---|"
    for name, transform in load(root).main.transforms.items():
        if isinstance(transform, GridTransform):
            description = f"all frames as one picture, {transform.rows} x {transform.columns}, in reading order"
            accepted = f"those with {transform.rows * transform.columns} frames"
        else:
            description = DESCRIPTIONS[transform.show]
            accepted = ANY_FRAMES if transform.show in (NONE, MISMATCHED) else SEVERAL_FRAMES
        yield f"| `{name}` | {description} | {accepted} |"


def page(root: Path) -> str:
    """Return the page."""
    return "\n".join([HEAD, *rules_table(root), TRANSFORMS.rstrip("\n"), "", *transforms_table(root), ABLATIONS])
