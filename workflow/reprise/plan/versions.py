"""Versions of the code that computes results.

If a stage's results change on purpose, raise the version of the stage and note the change in CHANGELOG.md.

A version is a param of each job of its stage. Raising it reruns that stage; a refactoring alone reruns nothing.
`tests/demo/test_versions.py` fails if the demo's numbers change without a raised version, and names that version.
Benchmarks have their versions in config/benchmarks/, adapters in `models/adapters.py`, synthetic worlds in
`fetch/plugins.py`, and side packages in their `plan.py`.
"""

DECODER_VERSION = 2
"""Version of the code that decodes planned frames (`media/decoder.py`); part of the response cache's key."""
# Stage -> version of the code that computes its results.
STAGE_VERSIONS = {
    "agreement": 1,
    "annotations": 2,
    "clips": 3,
    "collected_table": 1,
    "data_statistics": 1,
    "clip_metadata": 3,
    "figure": 3,
    "frames": 1,
    "health": 1,
    "import_answers": 1,
    "import_ratings": 1,
    "infer": 1,
    "join_partitions": 1,
    "judge_requests": 1,
    "judgements": 1,
    "metrics": 1,
    "missing": 1,
    "overview": 2,
    "preview": 1,
    "release": 1,
    "report": 4,
    "reproduction": 2,
    "requests": 1,
    "serve_environment": 1,
    "sources": 3,
    "table": 2,
    "tables_pdf": 2,
    "temporal_profiles": 4,
    "temporal_profile": 5,
    "verdicts": 1,
    "weights": 1,
}
