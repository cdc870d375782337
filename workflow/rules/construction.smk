# The making of a benchmark: raw annotations, candidates, texts by a language model, filters, review by people, a release.


rule construction_source:
    input:
        key="<suite>/keys/construction/{benchmark}/source.json",
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
        command("release")


rule construction_clips:
    input:
        key="<suite>/keys/construction/{benchmark}/clips.json",
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
        command("construction_clips")


use rule sources as construction_sources with:
    input:
        key="<suite>/keys/sources/{benchmark}.json",
        retry="<suite>/keys/retries/{benchmark}/{shard}.json",
        release="<suite>/construction/{benchmark}/source/files.json",
        clips="<suite>/construction/{benchmark}/clips.parquet",
    output:
        out="<suite>/construction/{benchmark}/sources/{shard}.parquet",
    log:
        "<suite>/logs/construction/{benchmark}/sources/{shard}.log",


use rule clips as construction_cuts with:
    input:
        key="<suite>/keys/clips/{benchmark}.json",
        clips="<suite>/construction/{benchmark}/clips.parquet",
        sources="<suite>/construction/{benchmark}/sources/{shard}.parquet",
    output:
        out="<suite>/construction/{benchmark}/clips/{shard}.parquet",
    log:
        "<suite>/logs/construction/{benchmark}/clips/{shard}.log",


use rule facts as construction_facts with:
    input:
        key="<suite>/keys/facts/{benchmark}.json",
        ledgers=SUITE.construction.ledgers,
    output:
        out="<suite>/construction/{benchmark}/facts.parquet",
    log:
        "<suite>/logs/construction/{benchmark}/facts.log",


rule construction_candidates:
    input:
        key="<suite>/keys/construction/{benchmark}/candidates.json",
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
        command("construction_candidates")


rule construction_requests:
    input:
        key="<suite>/keys/construction/{benchmark}/requests.json",
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
        command("construction_requests")


use rule infer as construction_write with:
    input:
        key="<suite>/keys/construction/{benchmark}/writer/{model}.json",
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
        key="<suite>/keys/construction/{benchmark}/samples.json",
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
        command("construction_samples")


rule construction_review:
    input:
        key="<suite>/keys/construction/{benchmark}/review.json",
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
        command("construction_review")


rule construction_release:
    input:
        key="<suite>/keys/construction/{benchmark}/release.json",
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
        command("construction_release")


# MMBench-Video: what annotators fill in, and the filter of questions that one frame answers.


rule construction_guidelines:
    input:
        key="<suite>/keys/construction/{benchmark}/guidelines.json",
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
        command("construction_guidelines")


rule construction_draw:
    input:
        key="<suite>/keys/construction/{benchmark}/draw.json",
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
        command("construction_draw")


rule construction_unfiltered:
    input:
        key="<suite>/keys/construction/{benchmark}/release.json",
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
        command("construction_release")


rule construction_static:
    input:
        key="<suite>/keys/construction/{benchmark}/static.json",
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
        command("construction_static")


rule construction_statistics:
    input:
        key="<suite>/keys/construction/{benchmark}/statistics.json",
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
        command("construction_statistics")


rule construction_subset:
    input:
        key="<suite>/keys/construction/{benchmark}/subset.json",
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
        command("construction_subset")
