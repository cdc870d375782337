# Pictures of the same numbers as the tables'. They belong to the configured suite, as the tables do.


rule figure:
    input:
        stamp="results/suite.json",
        key="<suite>/keys/figures/{benchmark}/{figure}.json",
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
        caption=SUITE.figures.caption,
    shell:
        command("figure")


rule figures:
    input:
        SUITE.figures.every(),
    localrule: True


rule suite_pdf:
    input:
        parts=SUITE.tables.fragments(),
        figures=SUITE.figures.every("pdf"),
        figure_keys=SUITE.figures.every_key(),
    output:
        out="results/suite.pdf",
    log:
        "<suite>/logs/suite.pdf.log",
    localrule: True
    shell:
        command("tables_pdf")
