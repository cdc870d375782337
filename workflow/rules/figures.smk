# Draw figures from the numbers of the tables. Like tables, figures belong to the configured suite.


rule figure:
    input:
        published=SUITE.figures.published_values,
        metrics=SUITE.figures.metrics,
        statistics=SUITE.figures.statistics,
        problems=SUITE.figures.problems,
        verdicts=SUITE.figures.verdicts,
        item_table=SUITE.figures.items,
        clip_metadata=SUITE.figures.clip_metadata,
        construction_statistics=SUITE.figures.construction_statistics,
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
        benchmark="[^/]+",  # Any name matches. The error for an unknown name then lists the known names.
    localrule: True
    params:
        settings=SUITE.settings("figures/{benchmark}/{figure}"),
        caption=SUITE.figures.caption,
    shell:
        RUN
        + "figure --settings {params.settings:q} --published-values {input.published:q} --metrics {input.metrics:q} "
        "--statistics {input.statistics:q} --problems {input.problems:q} --verdicts {input.verdicts:q} "
        "--item-table {input.item_table:q} --clip-metadata {input.clip_metadata:q} "
        "--construction-statistics {input.construction_statistics:q} --png {output.png:q} 2> {log:q}"


rule figures:
    input:
        SUITE.figures.figure_files(),
    localrule: True


rule suite_pdf:
    input:
        parts=SUITE.tables.latex_files(),
        figures=SUITE.figures.figure_files("pdf"),
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
