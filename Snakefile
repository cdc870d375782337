# Entry point of Reprise. Settings are in config/, rules in workflow/rules/ and the library in workflow/reprise/.
from snakemake.utils import min_version

min_version("9.27")


include: "workflow/rules/common.smk"
include: "workflow/rules/annotations.smk"
include: "workflow/rules/media.smk"
include: "workflow/rules/inference.smk"
include: "workflow/rules/scores.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/temporal.smk"
include: "workflow/rules/report.smk"


# Side packages have their own rules, and only some suites use them.
if "construction" in SUITE.packages:

    include: "workflow/construction/rules.smk"


if "human_evaluation" in SUITE.packages:

    include: "workflow/human_evaluation/rules.smk"


rule all:
    default_target: True
    input:
        SUITE.tables.output_files(),
        SUITE.temporal.files(),
        "<suite>/sources/missing.md",
        SUITE.pages(),
