# Whether a model uses time: its benchmarks again with other frames at the same moments. The cards belong to the
# configured suite, as the tables do.


rule time_card:
    input:
        made_from=SUITE.time.of_model,
    output:
        multiext(
            "results/time/{model}",
            ".md",
            ".tex",
            ".csv",
            ".png",
            ".svg",
            ".pdf",
            ".json",
            ".items.csv",
        ),
        html=report(
            "results/time/{model}.html",
            category="All benchmarks",
            labels={"what": "Use of time", "title": "{model}"},
        ),
    log:
        "<suite>/logs/time/{model}.log",
    wildcard_constraints:
        model=SUITE.time.models,
    localrule: True
    params:
        settings=SUITE.settings("time/{model}"),
    shell:
        RUN
        + "time_card --settings {params.settings:q} --made-from {input.made_from:q} --html {output.html:q} 2> {log:q}"


rule time_all:
    input:
        cards=SUITE.time.cards,
    output:
        multiext("results/time/all", ".md", ".tex", ".csv", ".png", ".svg", ".pdf"),
        html=report(
            "results/time/all.html",
            category="All benchmarks",
            labels={"what": "Use of time", "title": "all models"},
        ),
    log:
        "<suite>/logs/time_all.log",
    localrule: True
    params:
        settings=SUITE.settings("time_all"),
    shell:
        RUN
        + "time_all --settings {params.settings:q} --cards {input.cards:q} --html {output.html:q} 2> {log:q}"
