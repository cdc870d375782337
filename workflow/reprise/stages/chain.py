"""Short stages, one or several in one process: `python -m reprise.stages.chain verdicts --key ... --then metrics ...`.

For stages that take less than the start of Python and its libraries.
"""

import gc
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module

from reprise.core.errors import run_command

THEN = "--then"


def main() -> None:
    gc.disable()  # a second's work leaves no garbage worth the searches, which the imports alone would set off
    for command in commands(sys.argv[1:]):
        stage = import_module(f"reprise.stages.{command[0]}")
        sys.argv = command
        stage.main()


def commands(words: Sequence[str]) -> Iterator[list[str]]:
    """The words of each stage's command, the stage's name first."""
    command: list[str] = []
    for word in (*words, THEN):
        if word == THEN:
            yield command
            command = []
        else:
            command.append(word)


if __name__ == "__main__":
    run_command(main)
