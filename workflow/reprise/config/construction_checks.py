"""Checks of a suite's constructions across files."""

from reprise.benchmarks.prompts import load_prompts
from reprise.config.known import Known
from reprise.config.problems import Notes
from reprise.config.unfiltered import static_filters
from reprise.construction.settings import Constructing, MmbenchVideoSettings, StaticFilter, writers_of
from reprise.core.errors import UserError
from reprise.core.paths import located
from reprise.models.adapters import ADAPTERS

PROMPTS = {
    "velociti": ("caption", "action_adv", "action_manner"),
    "vinoground": ("pairs", "more"),
    "temporalbench": ("words", "events", "category"),
}
"""kind of construction -> the prompts that it asks its writer by"""
RANDOM_FRAME = "random_one"


def check_constructions(known: Known, suite: Notes) -> None:
    """Note what is wrong with how a suite makes benchmarks."""
    for name, entry in known.found.suite.benchmarks.items():
        made, is_made = entry.construction, entry.release.kind == "constructed"
        notes = suite.at(f"benchmarks.{name}.construction")
        if made is None:
            if is_made:
                notes.say("missing; `release: {kind: constructed}` says that the release is made as this says.")
            continue
        if not is_made:
            suite.at(f"benchmarks.{name}.release").say(
                "should be `{kind: constructed}`, since `construction:` says how it is made."
            )
        kind = made.kind
        if kind != name:
            notes.at(".kind").say(f"found '{kind}', but this is '{name}'.")
        notes.at(".review.verdicts").check_files(made.review.verdicts, known.root, "reviews/*.csv")
        if isinstance(made, Constructing):
            for writer in writers_of(made):
                _check_writer(known, writer, notes.at(".writer" if writer == made.writer else ".other_writers"))
            _check_prompts(known, made.prompts, PROMPTS[kind], notes.at(".prompts"))
        if isinstance(made, MmbenchVideoSettings) and made.other_sets:
            for one, file in made.other_sets.files().items():
                if not located(file, known.root).is_file():
                    notes.at(f".other_sets.scoring.{one}").say(f"no file '{file}' with the questions of this set.")
    for name, how in static_filters(known.found).items():
        _check_static(known, name, how, suite.at(f"benchmarks.{name}.construction.static"))


def _check_static(known: Known, name: str, how: StaticFilter, notes: Notes) -> None:
    spec, entry = known.found.benchmarks.get(name), known.found.suite.benchmarks[name]
    for run in how.runs():
        notes.say(*known.run(run, name))
    asked = spec.protocols.get(how.protocol) if spec else None
    if spec and asked and asked.judge is None:
        judged = [one for one, protocol in spec.protocols.items() if protocol.judge is not None]
        notes.at(".protocol").say(f"'{how.protocol}' has no judge. Allowed: {', '.join(judged)}.")
    if not (known.found.suite.judges if entry.judges is None else entry.judges):
        notes.say("nobody rates its answers. Name a judge in `judges:` of the suite or of the benchmark.")
    main, samplings = known.found.main, known.found.main.samplings
    drawn = [one for one, rule in samplings.items() if rule["rule"] == RANDOM_FRAME and not main.is_viewed(one)]
    for sampling in how.samplings:
        if sampling in samplings and sampling not in drawn:
            notes.at(".samplings").say(f"'{sampling}' is no random frame. Allowed: {', '.join(drawn)}.")


def _check_writer(known: Known, writer: str, notes: Notes) -> None:
    notes.say(*known.model(writer))
    model = known.found.models.get(writer)
    if model is None:
        return
    adapter = ADAPTERS[model.adapter]
    asked = adapter.asked(model.settings)
    if adapter.is_import:
        notes.say(f"'{writer}' cannot write: its answers are imported. Name a model that is asked here.")
    elif "write" not in asked or adapter.frames == "needed":
        notes.say(f"'{writer}' cannot write: adapter '{model.adapter}' gives {', '.join(asked)}.")


def _check_prompts(known: Known, file: str, needed: tuple[str, ...], notes: Notes) -> None:
    if not notes.check_file(file, known.root, "resources/prompts"):
        return
    try:
        prompts = load_prompts(located(file, known.root))
    except UserError as error:
        notes.say(str(error))
        return
    for name in needed:
        if name not in prompts:
            notes.say(f"{file} has no prompt '{name}'. Needed: {', '.join(needed)}.")
