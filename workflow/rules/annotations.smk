# Convert a release in its authors' layout to clips, items and filled prompts.


# Fetch or locate the files of a release, and list them with their digests.
rule release:
    output:
        out="<suite>/release/{benchmark}/files.json",
    log:
        "<suite>/logs/release/{benchmark}.log",
    wildcard_constraints:
        benchmark=SUITE.annotations.released_benchmarks,
    localrule: True
    params:
        settings=SUITE.settings("release/{benchmark}"),
    shell:
        RUN + "release --settings {params.settings:q} --out {output.out:q} 2> {log:q}"


rule annotations:
    input:
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
        RUN
        + "annotations --settings {params.settings:q} --release {input.release:q} --clips {output.clips:q} "
        "--item-table {output.item_table:q} 2> {log:q}"


rule statistics:
    input:
        clips="<suite>/annotations/{benchmark}/clips.parquet",
        item_table="<suite>/annotations/{benchmark}/items.parquet",
        clip_metadata=SUITE.annotations.clip_metadata,
    output:
        out="<suite>/statistics/{benchmark}.parquet",
    log:
        "<suite>/logs/statistics/{benchmark}.log",
    localrule: True
    params:
        settings=SUITE.settings("statistics/{benchmark}"),
    shell:
        RUN
        + "data_statistics --settings {params.settings:q} --item-table {input.item_table:q} --clips {input.clips:q} "
        "--clip-metadata {input.clip_metadata:q} --out {output.out:q} 2> {log:q}"


rule requests:
    input:
        item_table="<suite>/annotations/{benchmark}/items.parquet",
    output:
        out="<suite>/requests/{benchmark}/{protocol}.parquet",
    log:
        "<suite>/logs/requests/{benchmark}/{protocol}.log",
    localrule: True
    params:
        settings=SUITE.settings("requests/{benchmark}/{protocol}"),
    shell:
        RUN
        + "requests --settings {params.settings:q} --item-table {input.item_table:q} --out {output.out:q} 2> {log:q}"
