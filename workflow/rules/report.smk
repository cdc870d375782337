# Everything that people read, in one folder that opens in a browser. The many files beside these two are listed in the
# manifest, and one that an older build left is removed.


rule report_site:
    input:
        SUITE.report.inputs,
        key="<suite>/keys/report.json",
    output:
        page="results/report/index.html",
        manifest="results/report/manifest.json",
    log:
        "<suite>/logs/report.log",
    localrule: True
    shell:
        command("report")


rule report:
    input:
        "results/report/index.html",
    localrule: True
