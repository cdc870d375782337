"""A stage's command: `python -m reprise.stages --store <folder> frames --settings '{...}' --facts ... --out ...`.

Its options are the parameters of `main` in the stage's module:

    def main(settings: FramesKey, facts: In[Path], ledgers: In[list[Path]], store: Site[Store], out: Out[Path]):

`In` marks files that the stage reads and `Out` files that it writes. `Site` marks what is the same for all jobs of a
machine and shapes no result; these options stand before the stage's name. Settings are JSON, as the rule's params show
them (`core/settings_text.py`). All that a stage writes records its settings and the digests of its inputs.
"""

import inspect
import json
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin

from reprise.core.errors import UserError
from reprise.core.files import file_digest, recorded, seal_text, value_digest
from reprise.core.locks import locked
from reprise.core.owner import end_with, find_owner
from reprise.core.paths import RESULTS
from reprise.core.provenance import SHORT, Provenance, is_moved, recording, replace_running, running
from reprise.core.settings import validated
from reprise.core.settings_text import DIGEST, content_of, name_of
from reprise.core.store import store_on_node

T = TypeVar("T")
In = Annotated[T, "input"]
Out = Annotated[T, "output"]
Site = Annotated[T, "site"]
RETRY = "retry"


def run(words: Sequence[str], module: str = "reprise.stages", prefix: str = "") -> None:
    """Run a stage by the words of its command.

    Args:
        words: The options of all jobs, the stage's name, and its own options.
        module: The package of the modules of stages.
        prefix: What results put before the name of a stage of a package beside the library.
    """
    end_with(find_owner())
    site, rest = _site_options(words, module)
    stage, main = rest[0], import_module(f"{module}.{rest[0]}").main
    kinds = {name: parameter.annotation for name, parameter in inspect.signature(main).parameters.items()}
    options = _options(f"{module} {stage}", kinds, rest[1:])
    values = {
        name: site[name] if _mark(kind) == "site" else _value(options[name], _plain(kind), site["config"])
        for name, kind in kinds.items()
    }
    provenance = Provenance(
        stage=f"{prefix}{stage}",
        settings={
            name_of(options[name]): values[name].model_dump(mode="json")
            for name, kind in kinds.items()
            if _is_settings(kind)
        },
        inputs=_digests(_marked("input", kinds, values)),
        retry=options[RETRY],
    )
    _refuse_mixed(provenance)
    with recording(provenance):
        main(**values)
        for path in _marked("output", kinds, values):
            if path.suffix != ".parquet":  # a table's writer records it in the table
                seal_text(path)


def _site_options(words: Sequence[str], module: str) -> tuple[dict[str, Any], list[str]]:
    parser = ArgumentParser(prog=f"python -m {module}")
    parser.add_argument("--config", type=json.loads, default={}, help="the values of Snakemake's --config")
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--scratch", default="")
    parser.add_argument("--attempts", type=int, default=1)
    parser.add_argument("--budget", type=float, nargs=2, default=[0.0, 0.0])
    parser.add_argument("words", nargs="...", metavar="stage ...")
    site = vars(parser.parse_args(words))
    store = store_on_node(site["store"], site["scratch"])
    with locked(store.root / "locks" / "any.lock"):  # fails at once on a file system without locks
        store.mark()
    return site | {"store": store}, site["words"]


def _options(command: str, kinds: Mapping[str, Any], words: Sequence[str]) -> dict[str, Any]:
    parser = ArgumentParser(prog=f"python -m {command}")
    parser.add_argument(f"--{RETRY}", nargs="?", default="", const="")  # Snakemake quotes no empty text
    for name, kind in kinds.items():
        plain, flag = _plain(kind), f"--{name.replace('_', '-')}"
        if _mark(kind) == "site":
            continue
        if get_origin(plain) is list:
            parser.add_argument(flag, type=get_args(plain)[0], nargs="*", default=[])
        else:
            parser.add_argument(flag, type=str if _is_settings(kind) else plain, required=True)
    return vars(parser.parse_args(words))


def _mark(kind: Any) -> str:
    return str(get_args(kind)[1]) if get_origin(kind) is Annotated else ""


def _plain(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _is_settings(kind: Any) -> bool:
    return hasattr(_plain(kind), "model_validate")


def _value(option: Any, kind: Any, config: Mapping[str, Any]) -> Any:
    """Return an option as its stage takes it; long settings are read from the configuration."""
    if not hasattr(kind, "model_validate"):
        return option
    name, content = name_of(option), content_of(option)
    planned = content.get(DIGEST)
    if planned is None:
        return validated(content, kind, f"settings of {name}")
    from reprise.plan.suite import settings_of  # plans the whole suite, which most jobs do not

    found = settings_of(config, name)
    if value_digest(found.model_dump(mode="json")) != planned:
        raise UserError(
            f"{name}: the configuration was edited since this job was planned. Nothing was recorded: run the same "
            "command again, which takes it as it is then."
        )
    return found


def _marked(mark: str, kinds: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the files of a stage that are marked as its inputs or outputs."""
    for name, kind in kinds.items():
        if _mark(kind) == mark:
            yield from values[name] if isinstance(values[name], list) else [values[name]]


def also_reads(paths: Iterable[Path]) -> None:
    """Treat files as inputs that a stage finds by its settings: they are too many for a command."""
    job = running()
    job = job._replace(inputs={**job.inputs, **_digests(paths)})
    _refuse_mixed(job)
    replace_running(job)


def _digests(paths: Iterable[Path]) -> dict[str, str]:
    return {str(path): file_digest(path)[:SHORT] for path in paths if path.is_file()}


def _refuse_mixed(job: Provenance) -> None:
    """Raise an error where an input was made with other settings or from other inputs than this job has."""
    for path in map(Path, job.inputs):
        made = recorded(path) or Provenance()
        if path.parts[:1] == RESULTS.parts and is_moved(path, made):
            raise UserError(
                f"{path}: made as {made.file}, and copied here. Nothing was recorded: delete {path}, then run the same "
                "command again."
            )
        changed = [name for name, said in made.settings.items() if job.settings.get(name, said) != said]
        changed += [name for name, digest in made.inputs.items() if job.inputs.get(name, digest) != digest]
        if changed:
            raise UserError(
                f"{path}: made from another {changed[0]} than the one that is used now. Nothing was recorded: delete "
                f"{path}, then run the same command again."
            )
