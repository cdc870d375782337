# Pictures of the same numbers as the tables'. They belong to the configured suite, as the tables do.


rule figure:
    input:
        stamp="results/suite.json",
        key="<suite>/keys/figures/{benchmark}/{figure}.json",
        published=PLAN.published_numbers,
        metrics=PLAN.figured.metrics,
        statistics=PLAN.figured.statistics,
        problems=PLAN.figured.problems,
        verdicts=PLAN.figured.verdicts,
        shown=PLAN.figured.items,
        facts=PLAN.figured.facts,
        made=PLAN.figured.made,
    output:
        pdf="results/figures/{benchmark}/{figure}.pdf",
        svg="results/figures/{benchmark}/{figure}.svg",
        png=report(
            "results/figures/{benchmark}/{figure}.png",
            caption="../report/caption.rst",
            category=PLAN.captioned.benchmark,
            labels=PLAN.captioned.figure_labels,
        ),
        csv="results/figures/{benchmark}/{figure}.csv",
    log:
        "<suite>/logs/figures/{benchmark}/{figure}.log",
    wildcard_constraints:
        benchmark="[^/]+",  # any, so that a wrong name is met by a list of those that exist
    localrule: True
    params:
        caption=PLAN.captioned.figure,
    shell:
        "{PYTHON:q} -m reprise.stages.figure --key {input.key:q} --published {input.published:q}"
        " --metrics {input.metrics:q} --statistics {input.statistics:q} --problems {input.problems:q}"
        " --verdicts {input.verdicts:q} --items {input.shown:q}"
        " --facts {input.facts:q} --made {input.made:q} --out {output.png:q} 2> {log:q}"


rule figures:
    input:
        PLAN.figured.every(),
    localrule: True


rule suite_pdf:
    input:
        tables=PLAN.every_fragment(),
        figures=PLAN.figured.every("pdf"),
        figure_keys=PLAN.figured.every_key(),
    output:
        "results/suite.pdf",
    log:
        "<suite>/logs/suite.pdf.log",
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.tables_pdf --parts {input.tables:q} --figures {input.figures:q}"
        " --figure-keys {input.figure_keys:q} --out {output:q} 2> {log:q}"
