"""Run the command of a stage: `python -m reprise.stages --store <folder> frames --settings '{...}' --out ...`.

Its options are the parameters of `main` in the stage's module:

    def main(settings: FramesKey, manifests: In[list[Path]], store: Site[Store], out: Out[Path]):

`In` marks files that the stage reads and `Out` files that it writes. `Site` marks options that are the same for all
jobs of a machine and affect no result; these options precede the name of the stage. Settings are JSON, as the rule's
params show them (`core/settings_text.py`). Each file that a stage writes records its settings and the digests of its
inputs. A stage need not use all parameters: some, such as `version: Key`, are only recorded. A list may be empty, such
as `judge: list[str]` for a run without a judge.
"""

import inspect
import json
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin

from reprise.core.errors import UserError
from reprise.core.files import file_digest, read_provenance, seal_file, value_digest
from reprise.core.locks import file_lock
from reprise.core.owner import exit_with_owner, find_owner
from reprise.core.paths import RESULTS, find_input, name_input
from reprise.core.provenance import (
    INPUT_DIGEST_DIGITS,
    Provenance,
    get_current_provenance,
    is_copied,
    record_provenance,
    set_current_provenance,
)
from reprise.core.settings import validate_settings
from reprise.core.settings_text import DIGEST, parse_settings_line, parse_settings_name
from reprise.core.store import open_job_store

T = TypeVar("T")  # type of the parameter
In = Annotated[T, "input"]
Out = Annotated[T, "output"]
Site = Annotated[T, "site"]
RETRY = "retry"  # option of all stages; its value is only recorded (`plan/retries.py`)


def run(arguments: Sequence[str], module: str = "reprise.stages", prefix: str = "") -> None:
    """Run a stage from its command line.

    Args:
        arguments: Options of all jobs, the name of the stage, and its own options.
        module: Package that contains the modules of stages.
        prefix: Prefix of the stage's name in results, for a side package.
    """
    exit_with_owner(find_owner())
    site, stage_arguments = _parse_site_options(arguments, module)
    stage, main = stage_arguments[0], import_module(f"{module}.{stage_arguments[0]}").main
    annotations = {name: parameter.annotation for name, parameter in inspect.signature(main).parameters.items()}
    options = _parse_stage_options(f"{module} {stage}", annotations, stage_arguments[1:])
    values: dict[str, Any] = {}
    for name, annotation in annotations.items():
        is_site = _get_mark(annotation) == "site"
        values[name] = site[name] if is_site else _parse_value(options[name], _bare_type(annotation), site["config"])
    provenance = Provenance(
        stage=f"{prefix}{stage}",
        settings={
            parse_settings_name(options[name]): values[name].model_dump(mode="json")
            for name, annotation in annotations.items()
            if _is_settings(annotation)
        },
        inputs=_compute_digests(_iter_marked_paths("input", annotations, values)),
        retry=options[RETRY],
    )
    _check_inputs(provenance)
    with record_provenance(provenance):
        main(**values)
        for path in _iter_marked_paths("output", annotations, values):
            if path.suffix != ".parquet":  # `write_table` records the provenance in the table.
                seal_file(path)


def _parse_site_options(arguments: Sequence[str], module: str) -> tuple[dict[str, Any], list[str]]:
    """Return the options that all jobs share by name, with an open store, and the arguments that follow them."""
    parser = ArgumentParser(prog=f"python -m {module}")
    parser.add_argument("--config", type=json.loads, default={}, help="values of Snakemake's --config")
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--scratch", default="")
    parser.add_argument("--attempts", type=int, default=1)
    parser.add_argument("--budget", type=float, nargs=2, default=[0.0, 0.0])
    parser.add_argument("stage_arguments", nargs="...", metavar="stage ...")
    site = vars(parser.parse_args(arguments))
    store = open_job_store(site["store"], site["scratch"])
    with file_lock(store.root / "locks" / "any.lock"):  # Locking fails early on a file system without locks.
        store.mark()
    return site | {"store": store}, site["stage_arguments"]


def _parse_stage_options(command: str, annotations: Mapping[str, Any], arguments: Sequence[str]) -> dict[str, Any]:
    """Return the options of one stage by the name of its parameter; settings stay texts."""
    parser = ArgumentParser(prog=f"python -m {command}")
    parser.add_argument(f"--{RETRY}", nargs="?", default="", const="")  # Snakemake does not quote an empty text.
    for name, annotation in annotations.items():
        option_type, flag = _bare_type(annotation), f"--{name.replace('_', '-')}"
        if _get_mark(annotation) == "site":
            continue
        if get_origin(option_type) is list:
            parser.add_argument(flag, type=get_args(option_type)[0], nargs="*", default=[])
        else:
            parser.add_argument(flag, type=str if _is_settings(annotation) else option_type, required=True)
    return vars(parser.parse_args(arguments))


def _get_mark(annotation: Any) -> str:
    """Return `input`, `output` or `site`; empty for a parameter without a mark."""
    return str(get_args(annotation)[1]) if get_origin(annotation) is Annotated else ""


def _bare_type(annotation: Any) -> Any:
    """Return the type of a parameter without its mark."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _is_settings(annotation: Any) -> bool:
    """Return whether a parameter is a model of pydantic, which is passed as JSON."""
    return hasattr(_bare_type(annotation), "model_validate")


def _parse_value(option: Any, kind: Any, config: Mapping[str, Any]) -> Any:
    """Return the value of an option; settings that are shortened to a digest are read from the configuration."""
    if not hasattr(kind, "model_validate"):
        return option
    name, content = parse_settings_name(option), parse_settings_line(option)
    planned_digest = content.get(DIGEST)
    if planned_digest is None:
        return validate_settings(content, kind, f"settings of {name}")
    from reprise.plan.suite import load_job_settings  # Most jobs need no plan of the suite.

    settings = load_job_settings(config, name)
    if value_digest(settings.model_dump(mode="json")) != planned_digest:
        raise UserError(
            f"{name}: the configuration was edited since this job was planned. Nothing was recorded: run the same "
            "command again with the new configuration."
        )
    return settings


def _iter_marked_paths(mark: str, annotations: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the files of a stage that are marked as its inputs or outputs."""
    for name, annotation in annotations.items():
        if _get_mark(annotation) == mark:
            yield from values[name] if isinstance(values[name], list) else [values[name]]


def record_inputs(paths: Iterable[Path]) -> None:
    """Record inputs that a stage finds by its settings, because they are too many for a command line."""
    provenance = get_current_provenance()
    provenance = provenance._replace(inputs={**provenance.inputs, **_compute_digests(paths)})
    _check_inputs(provenance)
    set_current_provenance(provenance)


def _compute_digests(paths: Iterable[Path]) -> dict[str, str]:
    """Return the shortened digests of the files that exist, by their names in a provenance."""
    return {name_input(path): file_digest(path)[:INPUT_DIGEST_DIGITS] for path in paths if path.is_file()}


def _check_inputs(provenance: Provenance) -> None:
    """Raise an error if an input was made with settings or inputs that differ from those of this job."""
    for path in map(find_input, provenance.inputs):
        input_provenance = read_provenance(path) or Provenance()
        if path.parts[:1] == RESULTS.parts and is_copied(path, input_provenance):
            raise UserError(
                f"{path}: was made as {input_provenance.file} and copied. Nothing was recorded: delete {path}, then "
                "run the same command again."
            )
        changed_names = [
            name
            for name, settings in input_provenance.settings.items()
            if provenance.settings.get(name, settings) != settings
        ]
        changed_names += [
            name for name, digest in input_provenance.inputs.items() if provenance.inputs.get(name, digest) != digest
        ]
        if changed_names:
            raise UserError(
                f"{path}: was made from a different {changed_names[0]} than this job uses. Nothing was recorded: "
                f"delete {path}, then run the same command again."
            )
