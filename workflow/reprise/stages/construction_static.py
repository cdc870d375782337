"""Stage `construction_static`: questions that a model answers from one random frame are dropped, and listed."""

from pathlib import Path

from reprise.construction.filters import kept
from reprise.construction.keys import ReviewKey
from reprise.construction.mmbench_video.review import static
from reprise.construction.registry import read_tables, write_tables
from reprise.construction.review import Problem, as_sheet, warn_of
from reprise.construction.settings import MmbenchVideoSettings
from reprise.core.files import write_text
from reprise.core.log import log
from reprise.core.schemas import VERDICTS, read_table
from reprise.core.settings import refuse_edited
from reprise.stages.command import In, MadeUnder, Out


def main(
    key: In[ReviewKey],
    reviewed: In[Path],
    ratings: In[list[Path]],
    tasks: Out[Path],
    problems: Out[Path],
    out: Out[Path],
    made_under: MadeUnder,
) -> None:
    settings = key.settings
    assert isinstance(settings, MmbenchVideoSettings) and settings.static is not None  # no other has this filter
    questions = read_tables(settings.kind, [reviewed])["reviewed"]
    rated = [read_table(path, VERDICTS) for path in ratings]
    found = static(questions, rated, list(map(Path, key.verdicts)), settings)
    refuse_edited(key.verdicts)
    write_text(tasks, as_sheet(found.tasks, found.columns))
    write_text(problems, as_sheet([one._asdict() for one in found.problems], Problem._fields))
    table = write_tables(settings.kind, {"static": found.reviewed}, [out], made_under)["static"]
    warn_of(found.problems, problems)
    log.info(f"{kept(table).height} of {table.height} questions kept; {tasks} is for people to check")
