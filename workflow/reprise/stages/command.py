"""A stage's command. Its options are the parameters of `main` in the stage's module, by whose names a rule gives them:

    def main(key: In[RequestsKey], item_table: In[Path], out: Out[Path], made_under: MadeUnder) -> None: ...

`In`, `Out`, `Param` and `Wildcard` say where of the rule a value stands, `Site` that it is the same for all jobs, and
`Job` that it is the job's own. A key file is given as what it says; as plain JSON (`In[Json]`) to stages that take less
time than the import of pydantic. A stage without settings of its own has `key: Coded`, and its rule the file
`keys/<stage>.json`, which planning writes by itself.
"""

import ast
import gc
import inspect
import shlex
import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin

from reprise.core.files import file_digest, read_json
from reprise.core.store import Store

T = TypeVar("T")
Json = dict[str, Any]
In = Annotated[T, "input"]
Coded = Annotated[Json, "input"]  # a key file that holds no more than the digest of the stage's code
Out = Annotated[T, "output"]
Param = Annotated[T, "params"]
Wildcard = Annotated[T, "wildcards"]
Site = Annotated[T, "SITE"]
Job = Annotated[T, ""]
PLACES = {"In": "input.", "Coded": "input.", "Out": "output.", "Param": "params.", "Wildcard": "wildcards.", "Job": ""}
MadeUnder = Mapping[str, str]  # key file -> its digest before the work began; it is no option
FILLED_IN = "made_under"


# For rules


def command_of(site: Mapping[str, Sequence[object]], *stages: str, name: str = "") -> str:
    """The shell command of a rule that runs a stage, or several in one process; `name` is said in place of theirs.

    It says this Python and what is the site's as they are: names of a Snakefile mean nothing in the commands of a
    module, and as `params` they would be taken for what shapes a result.
    """
    kinds = {option: kind for stage in stages for option, kind in _options(stage).items()}
    words = [f"{_literal([sys.executable])} -m reprise.stages", name or "+".join(stages)]
    for option, kind in kinds.items():
        value = f"{{{PLACES[kind]}{option}:q}}" if kind in PLACES else ""
        if kind == "Site":
            value = _literal(site[option])
        words.append(f"--{option.replace('_', '-')} {value}")
    return " ".join([*words, "2> {log:q}"])


def _literal(words: Sequence[object]) -> str:
    """Words as a shell takes them, in which Snakemake has nothing to fill in."""
    return shlex.join(map(str, words)).replace("{", "{{").replace("}", "}}")


@cache
def _options(stage: str) -> dict[str, str]:
    """Option -> where of a rule it stands. The module's text is read: to import all stages takes too long."""
    text = Path(__file__).with_name(f"{stage}.py").read_text(encoding="utf-8")
    start = text.index("\ndef main(") + 1
    head = text[start : text.index(") -> None:", start)]
    main = ast.parse(f"{head}) -> None: ...").body[0]
    assert isinstance(main, ast.FunctionDef)
    hints = {one.arg: ast.unparse(one.annotation) for one in main.args.args if one.annotation is not None}
    return {name: hint.partition("[")[0] for name, hint in hints.items() if name != FILLED_IN}


# In a job


def run(words: Sequence[str]) -> None:
    """Run stages by the words of their command: `verdicts+metrics --key ... --metric-key ...`."""
    gc.disable()  # what is imported stays, so that there is nothing to find
    mains = [import_module(f"reprise.stages.{stage}").main for stage in words[0].split("+")]
    gc.freeze()
    gc.enable()
    kinds = {name: kind for main in mains for name, kind in _kinds(main).items()}
    parser = ArgumentParser(prog=f"python -m reprise.stages {words[0]}")
    for name, kind in kinds.items():
        flag, is_list = f"--{name.replace('_', '-')}", get_origin(kind) is list
        of_one = get_args(kind)[0] if is_list else kind
        parsed = Path if _is_key(of_one) or of_one is Store else of_one
        if is_list:
            parser.add_argument(flag, type=parsed, nargs="*", default=[])
        else:
            parser.add_argument(flag, type=parsed, required=True)
    given = vars(parser.parse_args(words[1:]))
    values = {name: _value(kinds[name], value) for name, value in given.items()}
    digests = {name: file_digest(path)[:16] for name, path in given.items() if _is_key(kinds[name])}
    for main in mains:
        own = {name: values[name] for name in _kinds(main)}
        if FILLED_IN in inspect.signature(main).parameters:
            own[FILLED_IN] = {str(given[name]): digests[name] for name in own if name in digests}
        main(**own)


def _kinds(main: Any) -> dict[str, Any]:
    parameters = inspect.signature(main).parameters.items()
    return {name: get_args(one.annotation)[0] for name, one in parameters if name != FILLED_IN}


def _is_key(kind: Any) -> bool:
    return kind is Json or hasattr(kind, "model_validate")


def _value(kind: Any, given: Any) -> Any:
    """What a stage is given for an option: of a key file its content, of the store's folder the store."""
    if kind is Json:
        return read_json(given)
    if _is_key(kind):
        from reprise.core.settings import read_key

        return read_key(given, kind)
    return Store(given) if kind is Store else given
