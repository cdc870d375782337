# From a release in its authors' layout to clips, items and filled prompts.


rule release:
    input:
        key="<suite>/keys/release/{benchmark}.json",
    output:
        out="<suite>/release/{benchmark}/files.json",
    log:
        "<suite>/logs/release/{benchmark}.log",
    wildcard_constraints:
        benchmark=SUITE.annotations.released,
    localrule: True
    params:
        settings=SUITE.settings("release/{benchmark}"),
    shell:
        command("release")


rule annotations:
    input:
        key="<suite>/keys/annotations/{benchmark}.json",
        release="<suite>/release/{benchmark}/files.json",
    output:
        clips="<suite>/annotations/{benchmark}/clips.parquet",
        item_table="<suite>/annotations/{benchmark}/items.parquet",
    log:
        "<suite>/logs/annotations/{benchmark}.log",
    localrule: True
    params:
        settings=SUITE.settings("annotations/{benchmark}"),
    shell:
        command("annotations")


rule statistics:
    input:
        key="<suite>/keys/statistics/{benchmark}.json",
        clips="<suite>/annotations/{benchmark}/clips.parquet",
        item_table="<suite>/annotations/{benchmark}/items.parquet",
        facts=SUITE.annotations.facts,
    output:
        out="<suite>/statistics/{benchmark}.parquet",
    log:
        "<suite>/logs/statistics/{benchmark}.log",
    localrule: True
    params:
        settings=SUITE.settings("statistics/{benchmark}"),
    shell:
        command("data_statistics")


rule requests:
    input:
        key="<suite>/keys/requests/{benchmark}/{protocol}.json",
        item_table="<suite>/annotations/{benchmark}/items.parquet",
    output:
        out="<suite>/requests/{benchmark}/{protocol}.parquet",
    log:
        "<suite>/logs/requests/{benchmark}/{protocol}.log",
    localrule: True
    params:
        settings=SUITE.settings("requests/{benchmark}/{protocol}"),
    shell:
        command("requests")
