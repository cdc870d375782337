# Pictures of the same numbers as the tables'. They belong to the configured suite, as the tables do.


rule figure:
    input:
        published=SUITE.figures.published,
        metrics=SUITE.figures.metrics,
        statistics=SUITE.figures.statistics,
        problems=SUITE.figures.problems,
        verdicts=SUITE.figures.verdicts,
        item_table=SUITE.figures.items,
        facts=SUITE.figures.facts,
        made=SUITE.figures.made,
    output:
        pdf="results/figures/{benchmark}/{figure}.pdf",
        svg="results/figures/{benchmark}/{figure}.svg",
        png=report(
            "results/figures/{benchmark}/{figure}.png",
            caption="../report/caption.rst",
            category=SUITE.figures.category,
            labels=SUITE.figures.labels,
        ),
        csv="results/figures/{benchmark}/{figure}.csv",
    log:
        "<suite>/logs/figures/{benchmark}/{figure}.log",
    wildcard_constraints:
        benchmark="[^/]+",  # any, so that a wrong name is met by a list of those that exist
    localrule: True
    params:
        settings=SUITE.settings("figures/{benchmark}/{figure}"),
        caption=SUITE.figures.caption,
    shell:
        RUN
        + "figure --settings {params.settings:q} --published {input.published:q} --metrics {input.metrics:q} "
        "--statistics {input.statistics:q} --problems {input.problems:q} --verdicts {input.verdicts:q} "
        "--item-table {input.item_table:q} --facts {input.facts:q} --made {input.made:q} --png {output.png:q} "
        "2> {log:q}"


rule figures:
    input:
        SUITE.figures.every(),
    localrule: True


rule suite_pdf:
    input:
        parts=SUITE.tables.fragments(),
        figures=SUITE.figures.every("pdf"),
    output:
        out="results/suite.pdf",
    log:
        "<suite>/logs/suite.pdf.log",
    localrule: True
    params:
        settings=SUITE.settings("suite_pdf"),
    shell:
        RUN
        + "tables_pdf --settings {params.settings:q} --parts {input.parts:q} --figures {input.figures:q} "
        "--out {output.out:q} 2> {log:q}"
