"""Checks of a suite's file by what other files say: whom it asks, and how it makes benchmarks."""

from collections import Counter

from reprise.benchmarks.prompts import load_prompts
from reprise.config.known import Known
from reprise.config.problems import Notes, unknown_name
from reprise.config.variants import static_filters
from reprise.construction.settings import Constructing, MmbenchVideoSettings, StaticFilter, writers_of
from reprise.core.errors import UserError, choices
from reprise.core.paths import located
from reprise.models.adapters import ADAPTERS, ANYTHING
from reprise.people.settings import RatingDesign

TERMS = ("local", "none", "all")
PROMPTS = {  # kind of construction -> the prompts that it asks its writer by
    "velociti": ("caption", "action_adv", "action_manner"),
    "vinoground": ("pairs", "more"),
    "temporalbench": ("words", "events", "category"),
}


def check_suite(known: Known, notes: Notes) -> None:
    found, suite = known.found, known.found.suite
    for term in suite.run:
        if isinstance(term, str):
            reasons = unknown_name("model", term, [*TERMS, *found.models, *known.unreadable])
            notes.at("run").say(*(f"{one} Also: {', '.join(TERMS)}, {{gpus: N}}." for one in reasons))
    notes.at("skip").say(*known.models(suite.skip))
    notes.at("judges").say(*known.writing(suite.judges, "judge"))
    _check_stand_in(known, notes.at("stand_in"))
    for name, entry in suite.benchmarks.items():
        here = notes.at(f"benchmarks.{name}")
        here.at(".judges").say(*known.writing(entry.judges or (), "judge"))
        for run in entry.extra_runs:
            here.at(f".extra_runs: '{run}'").say(*known.run(run, name))
        _check_people(known, name, here)
        _check_construction(known, name, here)
    for name, how in static_filters(found).items():
        _check_static(known, name, how, notes.at(f"benchmarks.{name}.construction.static"))
    lines = suite.overview_lines()
    named = Counter(line.model for line in lines)
    for line in lines:
        here = notes.at(f"overview: '{line.model}'")
        here.say(*known.models([line.model]), *known.samplings(line.samplings.values()))
        if named[line.model] > 1:
            here.say("named twice; a model has one line.")
        for benchmark in {*(line.benchmarks or ()), *line.samplings}:
            here.expect("benchmark", [benchmark], suite.benchmarks)
            if benchmark in found.tables and found.tables[benchmark].overview is None:
                here.say(f"{benchmark} has no part in the overview.")
    made = [name for name, entry in suite.benchmarks.items() if entry.construction is not None]
    if found.limit is not None and made:
        notes.say(f"it makes benchmarks ({', '.join(made)}), of which there is no part. Name another suite.")


def _check_stand_in(known: Known, notes: Notes) -> None:
    """A stand-in must exist, run on any machine, and answer whatever is asked."""
    name = known.found.suite.stand_in
    adapters = {slug: ADAPTERS[model.adapter] for slug, model in known.found.models.items()}
    here = {slug: one for slug, one in adapters.items() if not one.needs_weights and not one.is_remote}
    able = [slug for slug, one in here.items() if set(ANYTHING) <= set(one.asks)]
    if name not in (None, *able, *known.unreadable):
        notes.say(
            f"'{name}': a baseline that answers all kinds of questions, without weights or a server, stands in for "
            f"others.{choices(str(name), able)}"
        )


# Groups of people


def _check_people(known: Known, benchmark: str, notes: Notes) -> None:
    found = known.found
    entry, spec = found.suite.benchmarks[benchmark], found.benchmarks.get(benchmark)
    groups: dict[tuple[str, str], str] = {}  # kind and run -> the first group that names it
    for group, design in sorted(entry.people.items()):
        here = notes.at(f".people.{group}")
        named = (
            {".run": design.run}
            if design.kind == "answers"
            else {f".runs.{at}": run for at, run in enumerate(design.runs)}
        )
        for key, run in named.items():
            at = here.at(key)
            at.say(*known.run(run, benchmark))
            if (design.kind, run) in groups:
                first = groups[design.kind, run]
                at.say(f"'{run}' is named by '{first}' already; a run has one group, and stands there once.")
            groups.setdefault((design.kind, run), group)
            protocol, sampling, model = run.split("/")
            asked = spec.protocols.get(protocol) if spec else None
            if isinstance(design, RatingDesign):
                if asked is not None and asked.judge is None:
                    at.say(f"'{run}': no judge rates its answers. Name a run of a protocol with a judge.")
                elif asked is not None and benchmark in found.tables and run not in found.runs_of(benchmark):
                    at.say(f"'{run}' is in no table of the suite. Name it in `extra_runs:` too.")
            else:
                if model in found.models and not found.is_import(model):
                    at.say(f"'{model}' is asked here. Name a model whose answers are imported, such as `humans`.")
                if "view" in found.main.samplings.get(sampling, {}):
                    at.say(f"'{run}' has a view, by which models are shown frames and people are not. Leave it out.")
        if isinstance(design, RatingDesign) and entry.ratings is not None:
            here.at(".kind").say(f"the suite names ratings too (ratings: {entry.ratings}). Name one of both.")
        if design.surveys is not None and design.per_survey is not None:
            here.at(".surveys").say(f"found {design.surveys}, and per_survey {design.per_survey}. Name one of both.")
        here.at(".answers").check_files(design.answers, known.root, "answers/*.csv")
        if design.left_out is not None:
            here.at(".left_out").check_files(design.left_out, known.root, "answers/*.csv")


# Benchmarks that are made


def _check_construction(known: Known, name: str, here: Notes) -> None:
    entry = known.found.suite.benchmarks[name]
    made, notes = entry.construction, here.at(".construction")
    if made is None:
        if entry.release.kind == "constructed":
            notes.say("missing; `release: {kind: constructed}` says that the release is made as this says.")
        return
    if entry.release.kind != "constructed":
        here.at(".release").say("should be `{kind: constructed}`, since `construction:` says how it is made.")
    if made.kind != name:
        notes.at(".kind").say(f"found '{made.kind}', but this is '{name}'.")
    notes.at(".review.verdicts").check_files(made.review.verdicts, known.root, "reviews/*.csv")
    if isinstance(made, Constructing):
        for writer in writers_of(made):
            of_writer = notes.at(".writer" if writer == made.writer else ".other_writers")
            of_writer.say(*known.writing([writer], "write"))
            if writer in known.found.models and known.found.is_import(writer):
                of_writer.say(f"'{writer}' cannot write: its answers are imported. Name a model that is asked here.")
        _check_prompts(known, made.prompts, PROMPTS[made.kind], notes.at(".prompts"))
    if isinstance(made, MmbenchVideoSettings) and made.other_sets:
        for one, file in made.other_sets.files().items():
            if not located(file, known.root).is_file():
                notes.at(f".other_sets.scoring.{one}").say(f"no file '{file}' with the questions of this set.")


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
    drawn = [one for one, rule in samplings.items() if rule["rule"] == "random_one" and not main.is_viewed(one)]
    for sampling in how.samplings:
        if sampling in samplings and sampling not in drawn:
            notes.at(".samplings").say(f"'{sampling}' is no random frame. Allowed: {', '.join(drawn)}.")


def _check_prompts(known: Known, file: str, needed: tuple[str, ...], notes: Notes) -> None:
    if notes.check_file(file, known.root, "resources/prompts"):
        try:
            missing = [name for name in needed if name not in load_prompts(located(file, known.root))]
            notes.say(*(f"{file} has no prompt '{name}'. Needed: {', '.join(needed)}." for name in missing))
        except UserError as error:
            notes.say(str(error))
