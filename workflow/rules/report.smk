# Build a static site of all results. The manifest lists its files. Files of the previous build are removed.


rule report_site:
    input:
        SUITE.report.inputs,
    output:
        page="results/report/index.html",
        manifest="results/report/manifest.json",
    log:
        "<suite>/logs/report.log",
    localrule: True
    params:
        settings=SUITE.settings("report"),
    shell:
        RUN + "report --settings {params.settings:q} --page {output.page:q} 2> {log:q}"


rule report:
    input:
        "results/report/index.html",
    localrule: True
