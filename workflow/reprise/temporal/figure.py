"""Draw temporal profiles: the score under each condition, with its interval and chance.

The planned condition has the colour and marker of the model. Orange means a lower score, and no model has this colour.
The fill repeats what orange says, and the planned condition is the last row, so the figures stay readable in grey.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reprise.figures.canvas import (
    BACKGROUND,
    CHARACTER_WIDTH,
    FAINT_COLOUR,
    INK,
    LINE_HEIGHT,
    SMALL_SIZE,
    SMALLEST_SIZE,
    TEXT_SIZE,
    apply_style,
    count_columns,
    create_canvas,
    wrap_label,
    wrap_text,
)
from reprise.figures.styles import OUTCOME_COLOURS, ModelStyle
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
from reprise.temporal.marks import Mark, choose_mark, list_marks
from reprise.temporal.profile import BenchmarkProfile, ConditionResult, TemporalProfile

LABEL_WIDTH, PANEL_WIDTH = 0.85, 1.1  # inches: width of the labels of rows, and smallest width of a panel
PANEL_GAP = 0.12  # inches between the title of a panel and the next panel
ROW_HEIGHT, PANEL_HEAD = 0.15, 0.5  # heights in inches: of a condition's row, and of a panel without rows and verdict
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
REPEATED_CONDITIONS = (*REPEATED_FRAMES, BEST_FRAME_REPEATED, MISMATCHED_BEST_REPEATED)
NAME_HEIGHT = 0.14  # inches of the line with the model's name, if a figure has several models
VERDICT_LINE = 7.6  # points of a line of the verdict, between the heading and the scores
LOWER_COLOUR, EQUAL_COLOUR = OUTCOME_COLOURS[1], "#8A8A8A"  # of scores that are lower, or not shown to be lower
DOTTED = (0, (1, 1.2))  # matplotlib's dash pattern: offset, then lengths of dash and gap in points


class Style(NamedTuple):
    """How the score under a condition is drawn."""

    colour: str
    is_filled: bool
    marker: str


def style_condition(mark: Mark, model_style: ModelStyle, is_repeated: bool) -> Style:
    """Return a style: the model's as planned, orange if lower, hollow if not shown to be, a cross if not measured."""
    marker = "s" if is_repeated else "o"
    match mark:
        case Mark.PLANNED:
            return Style(model_style.colour, True, model_style.marker)
        case Mark.LOWER:
            return Style(LOWER_COLOUR, True, marker)
        case Mark.UNMEASURED:
            return Style(EQUAL_COLOUR, False, "x")
        case Mark.EQUAL:
            return Style(EQUAL_COLOUR, False, marker)


def draw_profile(profile: TemporalProfile, width: float) -> Figure:
    """Draw one model: one panel per benchmark. `width` is in inches."""
    return draw_profiles([profile], width)


def draw_profiles(profiles: Sequence[TemporalProfile], width: float) -> Figure:
    """Draw several models below each other; a benchmark has the same column for all models. `width` is in inches."""
    title = f"{profiles[0].title}: score per question" if len(profiles) == 1 else "Score per question"
    return _draw(profiles, width, title)


class Panel(NamedTuple):
    """A benchmark of a model, with the line above its title; the first panel of several models has the model's name."""

    name_line: str
    benchmark: BenchmarkProfile
    model_style: ModelStyle


def _draw(profiles: Sequence[TemporalProfile], width: float, title: str) -> Figure:
    """Return a figure with the panels of the profiles, a legend and notes."""
    apply_style()
    rows = _arrange(profiles, width)
    labels = _row_labels(profiles)
    column_count = max(map(len, rows), default=1)
    panel_width = (width - LABEL_WIDTH) / column_count
    verdicts = [_wrap_verdict(panel, panel_width) for row in rows for panel in row if panel]
    verdict_height = VERDICT_LINE * max((verdict.count("\n") + 1 for verdict in verdicts), default=0)
    name_height = NAME_HEIGHT if len(profiles) > 1 else 0.0
    title_lines = {
        panel.benchmark.title: wrap_text(panel.benchmark.title, panel_width - PANEL_GAP, TEXT_SIZE, "bold")
        for row in rows
        for panel in row
        if panel
    }
    line_counts = [max(len(title_lines[panel.benchmark.title]) for panel in row if panel) for row in rows]
    title_heights = [(count - 1) * TEXT_SIZE * LINE_HEIGHT for count in line_counts]
    row_height = PANEL_HEAD + name_height + verdict_height / 72 + ROW_HEIGHT * len(labels)
    height = len(rows) * row_height + sum(title_heights)
    notes = [_note(profiles), *_note_empty(profiles)]
    notice = profiles[0].notice if profiles else ""
    page = create_canvas(width, height, title, notice, notes, _legend(profiles) if rows else ())
    if not rows:
        return page.figure
    grid = page.body.subplots(len(rows), column_count, squeeze=False, sharey=True)
    for axes_row, panels, line_count in zip(grid, rows, line_counts, strict=True):
        for axes, panel in zip_longest(axes_row, panels):
            if panel is None:
                axes.set_visible(False)
            else:
                _draw_panel(axes, panel, labels, _limits(panel.benchmark.name, profiles))
                lines = title_lines[panel.benchmark.title]
                # Empty lines keep the model's name above the titles of all panels.
                heading = panel.name_line + "\n".join([*[""] * (line_count - len(lines)), *lines])
                axes.set_title(heading, loc="left", fontweight="bold", pad=verdict_height + 4)
                axes.annotate(
                    _wrap_verdict(panel, panel_width), (0, 1), (0, verdict_height + 1), xycoords="axes fraction",
                    textcoords="offset points", fontsize=SMALLEST_SIZE, va="top", ha="left", color=FAINT_COLOUR,
                )  # fmt: skip
        # The first panel of a row can be absent; the labels stand at the first one that is there.
        first = next(index for index, panel in enumerate(panels) if panel is not None)
        axes_row[first].tick_params(axis="y", labelleft=True)
    return page.figure


def _arrange(profiles: Sequence[TemporalProfile], width: float) -> list[list[Panel | None]]:
    """Return the panels row by row. A benchmark stands at the same place for all models; None leaves it empty."""
    names = dict.fromkeys(entry.name for profile in profiles for entry in profile.benchmarks if entry.is_usable)
    columns = count_columns(len(names), width - LABEL_WIDTH, PANEL_WIDTH)
    rows = []
    for profile in profiles:
        benchmarks = [profile.benchmark(name) for name in names]
        usable = [benchmark if benchmark and benchmark.is_usable else None for benchmark in benchmarks]
        # The name of the model stands above its first panel; the other headings of that row leave the line empty.
        is_named = len(profiles) == 1
        for start in range(0, len(usable), columns):
            row: list[Panel | None] = []
            has_name_line = not is_named
            for benchmark in usable[start : start + columns]:
                if benchmark is None:
                    row.append(None)
                    continue
                name_line = f"{'' if is_named else profile.title}\n" if has_name_line else ""
                is_named = True
                row.append(Panel(name_line, benchmark, profile.style))
            if any(row):
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
    """Return the labels of the rows with a score in any panel."""
    benchmarks = [benchmark for profile in profiles for benchmark in profile.benchmarks if benchmark.is_usable]
    available = {result.condition for benchmark in benchmarks for result in benchmark.conditions}
    return [label for label, conditions in ROWS.items() if available & {*conditions}]


def _wrap_verdict(panel: Panel, width: float) -> str:
    return wrap_label(summarize_benchmark(panel.benchmark), int(width / (SMALLEST_SIZE * CHARACTER_WIDTH)))


def _draw_panel(axes: Axes, panel: Panel, labels: Sequence[str], limits: tuple[float, float]) -> None:
    """Draw a benchmark: one row per label, with the scores of its conditions."""
    benchmark, model_style = panel.benchmark, panel.model_style
    planned = benchmark.condition(PLANNED)
    if planned:
        axes.axvline(planned.question_score.value, color=model_style.colour, linewidth=0.5, alpha=0.5, zorder=1)
    if benchmark.question_chance is not None:
        axes.axvline(benchmark.question_chance, color=INK, linestyle=DOTTED, linewidth=0.9, zorder=1.5)
    for row, label in enumerate(labels):
        results = [(name, result) for name in ROWS[label] if (result := benchmark.condition(name))]
        for name, result in results:
            is_repeated = name in REPEATED_CONDITIONS
            offset = 0.0
            if len(results) > 1:  # Two scores of one row are drawn above each other.
                offset = 0.18 if is_repeated else -0.18
            _draw_score(
                axes, result, row + offset, style_condition(choose_mark(benchmark, result), model_style, is_repeated)
            )
    axes.set_yticks(range(len(labels)), labels, fontsize=SMALL_SIZE)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_xlim(*limits)
    axes.locator_params(axis="x", nbins=4)
    axes.tick_params(axis="x", labelsize=SMALLEST_SIZE, length=2, pad=1)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", visible=False)
    if benchmark.question_best != 100:
        axes.set_xlabel(f"{benchmark.question_title}, 0 to {benchmark.question_best:g}", fontsize=SMALLEST_SIZE)


def _draw_score(axes: Axes, result: ConditionResult, y: float, style: Style) -> None:
    score = result.question_score
    if score.low is not None and score.high is not None:
        axes.plot([score.low, score.high], [y, y], color=style.colour, linewidth=0.9, zorder=2)
    axes.plot(
        [score.value], [y], marker=style.marker, markersize=3.4, linestyle="none", color=style.colour,
        markerfacecolor=style.colour if style.is_filled else BACKGROUND, markeredgewidth=0.8, zorder=3,
    )  # fmt: skip


def _note(profiles: Sequence[TemporalProfile]) -> str:
    """Return the note that explains lines, colours and ranges."""
    level = profiles[0].level if profiles else 0.95
    return (
        f"Lines: {100 * level:g} % intervals. {'As planned: the colour and mark of each model. ' * (len(profiles) > 1)}"
        "Colour: each comparison by itself; the verdicts above the panels are corrected. The range differs between "
        "benchmarks."
    )


def _note_empty(profiles: Sequence[TemporalProfile]) -> list[str]:
    """Return notes on the benchmarks that have no panel, and on the conditions that have no row."""
    labels = _row_labels(profiles)
    # The conditions of the single-frame probe are optional, so they are not missing.
    absent = [label for label, conditions in ROWS.items() if label not in labels and conditions[0] not in BEST_FRAMES]
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
        *([f"Not run: {', '.join(absent)}."] if labels and absent else []),
        *([f"Not run: {', '.join(titles_not_run)}."] if titles_not_run else []),
        *([f"No panel, since the run looks broken: {', '.join(broken)}."] if broken else []),
    ]


def _legend(profiles: Sequence[TemporalProfile]) -> list[tuple[Artist, str]]:
    """Return a key for each kind of mark and line in the panels. Only the key of a single model shows its own mark."""

    def draw_mark(style: Style) -> Line2D:
        face = style.colour if style.is_filled else BACKGROUND
        return Line2D(
            [], [], color=style.colour, marker=style.marker, markerfacecolor=face, markersize=3.6, linestyle="none"
        )

    titles = list_marks(profiles)
    if len(profiles) > 1:
        titles.pop(Mark.PLANNED, None)
    keys: list[tuple[Artist, str]] = [
        (draw_mark(style_condition(mark, profiles[0].style, False)), title) for mark, title in titles.items()
    ]
    benchmarks = [entry for profile in profiles for entry in profile.benchmarks if entry.is_usable]
    if any(result.condition in REPEATED_CONDITIONS for entry in benchmarks for result in entry.conditions):
        keys.append((draw_mark(Style(EQUAL_COLOUR, False, "s")), "frame repeated"))
    if any(entry.question_chance is not None for entry in benchmarks):
        keys.append((Line2D([], [], color=INK, linestyle=DOTTED, linewidth=0.9), "chance"))
    return keys
