"""Stage `people_tasks`: one survey as tasks for a project in Label Studio."""

from pathlib import Path

from reprise.construction.review import as_json
from reprise.core.files import write_text
from reprise.people.surveys import label_studio_tasks
from reprise.stages.command import Coded, In, Out, Wildcard


def main(key: Coded, surveys: In[Path], survey: Wildcard[str], out: Out[Path]) -> None:
    write_text(out, as_json(label_studio_tasks(surveys, survey)))
