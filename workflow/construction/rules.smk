# Construction of benchmarks: raw annotations, candidates, texts by a language model, filters, human review, a release.
# Only suites with `construction:` or `subset_search:` include these rules. CONSTRUCTION has their input functions,
# and CONSTRUCT begins the command of each stage of this package.
CONSTRUCTION = SUITE.packages["construction"]
CONSTRUCT = SUITE.stage_command("construction")


wildcard_constraints:
    round=r"\d+",


rule construction_source:
    output:
        out="<suite>/construction/{benchmark}/source/files.json",
    log:
        "<suite>/logs/construction/{benchmark}/source.log",
    wildcard_constraints:
        benchmark=CONSTRUCTION.constructed,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/source"),
    shell:
        RUN + "release --settings {params.settings:q} --out {output.out:q} 2> {log:q}"


rule construction_clips:
    input:
        files="<suite>/construction/{benchmark}/source/files.json",
    output:
        out="<suite>/construction/{benchmark}/clips.parquet",
    log:
        "<suite>/logs/construction/{benchmark}/clips.log",
    wildcard_constraints:
        benchmark=CONSTRUCTION.measured,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/clips"),
    shell:
        CONSTRUCT
        + "clips --settings {params.settings:q} --files {input.files:q} --out {output.out:q} 2> {log:q}"


# Videos are fetched, trimmed and measured as in an evaluation. These rules inherit everything that they do not state.


use rule sources as construction_sources with:
    input:
        release="<suite>/construction/{benchmark}/source/files.json",
        clips="<suite>/construction/{benchmark}/clips.parquet",
    output:
        out="<suite>/construction/{benchmark}/sources/{shard}.parquet",
    log:
        "<suite>/logs/construction/{benchmark}/sources/{shard}.log",
    params:
        settings=SUITE.settings("sources/{benchmark}"),
        retry=CONSTRUCTION.retry_sources,


use rule clips as construction_cuts with:
    input:
        clips="<suite>/construction/{benchmark}/clips.parquet",
        sources="<suite>/construction/{benchmark}/sources/{shard}.parquet",
    output:
        out="<suite>/construction/{benchmark}/clips/{shard}.parquet",
    log:
        "<suite>/logs/construction/{benchmark}/clips/{shard}.log",
    params:
        settings=SUITE.settings("clips/{benchmark}"),
        retry=CONSTRUCTION.retry_clips,


use rule clip_metadata as construction_clip_metadata with:
    input:
        manifests=CONSTRUCTION.manifests,
    output:
        out="<suite>/construction/{benchmark}/clip_metadata.parquet",
    log:
        "<suite>/logs/construction/{benchmark}/clip_metadata.log",
    params:
        settings=SUITE.settings("clip_metadata/{benchmark}"),


rule construction_candidates:
    input:
        files="<suite>/construction/{benchmark}/source/files.json",
        clip_metadata=CONSTRUCTION.clip_metadata,
    output:
        out=[
            "<suite>/construction/{benchmark}/pool.parquet",
            "<suite>/construction/{benchmark}/texts.parquet",
            "<suite>/construction/{benchmark}/candidates.parquet",
        ],
    log:
        "<suite>/logs/construction/{benchmark}/candidates.log",
    wildcard_constraints:
        benchmark=CONSTRUCTION.constructed,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/candidates"),
    shell:
        CONSTRUCT
        + "candidates --settings {params.settings:q} --files {input.files:q} --clip-metadata {input.clip_metadata:q} "
        "--out {output.out:q} 2> {log:q}"


rule construction_requests:
    input:
        tables=CONSTRUCTION.tables("texts", "candidates"),
        replies=CONSTRUCTION.earlier_replies,
    output:
        out="<suite>/construction/{benchmark}/requests/{model}/{round}.parquet",
    log:
        "<suite>/logs/construction/{benchmark}/requests/{model}/{round}.log",
    wildcard_constraints:
        benchmark=CONSTRUCTION.constructed,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/requests"),
    shell:
        CONSTRUCT
        + "requests --settings {params.settings:q} --model {wildcards.model:q} --tables {input.tables:q} "
        "--replies {input.replies:q} --out {output.out:q} 2> {log:q}"


# A writer runs like any model: this rule takes threads, resources, other params and the command from `infer`.


use rule infer as construction_write with:
    input:
        requests="<suite>/construction/{benchmark}/requests/{model}/{round}.parquet",
        frames=[],
        manifests=[],
        prerequisites=SUITE.inference.prerequisites,
    output:
        responses="<suite>/construction/{benchmark}/replies/{model}/{round}.parquet",
        timings="<suite>/construction/{benchmark}/replies/{model}/{round}.timings.parquet",
    log:
        "<suite>/logs/construction/{benchmark}/write/{model}/{round}.log",
    wildcard_constraints:
        benchmark=CONSTRUCTION.constructed,
    group:
        "writing_{benchmark}_{model}_{round}"
    params:
        settings=SUITE.settings("construction/{benchmark}/writer/{model}"),
        retry=CONSTRUCTION.retry_replies,


rule construction_samples:
    input:
        tables=CONSTRUCTION.tables("pool", "texts", "candidates"),
        replies=CONSTRUCTION.all_replies,
    output:
        out=[
            "<suite>/construction/{benchmark}/written.parquet",
            "<suite>/construction/{benchmark}/samples.parquet",
        ],
    log:
        "<suite>/logs/construction/{benchmark}/samples.log",
    wildcard_constraints:
        benchmark=CONSTRUCTION.constructed,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/samples"),
    shell:
        CONSTRUCT
        + "samples --settings {params.settings:q} --tables {input.tables:q} --replies {input.replies:q} "
        "--out {output.out:q} 2> {log:q}"


rule construction_review:
    input:
        tables=CONSTRUCTION.tables("pool", "texts", "written", "samples"),
        verdicts=CONSTRUCTION.verdicts,
    output:
        out=[
            "<suite>/construction/{benchmark}/reviewed.parquet",
            "<suite>/construction/{benchmark}/votes.parquet",
        ],
        tasks="<suite>/construction/{benchmark}/review/tasks.csv",
        json="<suite>/construction/{benchmark}/review/tasks.json",
        form="<suite>/construction/{benchmark}/review/template.xml",
        problems="<suite>/construction/{benchmark}/review/problems.csv",
    log:
        "<suite>/logs/construction/{benchmark}/review.log",
    wildcard_constraints:
        benchmark=CONSTRUCTION.constructed,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/review"),
    shell:
        CONSTRUCT
        + "review --settings {params.settings:q} --tables {input.tables:q} --tasks {output.tasks:q} "
        "--json {output.json:q} --form {output.form:q} --problems {output.problems:q} --out {output.out:q} "
        "2> {log:q}"


rule construction_release:
    input:
        tables=CONSTRUCTION.release_tables,
        sets=CONSTRUCTION.sampled_sets,
    output:
        out="<suite>/release/{benchmark}/files.json",
    log:
        "<suite>/logs/construction/{benchmark}/release.log",
    wildcard_constraints:
        benchmark=CONSTRUCTION.constructed,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/release"),
    shell:
        CONSTRUCT
        + "release --settings {params.settings:q} --tables {input.tables:q} --sets {input.sets:q} "
        "--out {output.out:q} 2> {log:q}"


# MMBench-Video: the annotators' files, and the filter of questions that one frame answers.


rule construction_guidelines:
    input:
        tables=CONSTRUCTION.tables("pool"),
    output:
        guidelines="<suite>/construction/{benchmark}/annotation/guidelines.md",
        tasks="<suite>/construction/{benchmark}/annotation/questions.csv",
    log:
        "<suite>/logs/construction/{benchmark}/guidelines.log",
    wildcard_constraints:
        benchmark=CONSTRUCTION.constructed,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/guidelines"),
    shell:
        CONSTRUCT
        + "guidelines --settings {params.settings:q} --tables {input.tables:q} "
        "--guidelines {output.guidelines:q} --tasks {output.tasks:q} 2> {log:q}"


rule construction_draw:
    input:
        file=CONSTRUCTION.video_set_file,
    output:
        out="<suite>/construction/{benchmark}/sets/{set}.csv",
    log:
        "<suite>/logs/construction/{benchmark}/sets/{set}.log",
    wildcard_constraints:
        benchmark=CONSTRUCTION.constructed,
        set=CONSTRUCTION.sets,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/draw"),
    shell:
        CONSTRUCT
        + "draw --settings {params.settings:q} --set {wildcards.set:q} --file {input.file:q} "
        "--out {output.out:q} 2> {log:q}"


rule construction_unfiltered:
    input:
        tables=CONSTRUCTION.tables("reviewed"),
        sets=[],
    output:
        out="<suite>/release/{benchmark}-unfiltered/files.json",
    log:
        "<suite>/logs/construction/{benchmark}/unfiltered.log",
    wildcard_constraints:
        benchmark=CONSTRUCTION.with_static_filter,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/release"),
    shell:
        CONSTRUCT
        + "release --settings {params.settings:q} --tables {input.tables:q} --sets {input.sets:q} "
        "--out {output.out:q} 2> {log:q}"


rule construction_static:
    input:
        reviewed=CONSTRUCTION.tables("reviewed"),
        ratings=CONSTRUCTION.ratings,
        checks=CONSTRUCTION.manual_check_files,
    output:
        out="<suite>/construction/{benchmark}/static.parquet",
        tasks="<suite>/construction/{benchmark}/review/static.csv",
        problems="<suite>/construction/{benchmark}/review/static_problems.csv",
    log:
        "<suite>/logs/construction/{benchmark}/static.log",
    wildcard_constraints:
        benchmark=CONSTRUCTION.with_static_filter,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/static"),
    shell:
        CONSTRUCT
        + "static --settings {params.settings:q} --reviewed {input.reviewed:q} --ratings {input.ratings:q} "
        "--tasks {output.tasks:q} --problems {output.problems:q} --out {output.out:q} 2> {log:q}"


rule construction_statistics:
    input:
        tables=CONSTRUCTION.statistics_tables,
    output:
        statistics="<suite>/construction/{benchmark}/statistics.parquet",
        csv="<suite>/construction/{benchmark}/statistics.csv",
        md="<suite>/construction/{benchmark}/statistics.md",
        filters="<suite>/construction/{benchmark}/filters.csv",
    log:
        "<suite>/logs/construction/{benchmark}/statistics.log",
    wildcard_constraints:
        benchmark=CONSTRUCTION.constructed,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/statistics"),
    shell:
        CONSTRUCT
        + "statistics --settings {params.settings:q} --tables {input.tables:q} --filters {output.filters:q} "
        "--csv {output.csv:q} --md {output.md:q} --statistics {output.statistics:q} 2> {log:q}"


rule construction_subset:
    input:
        item_table="<suite>/annotations/{benchmark}/items.parquet",
        verdicts=CONSTRUCTION.subset_verdicts,
    output:
        rows="<suite>/construction/{benchmark}/subset/{model}.csv",
        score_table="<suite>/construction/{benchmark}/subset/{model}.scores.csv",
    log:
        "<suite>/logs/construction/{benchmark}/subset/{model}.log",
    wildcard_constraints:
        benchmark=CONSTRUCTION.with_subset_search,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/subset"),
    shell:
        CONSTRUCT
        + "subset --settings {params.settings:q} --item-table {input.item_table:q} --verdicts {input.verdicts:q} "
        "--score-table {output.score_table:q} --rows {output.rows:q} 2> {log:q}"
