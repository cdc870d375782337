# What people read. It belongs to the configured suite, whose stamp is an input: switching suites renders anew.


rule table:
    input:
        stamp="results/suite.json",
        key="<suite>/keys/tables/{benchmark}/{table}.json",
        published=SUITE.tables.published,
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
        benchmark="[^/]+",  # any, so that a wrong name is met by a list of those that exist
    localrule: True
    params:
        caption=SUITE.tables.caption,
    shell:
        command("table")


rule collected_table:
    input:
        parts=SUITE.tables.parts,
    output:
        out="results/tables/{table}.{kind}",
    log:
        "<suite>/logs/tables/{table}.{kind}.log",
    localrule: True
    shell:
        command("collected_table")


rule overview:
    input:
        stamp="results/suite.json",
        key="<suite>/keys/tables/overview.json",
        published=SUITE.tables.published,
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
        caption=SUITE.tables.caption_of("The main numbers of each benchmark."),
    shell:
        command("overview")


rule reproduction:
    input:
        stamp="results/suite.json",
        key="<suite>/keys/reproduction.json",
        tables=SUITE.tables.each(),
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
        caption=SUITE.tables.caption_of(
            "Every number that is made here and printed by a paper, with a verdict."
        ),
    shell:
        command("reproduction")


# Made when it is asked for: each judge is asked about each answer that it compares.
rule agreement:
    input:
        stamp="results/suite.json",
        key="<suite>/keys/tables/judges.json",
        item_table=SUITE.tables.compared_items,
        verdicts=SUITE.tables.compared_verdicts,
    output:
        multiext(
            "results/tables/judges", tex=".tex", csv=".csv", md=".md", html=".html"
        ),
    log:
        "<suite>/logs/tables/judges.log",
    localrule: True
    shell:
        command("agreement")


rule tables_pdf:
    input:
        parts=SUITE.tables.fragments(),
        figures=[],
        figure_keys=[],
    output:
        out="results/tables/tables.pdf",
    log:
        "<suite>/logs/tables/tables.pdf.log",
    localrule: True
    shell:
        command("tables_pdf")
