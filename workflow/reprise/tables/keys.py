"""Define the keys of tables: their specification, and the runs that provide their numbers."""

from pydantic import Field

from reprise.config.tables import Overview, TableSpec
from reprise.core.settings import Key, KeyPart


class SuiteKey(Key):
    """Properties of a suite that its tables print."""

    suite: str
    suite_title: str
    notice: str = ""


class TableKey(SuiteKey):
    """Key of the stage `table`."""

    benchmark: str
    benchmark_title: str
    paper: str
    table: str
    show_published: bool
    published_sha256: str = ""
    spec: TableSpec
    confidence: float = 0.95  # confidence level of the intervals; set only for a table that compares groups by them
    forms: dict[str, str]  # protocol -> form of question
    frames_min: dict[str, dict[str, int]] = Field({})
    """protocol -> metric -> minimum number of frames with which its questions can be answered"""
    frames: dict[str, int] = Field({})  # sampling -> its number of frames, if it is the same for every clip
    runs: tuple[str, ...]  # scored runs whose numbers are computed here
    imported_runs: tuple[str, ...] = ()  # runs with imported answers or ratings
    judge_order: tuple[str, ...] = ()  # judges by preference; a cell shows the first judge that rated its run
    unjudged_runs: tuple[str, ...] = ()  # runs that no judge has rated
    judged_protocols: tuple[str, ...] = ()  # protocols whose answers are judged
    judges: dict[str, str] = Field({})  # judge -> label
    abbreviations: dict[str, str] = Field({})
    reference_models: tuple[str, ...] = ()  # models that no table marks as best
    quantised: dict[str, str] = Field({})  # model with quantised weights -> method of quantisation
    missing_share_max: float
    failed_share_max: float


class OverviewKey(Key):
    """Key of the stage `overview`."""

    suite: str
    confidence: float
    parts: tuple[TableKey, ...]  # a table for each benchmark, with the same rows
    default_conditions: dict[str, Overview]  # benchmark -> default protocol and sampling of all models
    protocols_without_scores: dict[str, tuple[str, ...]] = Field({})
    """benchmark whose default protocol requests scores -> the protocols of rows that request text instead"""
    gpus: dict[str, int]  # model -> number of its GPUs


class TableTitle(KeyPart):
    """Names of a table, such as `velociti/table3` of the paper VELOCITI, with the number `Table 3` and the title."""

    table: str
    paper: str
    number: str
    title: str


class ReproductionKey(SuiteKey):
    """Key of the stage `reproduction`, which compares the tables with the papers."""

    confidence: float
    titles: tuple[TableTitle, ...]
    paper_judges: dict[str, str] = Field({})  # table -> judge of the paper's numbers
    judges: dict[str, str] = Field({})  # judge -> label
    conditions: dict[str, tuple[str, ...]] = Field({})  # run -> conditions of its answers
    obstacles: dict[str, tuple[str, ...]] = Field({})
    """run, judge or `<benchmark>/data` -> reasons why its numbers cannot be compared"""
    margins: dict[str, dict[str, float]] = Field({})  # benchmark -> metric -> margin other than DEFAULT_MARGIN


class JudgePairKey(KeyPart):
    """Two judges of a protocol, and the scored runs on which they are compared."""

    benchmark: str
    title: str  # title of the benchmark, followed by the protocol
    judges: tuple[str, str]
    runs: tuple[str, ...]


class AgreementKey(SuiteKey):
    """Key of the stage `agreement`, which compares pairs of judges."""

    confidence: float
    pairs: tuple[JudgePairKey, ...]
    judges: dict[str, str]
