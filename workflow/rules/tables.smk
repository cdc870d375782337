# What people read. It belongs to the configured suite, whose stamp is an input: switching suites renders anew.


rule table:
    input:
        stamp="results/suite.json",
        key=f"results/{SUITE}/keys/tables/{{benchmark}}/{{table}}.json",
        published="resources/published/{benchmark}.csv",
        metrics=table_metrics,
        statistics=table_statistics,
        problems=table_problems,
    output:
        multiext(
            "results/tables/{benchmark}/{table}",
            tex=".tex",
            csv=".csv",
            md=".md",
            html=".html",
        ),
    log:
        f"results/{SUITE}/logs/tables/{{benchmark}}/{{table}}.log",
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.table --key {input.key} --published {input.published}"
        " --metrics {input.metrics} --statistics {input.statistics} --problems {input.problems}"
        " --out {output.tex} 2> {log}"


rule collected_table:
    input:
        parts_of_table,
    output:
        "results/tables/{table}.{kind}",
    log:
        f"results/{SUITE}/logs/tables/{{table}}.{{kind}}.log",
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.collected_table --table {wildcards.table} --parts {input} --out {output} 2> {log}"
