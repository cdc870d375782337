# The making of a benchmark: raw annotations, candidates, texts by a language model, filters, review by people, a release.


rule construction_source:
    output:
        out="<suite>/construction/{benchmark}/source/files.json",
    log:
        "<suite>/logs/construction/{benchmark}/source.log",
    wildcard_constraints:
        benchmark=SUITE.construction.here,
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
        benchmark=SUITE.construction.measured,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/clips"),
    shell:
        RUN + "construction_clips --settings {params.settings:q} --files {input.files:q} --out {output.out:q} 2> {log:q}"


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


use rule facts as construction_facts with:
    input:
        ledgers=SUITE.construction.ledgers,
    output:
        out="<suite>/construction/{benchmark}/facts.parquet",
    log:
        "<suite>/logs/construction/{benchmark}/facts.log",
    params:
        settings=SUITE.settings("facts/{benchmark}"),


rule construction_candidates:
    input:
        files="<suite>/construction/{benchmark}/source/files.json",
        facts=SUITE.construction.facts,
    output:
        out=[
            "<suite>/construction/{benchmark}/pool.parquet",
            "<suite>/construction/{benchmark}/texts.parquet",
            "<suite>/construction/{benchmark}/candidates.parquet",
        ],
    log:
        "<suite>/logs/construction/{benchmark}/candidates.log",
    wildcard_constraints:
        benchmark=SUITE.construction.here,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/candidates"),
    shell:
        RUN + "construction_candidates --settings {params.settings:q} --files {input.files:q} --facts {input.facts:q} "
        "--out {output.out:q} 2> {log:q}"


rule construction_requests:
    input:
        tables=SUITE.construction.tables("texts", "candidates"),
        replies=SUITE.construction.rounds_before,
    output:
        out="<suite>/construction/{benchmark}/requests/{model}/{round}.parquet",
    log:
        "<suite>/logs/construction/{benchmark}/requests/{model}/{round}.log",
    wildcard_constraints:
        benchmark=SUITE.construction.here,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/requests"),
    shell:
        RUN + "construction_requests --settings {params.settings:q} --model {wildcards.model:q} --tables {input.tables:q} "
        "--replies {input.replies:q} --out {output.out:q} 2> {log:q}"


use rule infer as construction_write with:
    input:
        requests="<suite>/construction/{benchmark}/requests/{model}/{round}.parquet",
        frames=[],
        ledgers=[],
        notes=SUITE.inference.notes,
    output:
        responses="<suite>/construction/{benchmark}/replies/{model}/{round}.parquet",
        timings="<suite>/construction/{benchmark}/replies/{model}/{round}.timings.parquet",
    log:
        "<suite>/logs/construction/{benchmark}/write/{model}/{round}.log",
    wildcard_constraints:
        benchmark=SUITE.construction.here,
    params:
        settings=SUITE.settings("construction/{benchmark}/writer/{model}"),


rule construction_samples:
    input:
        tables=SUITE.construction.tables("pool", "texts", "candidates"),
        replies=SUITE.construction.every_round,
    output:
        out=[
            "<suite>/construction/{benchmark}/written.parquet",
            "<suite>/construction/{benchmark}/samples.parquet",
        ],
    log:
        "<suite>/logs/construction/{benchmark}/samples.log",
    wildcard_constraints:
        benchmark=SUITE.construction.here,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/samples"),
    shell:
        RUN + "construction_samples --settings {params.settings:q} --tables {input.tables:q} --replies {input.replies:q} "
        "--out {output.out:q} 2> {log:q}"


rule construction_review:
    input:
        tables=SUITE.construction.tables("pool", "texts", "written", "samples"),
        verdicts=SUITE.construction.verdicts,
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
        benchmark=SUITE.construction.here,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/review"),
    shell:
        RUN + "construction_review --settings {params.settings:q} --tables {input.tables:q} --tasks {output.tasks:q} "
        "--json {output.json:q} --form {output.form:q} --problems {output.problems:q} --out {output.out:q} "
        "2> {log:q}"


rule construction_release:
    input:
        tables=SUITE.construction.released,
        sets=SUITE.construction.drawn,
    output:
        out="<suite>/release/{benchmark}/files.json",
    log:
        "<suite>/logs/construction/{benchmark}/release.log",
    wildcard_constraints:
        benchmark=SUITE.construction.here,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/release"),
    shell:
        RUN + "construction_release --settings {params.settings:q} --tables {input.tables:q} --sets {input.sets:q} "
        "--out {output.out:q} 2> {log:q}"


# MMBench-Video: what annotators fill in, and the filter of questions that one frame answers.


rule construction_guidelines:
    input:
        tables=SUITE.construction.tables("pool"),
    output:
        guidelines="<suite>/construction/{benchmark}/annotation/guidelines.md",
        tasks="<suite>/construction/{benchmark}/annotation/questions.csv",
    log:
        "<suite>/logs/construction/{benchmark}/guidelines.log",
    wildcard_constraints:
        benchmark=SUITE.construction.here,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/guidelines"),
    shell:
        RUN + "construction_guidelines --settings {params.settings:q} --tables {input.tables:q} "
        "--guidelines {output.guidelines:q} --tasks {output.tasks:q} 2> {log:q}"


rule construction_draw:
    input:
        file=SUITE.construction.set_file,
    output:
        out="<suite>/construction/{benchmark}/sets/{set}.csv",
    log:
        "<suite>/logs/construction/{benchmark}/sets/{set}.log",
    wildcard_constraints:
        benchmark=SUITE.construction.here,
        set=SUITE.construction.sets,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/draw"),
    shell:
        RUN + "construction_draw --settings {params.settings:q} --set {wildcards.set:q} --file {input.file:q} "
        "--out {output.out:q} 2> {log:q}"


rule construction_unfiltered:
    input:
        tables=SUITE.construction.tables("reviewed"),
        sets=[],
    output:
        out="<suite>/release/{benchmark}-unfiltered/files.json",
    log:
        "<suite>/logs/construction/{benchmark}/unfiltered.log",
    wildcard_constraints:
        benchmark=SUITE.construction.filtered,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/release"),
    shell:
        RUN + "construction_release --settings {params.settings:q} --tables {input.tables:q} --sets {input.sets:q} "
        "--out {output.out:q} 2> {log:q}"


rule construction_static:
    input:
        reviewed=SUITE.construction.tables("reviewed"),
        ratings=SUITE.construction.ratings,
        checks=SUITE.construction.checks_by_hand,
    output:
        out="<suite>/construction/{benchmark}/static.parquet",
        tasks="<suite>/construction/{benchmark}/review/static.csv",
        problems="<suite>/construction/{benchmark}/review/static_problems.csv",
    log:
        "<suite>/logs/construction/{benchmark}/static.log",
    wildcard_constraints:
        benchmark=SUITE.construction.filtered,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/static"),
    shell:
        RUN + "construction_static --settings {params.settings:q} --reviewed {input.reviewed:q} --ratings {input.ratings:q} "
        "--tasks {output.tasks:q} --problems {output.problems:q} --out {output.out:q} 2> {log:q}"


rule construction_statistics:
    input:
        tables=SUITE.construction.counted,
    output:
        statistics="<suite>/construction/{benchmark}/statistics.parquet",
        csv="<suite>/construction/{benchmark}/statistics.csv",
        md="<suite>/construction/{benchmark}/statistics.md",
        filters="<suite>/construction/{benchmark}/filters.csv",
    log:
        "<suite>/logs/construction/{benchmark}/statistics.log",
    wildcard_constraints:
        benchmark=SUITE.construction.here,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/statistics"),
    shell:
        RUN + "construction_statistics --settings {params.settings:q} --tables {input.tables:q} --filters {output.filters:q} "
        "--csv {output.csv:q} --md {output.md:q} --statistics {output.statistics:q} 2> {log:q}"


rule construction_subset:
    input:
        item_table="<suite>/annotations/{benchmark}/items.parquet",
        verdicts=SUITE.construction.subset_verdicts,
    output:
        rows="<suite>/construction/{benchmark}/subset/{model}.csv",
        score_table="<suite>/construction/{benchmark}/subset/{model}.scores.csv",
    log:
        "<suite>/logs/construction/{benchmark}/subset/{model}.log",
    wildcard_constraints:
        benchmark=SUITE.construction.searched,
    localrule: True
    params:
        settings=SUITE.settings("construction/{benchmark}/subset"),
    shell:
        RUN + "construction_subset --settings {params.settings:q} --item-table {input.item_table:q} --verdicts {input.verdicts:q} "
        "--score-table {output.score_table:q} --rows {output.rows:q} 2> {log:q}"
