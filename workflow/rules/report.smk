# Everything that people read, in one folder that opens in a browser. The many files beside these two are listed in the
# manifest, and one that an older build left is removed.


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
