"""Stage `construction_static`: drop and list the questions that a model answers from one random frame."""

from pathlib import Path

from human_evaluation.tasks import RowProblem, as_sheet, log_problems
from reprise.core.files import write_text
from reprise.core.log import log
from reprise.core.schemas import VERDICTS, read_table
from reprise.core.settings import reject_edited_files
from reprise.stages.command import In, Out

from construction.filters import kept_rows
from construction.keys import ReviewKey
from construction.mmbench_video.review import static
from construction.registry import read_tables, write_tables
from construction.settings import MmbenchVideoSettings


def main(
    settings: ReviewKey,
    reviewed: In[Path],
    ratings: In[list[Path]],
    tasks: Out[Path],
    problems: Out[Path],
    out: Out[Path],
) -> None:
    construction = settings.settings
    assert isinstance(construction, MmbenchVideoSettings) and construction.static is not None
    questions = read_tables(construction.kind, [reviewed])["reviewed"]
    rating_tables = [read_table(path, VERDICTS) for path in ratings]
    filtered = static(questions, rating_tables, list(map(Path, settings.verdicts)), construction)
    reject_edited_files(settings.verdicts)
    write_text(tasks, as_sheet(filtered.tasks, filtered.columns))
    write_text(problems, as_sheet([problem._asdict() for problem in filtered.problems], RowProblem._fields))
    table = write_tables(construction.kind, {"static": filtered.reviewed}, [out])["static"]
    log_problems(filtered.problems, problems)
    log.info(f"{kept_rows(table).height} of {table.height} questions kept; annotators can check {tasks}")
