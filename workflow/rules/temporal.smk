# Evaluate models under temporal ablations. Like tables, temporal profiles belong to the configured suite.


rule temporal_profile:
    input:
        inputs=SUITE.temporal.profile_inputs,
    output:
        multiext(
            "results/temporal/{model}",
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
            "results/temporal/{model}.html",
            category="All benchmarks",
            labels={"what": "Use of time", "title": "{model}"},
        ),
    log:
        "<suite>/logs/temporal/{model}.log",
    wildcard_constraints:
        model=SUITE.temporal.models,
    localrule: True
    params:
        settings=SUITE.settings("temporal/{model}"),
    shell:
        RUN
        + "temporal_profile --settings {params.settings:q} --inputs {input.inputs:q} --html {output.html:q} 2> {log:q}"


rule temporal_profiles:
    input:
        temporal_profiles=SUITE.temporal.temporal_profiles,
    output:
        multiext("results/temporal/all", ".md", ".tex", ".csv", ".png", ".svg", ".pdf"),
        html=report(
            "results/temporal/all.html",
            category="All benchmarks",
            labels={"what": "Use of time", "title": "all models"},
        ),
    log:
        "<suite>/logs/temporal_profiles.log",
    localrule: True
    params:
        settings=SUITE.settings("temporal_profiles"),
    shell:
        RUN
        + "temporal_profiles --settings {params.settings:q} --temporal-profiles {input.temporal_profiles:q} "
        "--html {output.html:q} 2> {log:q}"
