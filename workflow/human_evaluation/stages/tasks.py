"""Stage `human_tasks`: convert one survey into tasks for a project in Label Studio."""

from pathlib import Path

from reprise.core.files import write_text
from reprise.core.settings import Key
from reprise.stages.command import In, Out

from human_evaluation.surveys import label_studio_tasks
from human_evaluation.tasks import as_json


def main(settings: Key, surveys: In[Path], survey: str, out: Out[Path]) -> None:
    write_text(out, as_json(label_studio_tasks(surveys, survey)))
