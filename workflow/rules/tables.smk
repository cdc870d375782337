# Render the tables of the configured suite. The settings contain its name, so tables are rendered again for another suite.


rule table:
    input:
        published=SUITE.tables.published_values,
        metrics=SUITE.tables.metrics,
        statistics=SUITE.tables.statistics,
        problems=SUITE.tables.problems,
    output:
        tex="results/tables/{benchmark}/{table}.tex",
        csv="results/tables/{benchmark}/{table}.csv",
        md="results/tables/{benchmark}/{table}.md",
        html=report(
            "results/tables/{benchmark}/{table}.html",
            caption="../report/caption.rst",
            category=SUITE.tables.category,
            labels=SUITE.tables.labels,
        ),
    log:
        "<suite>/logs/tables/{benchmark}/{table}.log",
    wildcard_constraints:
        benchmark="[^/]+",  # Any name matches. The error for an unknown name then lists the known names.
    localrule: True
    params:
        settings=SUITE.settings("tables/{benchmark}/{table}"),
        caption=SUITE.tables.caption,
    shell:
        RUN
        + "table --settings {params.settings:q} --published-values {input.published:q} --metrics {input.metrics:q} "
        "--statistics {input.statistics:q} --problems {input.problems:q} --tex {output.tex:q} 2> {log:q}"


rule collected_table:
    input:
        parts=SUITE.tables.parts,
    output:
        tex="results/tables/{table}.tex",
        md="results/tables/{table}.md",
        html="results/tables/{table}.html",
    log:
        "<suite>/logs/tables/{table}.log",
    localrule: True
    params:
        version=SUITE.settings("collected_table"),
    shell:
        RUN
        + "collected_table --version {params.version:q} --table {wildcards.table:q} --parts {input.parts:q} "
        "--tex {output.tex:q} --md {output.md:q} --html {output.html:q} 2> {log:q}"


rule overview:
    input:
        published=SUITE.tables.published_values,
        metrics=SUITE.tables.metrics,
        problems=SUITE.tables.problems,
        timings=SUITE.tables.timings,
    output:
        tex="results/tables/overview.tex",
        csv="results/tables/overview.csv",
        md="results/tables/overview.md",
        html=report(
            "results/tables/overview.html",
            caption="../report/caption.rst",
            category="All benchmarks",
            labels={"what": "Overview", "title": "Main numbers"},
        ),
    log:
        "<suite>/logs/tables/overview.log",
    localrule: True
    params:
        settings=SUITE.settings("tables/overview"),
        caption=SUITE.tables.make_caption("The main numbers of each benchmark."),
    shell:
        RUN
        + "overview --settings {params.settings:q} --published-values {input.published:q} --metrics {input.metrics:q} "
        "--problems {input.problems:q} --timings {input.timings:q} --tex {output.tex:q} 2> {log:q}"


rule reproduction:
    input:
        tables=SUITE.tables.table_files(),
        problems=SUITE.tables.answer_problems,
    output:
        md="results/reproduction.md",
        csv="results/reproduction.csv",
        html=report(
            "results/reproduction.html",
            caption="../report/caption.rst",
            category="All benchmarks",
            labels={"what": "Reproduction", "title": "Numbers beside the papers'"},
        ),
    log:
        "<suite>/logs/reproduction.log",
    localrule: True
    params:
        settings=SUITE.settings("reproduction"),
        caption=SUITE.tables.make_caption(
            "Every number that is measured here and published in a paper, with a verdict."
        ),
    shell:
        RUN
        + "reproduction --settings {params.settings:q} --tables {input.tables:q} --problems {input.problems:q} "
        "--md {output.md:q} 2> {log:q}"


# This table is only an explicit target, because every judge must rate every compared answer.
rule agreement:
    input:
        item_table=SUITE.tables.compared_items,
        verdicts=SUITE.tables.compared_verdicts,
    output:
        multiext(
            "results/tables/judges", tex=".tex", csv=".csv", md=".md", html=".html"
        ),
    log:
        "<suite>/logs/tables/judges.log",
    localrule: True
    params:
        settings=SUITE.settings("tables/judges"),
    shell:
        RUN
        + "agreement --settings {params.settings:q} --item-table {input.item_table:q} --verdicts {input.verdicts:q} "
        "--tex {output.tex:q} 2> {log:q}"


rule tables_pdf:
    input:
        parts=SUITE.tables.latex_files(),
        figures=[],
    output:
        out="results/tables/tables.pdf",
    log:
        "<suite>/logs/tables/tables.pdf.log",
    localrule: True
    params:
        settings=SUITE.settings("tables_pdf"),
    shell:
        RUN
        + "tables_pdf --settings {params.settings:q} --parts {input.parts:q} --figures {input.figures:q} "
        "--out {output.out:q} 2> {log:q}"
