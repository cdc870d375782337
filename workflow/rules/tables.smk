# What people read. It belongs to the configured suite, whose stamp is an input: switching suites renders anew.


rule table:
    input:
        stamp="results/suite.json",
        key="<suite>/keys/tables/{benchmark}/{table}.json",
        published=PLAN.published_numbers,
        metrics=PLAN.table_metrics,
        statistics=PLAN.table_statistics,
        problems=PLAN.table_problems,
    output:
        tex="results/tables/{benchmark}/{table}.tex",
        csv="results/tables/{benchmark}/{table}.csv",
        md="results/tables/{benchmark}/{table}.md",
        html=report(
            "results/tables/{benchmark}/{table}.html",
            caption="../report/caption.rst",
            category=PLAN.captioned.benchmark,
            labels=PLAN.captioned.table_labels,
        ),
    log:
        "<suite>/logs/tables/{benchmark}/{table}.log",
    wildcard_constraints:
        benchmark="[^/]+",  # any, so that a wrong name is met by a list of those that exist
    localrule: True
    params:
        caption=PLAN.captioned.table,
    shell:
        "{PYTHON:q} -m reprise.stages.table --key {input.key:q} --published {input.published:q}"
        " --metrics {input.metrics:q} --statistics {input.statistics:q} --problems {input.problems:q}"
        " --out {output.tex:q} 2> {log:q}"


rule collected_table:
    input:
        PLAN.parts_of_table,
    output:
        "results/tables/{table}.{kind}",
    log:
        "<suite>/logs/tables/{table}.{kind}.log",
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.collected_table --table {wildcards.table:q} --parts {input:q} --out {output:q} 2> {log:q}"


rule overview:
    input:
        stamp="results/suite.json",
        key="<suite>/keys/tables/overview.json",
        published=PLAN.overview_published,
        metrics=PLAN.overview_metrics,
        problems=PLAN.overview_problems,
        timings=PLAN.overview_timings,
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
        caption=PLAN.captioned.whole("The main numbers of each benchmark."),
    shell:
        "{PYTHON:q} -m reprise.stages.overview --key {input.key:q} --published {input.published:q}"
        " --metrics {input.metrics:q} --problems {input.problems:q} --timings {input.timings:q}"
        " --out {output.tex:q} 2> {log:q}"


rule reproduction:
    input:
        stamp="results/suite.json",
        key="<suite>/keys/reproduction.json",
        tables=PLAN.every_csv(),
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
        caption=PLAN.captioned.whole(
            "Every number that is made here and printed by a paper, with a verdict."
        ),
    shell:
        "{PYTHON:q} -m reprise.stages.reproduction --key {input.key:q} --tables {input.tables:q} --out {output.md:q} 2> {log:q}"


# Made when it is asked for: each judge is asked about each answer that it compares.
rule agreement:
    input:
        stamp="results/suite.json",
        key="<suite>/keys/tables/judges.json",
        item_tables=PLAN.compared_items,
        verdicts=PLAN.compared_verdicts,
    output:
        multiext(
            "results/tables/judges", tex=".tex", csv=".csv", md=".md", html=".html"
        ),
    log:
        "<suite>/logs/tables/judges.log",
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.agreement --key {input.key:q} --items {input.item_tables:q}"
        " --verdicts {input.verdicts:q} --out {output.tex:q} 2> {log:q}"


rule tables_pdf:
    input:
        PLAN.every_fragment(),
    output:
        "results/tables/tables.pdf",
    log:
        "<suite>/logs/tables/tables.pdf.log",
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.tables_pdf --parts {input:q} --out {output:q} 2> {log:q}"
