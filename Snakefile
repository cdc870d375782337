# Reprise: a table of contents. The settings are in config/, the rules in workflow/rules/, the work in workflow/reprise/.
from snakemake.utils import min_version

min_version("9.27")


include: "workflow/rules/common.smk"
include: "workflow/rules/annotations.smk"
include: "workflow/rules/media.smk"
include: "workflow/rules/inference.smk"
include: "workflow/rules/scores.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/time.smk"
include: "workflow/rules/report.smk"


# What only some suites need: packages beside the library with rules of their own.
if "construction" in SUITE.packages:

    include: "workflow/construction/rules.smk"


if "human_evaluation" in SUITE.packages:

    include: "workflow/human_evaluation/rules.smk"


rule all:
    default_target: True
    input:
        SUITE.tables.to_read(),
        SUITE.time.files(),
        "<suite>/sources/missing.md",
        SUITE.pages(),
