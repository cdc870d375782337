# From a release in its authors' layout to clips, items and filled prompts.


rule release:
    input:
        key="<suite>/keys/release/{benchmark}.json",
    output:
        "<suite>/release/{benchmark}/files.json",
    log:
        "<suite>/logs/release/{benchmark}.log",
    wildcard_constraints:
        benchmark=PLAN.made.elsewhere(),
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.release --key {input.key:q} --store {STORE:q} --out {output:q} 2> {log:q}"


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
    shell:
        "{PYTHON:q} -m reprise.stages.annotations --key {input.key:q} --release {input.release:q}"
        " --clips {output.clips:q} --items {output.item_table:q} 2> {log:q}"


rule statistics:
    input:
        key="<suite>/keys/statistics/{benchmark}.json",
        clips="<suite>/annotations/{benchmark}/clips.parquet",
        item_table="<suite>/annotations/{benchmark}/items.parquet",
        facts=PLAN.statistics_facts,
    output:
        "<suite>/statistics/{benchmark}.parquet",
    log:
        "<suite>/logs/statistics/{benchmark}.log",
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.data_statistics --key {input.key:q} --clips {input.clips:q} --items {input.item_table:q}"
        " --facts {input.facts:q} --out {output:q} 2> {log:q}"


rule requests:
    input:
        key="<suite>/keys/requests/{benchmark}/{protocol}.json",
        item_table="<suite>/annotations/{benchmark}/items.parquet",
    output:
        "<suite>/requests/{benchmark}/{protocol}.parquet",
    log:
        "<suite>/logs/requests/{benchmark}/{protocol}.log",
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.requests --key {input.key:q} --items {input.item_table:q} --out {output:q} 2> {log:q}"
