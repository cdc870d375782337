"""Configure the single-frame probe of temporal profiles: every planned frame alone, of the clip and of another one."""

from collections.abc import Iterator
from dataclasses import replace

from reprise.config.configuration import Configuration
from reprise.config.main import ProbeTransform
from reprise.config.tables import Row
from reprise.core.errors import describe_choices
from reprise.media.ablations import PROBE_ABLATIONS
from reprise.media.sampling import count_frames


def name_probe_transform(show: str, position: int) -> str:
    """Return the name of the transform, and of the condition, that shows one frame; positions count from 1."""
    return f"{show}{position}"


def list_probed_rows(config: Configuration) -> Iterator[tuple[str, Row]]:
    """Yield benchmark and row of the overview for each model and benchmark with a probe."""
    for name in config.suite.single_frame_probe:
        spec = config.get_overview(name) if name in config.tables else None
        for row in spec.rows() if spec else ():
            if row.model and config.suite.has_temporal_profile(row.model):
                yield name, row


def add_probe_transforms(config: Configuration) -> Configuration:
    """Return the configuration with a transform for each frame that a probe shows."""
    frame_counts = [
        count_frames(config.main.samplings[str(row.sampling)]) or 0
        for _, row in list_probed_rows(config)
        if str(row.sampling) in config.main.samplings
    ]
    transforms = {
        name_probe_transform(show, position): ProbeTransform.model_validate({"show": show, "position": position})
        for show in PROBE_ABLATIONS
        for position in range(1, max(frame_counts, default=0) + 1)
    }
    return replace(config, main=config.main.add_transforms(transforms)) if transforms else config


def list_probe_conditions(config: Configuration, benchmark: str, row: Row) -> list[str]:
    """Return the probe's conditions of a row; each is the name of a transform."""
    if benchmark not in config.suite.single_frame_probe:
        return []
    frame_count = count_frames(config.main.samplings[str(row.sampling)]) or 0
    return [name_probe_transform(show, position) for show in PROBE_ABLATIONS for position in range(1, frame_count + 1)]


def probe_problems(config: Configuration) -> Iterator[str]:
    """Yield the problems of `single_frame_probe:`."""
    for name in config.suite.single_frame_probe:
        if name not in config.suite.benchmarks:
            yield f"'{name}' is no benchmark of this suite.{describe_choices(name, config.suite.benchmarks)}"
    for name, row in list_probed_rows(config):
        sampling, protocol = str(row.sampling), str(row.protocol)
        if (count_frames(config.main.samplings[sampling]) or 0) < 2:
            yield (
                f"{name}, {row.model}: the probe needs a sampling with a fixed number of frames, at least 2, and "
                f"'{sampling}' has none. Set another one in the model's line of `overview:`, such as "
                f"{{model: {row.model}, samplings: {{{name}: linspace8}}}}."
            )
        request_type = config.benchmarks[name].protocols[protocol].request_type
        if request_type != "score":
            yield (
                f"{name}, {row.model}: the probe chooses the best frame by the model's confidence, which needs a "
                f"protocol with `request_type: score`; '{protocol}' has '{request_type}'. Remove '{name}'."
            )
