"""Draw temporal profiles: the score under each condition, with its interval and chance.

The figure of one model is as wide as a paper's column, that of several models as wide as a page. Shape and fill repeat
what colour says, so the figures stay readable in grey.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reprise.figures.canvas import FAINT_COLOUR, SMALL_SIZE, WIDTHS, apply_style, create_canvas, wrap_label
from reprise.media.ablations import (
    FIRST,
    FIRST_REPEATED,
    LAST,
    LAST_REPEATED,
    MIDDLE,
    MIDDLE_REPEATED,
    MISMATCHED,
    NONE,
    REVERSED,
    SHUFFLED,
)
from reprise.temporal.conditions import (
    BEST_FRAME,
    BEST_FRAME_REPEATED,
    BEST_FRAMES,
    MISMATCHED_BEST,
    MISMATCHED_BEST_REPEATED,
    PLANNED,
    REPEATED_FRAMES,
)
from reprise.temporal.findings import summarize_benchmark
from reprise.temporal.profile import BenchmarkProfile, ConditionResult, TemporalProfile
from reprise.temporal.rules import Outcome

WIDTH = 3.3  # inches; the width of a paper's column
ROW_HEIGHT, PANEL_HEAD = 0.15, 0.8  # heights in inches: of a condition's row, and of a panel without its rows
ROWS = {
    "text only": (NONE,),
    "mismatched clip": (MISMATCHED,),
    "first frame": (FIRST, FIRST_REPEATED),
    "middle frame": (MIDDLE, MIDDLE_REPEATED),
    "last frame": (LAST, LAST_REPEATED),
    "best single frame": (BEST_FRAME, BEST_FRAME_REPEATED),
    "best frame, mismatched": (MISMATCHED_BEST, MISMATCHED_BEST_REPEATED),
    "shuffled": (SHUFFLED,),
    "reversed": (REVERSED,),
    "as planned": (PLANNED,),
}
"""label of a row -> its conditions; the second one repeats the frame"""
HEADING_OFFSET = 26  # points from the top of a panel to its heading; three lines of the verdict fit between
# Colours of the planned condition, of lower scores, and of scores that are not shown to be lower.
INK, LOWER_COLOUR, EQUAL_COLOUR = "#222222", "#D55E00", "#8A8A8A"
DOTTED = (0, (1, 1.2))  # matplotlib's dash pattern: offset, then lengths of dash and gap in points


class Style(NamedTuple):
    """How the score under a condition is drawn."""

    colour: str
    is_filled: bool
    marker: str


def style_condition(result: ConditionResult, is_repeated: bool) -> Style:
    """Return a style: black as planned, coloured if lower, hollow if not shown to be lower, a cross if not measured."""
    marker = "s" if is_repeated else "o"
    if result.condition == PLANNED:
        return Style(INK, True, "D")
    if result.difference is None:
        return Style(EQUAL_COLOUR, False, marker)
    match result.difference.outcome:
        case Outcome.SHOWN:
            return Style(LOWER_COLOUR, True, marker)
        case Outcome.NOT_MEASURED:
            return Style(EQUAL_COLOUR, False, "x")
        case _:
            return Style(EQUAL_COLOUR, False, marker)


def draw_profile(profile: TemporalProfile) -> Figure:
    """Draw one model: one panel per benchmark."""
    return _draw([profile], f"{profile.title}: score per question")


def draw_profiles(profiles: Sequence[TemporalProfile]) -> Figure:
    """Draw several models below each other: one row of panels per model, one column per benchmark."""
    return _draw(profiles, "Score per question")


Panel = tuple[str, BenchmarkProfile] | None
"""heading and benchmark; None leaves the place empty"""


def _draw(profiles: Sequence[TemporalProfile], title: str) -> Figure:
    """Return a figure with the panels of the profiles, a legend and notes."""
    apply_style()
    rows = _arrange(profiles)
    column_count = max((len(row) for row in rows), default=1)
    width = WIDTH if column_count <= 2 else WIDTHS["page"]
    labels = _row_labels(profiles)
    height = len(rows) * (PANEL_HEAD + ROW_HEIGHT * len(labels))
    notes = [_note(profiles), *_note_empty(profiles)]
    notice = profiles[0].notice if profiles else ""
    page = create_canvas(width, max(0.4, height), title, notice, notes, _legend() if rows else ())
    if not rows:
        return page.figure
    grid = page.body.subplots(len(rows), column_count, squeeze=False, sharey=True)
    for axes_row, panels in zip(grid, rows, strict=True):
        for axes, panel in zip_longest(axes_row, panels):
            if panel is None:
                axes.set_visible(False)
            else:
                heading, benchmark = panel
                _draw_panel(axes, benchmark, heading, labels, _limits(benchmark.name, profiles))
    return page.figure


def _arrange(profiles: Sequence[TemporalProfile]) -> list[list[Panel]]:
    """Return the panels row by row: two per row for one model, else a row per model and a column per benchmark."""
    if len(profiles) == 1:
        panels: list[Panel] = [(entry.title, entry) for entry in profiles[0].benchmarks if entry.is_usable]
        return [panels[start : start + 2] for start in range(0, len(panels), 2)]
    names = dict.fromkeys(entry.name for profile in profiles for entry in profile.benchmarks if entry.is_usable)
    if not names:
        return []
    rows = []
    for profile in profiles:
        row: list[Panel] = []
        for name in names:
            benchmark = profile.benchmark(name)
            # The name of the model stands above the row's first panel; the other headings leave that line empty.
            model_line = "" if row else profile.title
            heading = f"{model_line}\n{benchmark.title}" if benchmark else ""
            row.append((heading, benchmark) if benchmark and benchmark.is_usable else None)
        rows.append(row)
    return rows


def _limits(name: str, profiles: Sequence[TemporalProfile]) -> tuple[float, float]:
    """Return the limits of the axis: those of all models' scores and intervals on a benchmark."""
    values: list[float] = []
    benchmarks = [benchmark for profile in profiles if (benchmark := profile.benchmark(name)) and benchmark.is_usable]
    for benchmark in benchmarks:
        for result in benchmark.conditions:
            score = result.question_score
            values += [end for end in (score.value, score.low, score.high) if end is not None]
        if benchmark.question_chance is not None:
            values.append(benchmark.question_chance)
    margin = 0.06 * ((max(values) - min(values)) or 1.0)
    return min(values) - margin, max(values) + margin


def _row_labels(profiles: Sequence[TemporalProfile]) -> list[str]:
    """Return the labels of the rows; those of the single-frame probe only if a profile has it."""
    has_probe = any(benchmark.has_probe for profile in profiles for benchmark in profile.benchmarks)
    return [label for label, conditions in ROWS.items() if has_probe or conditions[0] not in BEST_FRAMES]


def _draw_panel(
    axes: Axes, benchmark: BenchmarkProfile, heading: str, labels: Sequence[str], limits: tuple[float, float]
) -> None:
    """Draw a benchmark: one row per label, with the scores of its conditions."""
    planned = benchmark.condition(PLANNED)
    if planned:
        axes.axvline(planned.question_score.value, color=INK, linewidth=0.5, alpha=0.5, zorder=1)
    if benchmark.question_chance is not None:
        axes.axvline(benchmark.question_chance, color="black", linestyle=DOTTED, linewidth=0.9, zorder=1.5)
    for row, label in enumerate(labels):
        results = [(name, result) for name in ROWS[label] if (result := benchmark.condition(name))]
        for name, result in results:
            is_repeated = name in (*REPEATED_FRAMES, BEST_FRAME_REPEATED, MISMATCHED_BEST_REPEATED)
            offset = 0.0
            if len(results) > 1:  # Two scores of one row are drawn above each other.
                offset = 0.18 if is_repeated else -0.18
            _draw_score(axes, result, row + offset, style_condition(result, is_repeated))
    axes.set_yticks(range(len(labels)), labels, fontsize=SMALL_SIZE)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_xlim(*limits)
    axes.locator_params(axis="x", nbins=4)
    axes.tick_params(axis="x", labelsize=SMALL_SIZE - 0.5, length=2, pad=1)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", visible=False)
    if benchmark.question_best != 100:
        axes.set_xlabel(f"{benchmark.question_title}, 0 to {benchmark.question_best:g}", fontsize=SMALL_SIZE - 0.5)
    axes.set_title(heading, loc="left", fontweight="bold", pad=HEADING_OFFSET)
    axes.annotate(
        wrap_label(summarize_benchmark(benchmark), 24), (0, 1), (0, HEADING_OFFSET - 2), xycoords="axes fraction",
        textcoords="offset points", fontsize=SMALL_SIZE - 0.5, va="top", ha="left", color=FAINT_COLOUR,
    )  # fmt: skip


def _draw_score(axes: Axes, result: ConditionResult, y: float, style: Style) -> None:
    score = result.question_score
    if score.low is not None and score.high is not None:
        axes.plot([score.low, score.high], [y, y], color=style.colour, linewidth=0.9, zorder=2)
    axes.plot(
        [score.value], [y], marker=style.marker, markersize=3.4, linestyle="none", color=style.colour,
        markerfacecolor=style.colour if style.is_filled else "white", markeredgewidth=0.8, zorder=3,
    )  # fmt: skip


def _note(profiles: Sequence[TemporalProfile]) -> str:
    """Return the note that explains lines, colours and ranges."""
    level = profiles[0].level if profiles else 0.95
    return (
        f"Lines: {100 * level:g} % intervals. Colour: each comparison by itself; the verdicts above the panels are "
        "corrected. The range differs between benchmarks."
    )


def _note_empty(profiles: Sequence[TemporalProfile]) -> list[str]:
    """Return notes on the benchmarks that have no panel."""
    titles_not_run = dict.fromkeys(
        benchmark.title for profile in profiles for benchmark in profile.benchmarks if not benchmark.questions
    )
    broken = dict.fromkeys(
        f"{entry.title} of {profile.title}" if len(profiles) > 1 else entry.title
        for profile in profiles
        for entry in profile.benchmarks
        if entry.questions and entry.problems
    )
    return [
        *([f"Not run: {', '.join(titles_not_run)}."] if titles_not_run else []),
        *([f"No panel, since the run looks broken: {', '.join(broken)}."] if broken else []),
    ]


def _legend() -> list[tuple[Artist, str]]:
    def mark(colour: str, marker: str, face: str) -> Line2D:
        return Line2D([], [], color=colour, marker=marker, markerfacecolor=face, markersize=3.6, linestyle="none")

    return [
        (mark(INK, "D", INK), "as planned"),
        (mark(LOWER_COLOUR, "o", LOWER_COLOUR), "lower than planned"),
        (mark(EQUAL_COLOUR, "o", "white"), "not shown lower"),
        (mark(EQUAL_COLOUR, "s", "white"), "frame repeated"),
        (mark(EQUAL_COLOUR, "x", "white"), "not measured"),
        (Line2D([], [], color="black", linestyle=DOTTED, linewidth=0.9), "chance"),
    ]
