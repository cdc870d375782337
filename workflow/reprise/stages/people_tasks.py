"""Stage `people_tasks`: one survey as tasks for a project in Label Studio."""

from pathlib import Path

from reprise.construction.review import as_json
from reprise.core.errors import run_command
from reprise.core.files import write_text
from reprise.core.log import log
from reprise.people.surveys import label_studio_tasks
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments("Write a survey for Label Studio.", key=Path, surveys=Path, survey=str, out=Path)
    tasks = label_studio_tasks(args.surveys, args.survey)
    write_text(args.out, as_json(tasks))
    log.info(f"{len(tasks)} tasks")


if __name__ == "__main__":
    run_command(main)
