# From source videos to clips, what is known of them, and which frames a sampling shows.


rule sources:
    input:
        key="<suite>/keys/sources/{benchmark}.json",
        retry="<suite>/keys/retries/{benchmark}/{shard}.json",
        release="<suite>/release/{benchmark}/files.json",
        clips="<suite>/annotations/{benchmark}/clips.parquet",
    output:
        "<suite>/sources/{benchmark}/{shard}.parquet",
    log:
        "<suite>/logs/sources/{benchmark}/{shard}.log",
    resources:
        downloads=PLAN.downloads,
        runtime=PLAN.stage_minutes,
    shell:
        "{PYTHON:q} -m reprise.stages.sources --key {input.key:q} --release {input.release:q} --clips {input.clips:q}"
        " --shard {wildcards.shard:q} --store {STORE:q} --scratch {SCRATCH:q} --out {output:q} 2> {log:q}"


rule clips:
    input:
        key="<suite>/keys/clips/{benchmark}.json",
        clips="<suite>/annotations/{benchmark}/clips.parquet",
        sources="<suite>/sources/{benchmark}/{shard}.parquet",
    output:
        "<suite>/clips/{benchmark}/{shard}.parquet",
    log:
        "<suite>/logs/clips/{benchmark}/{shard}.log",
    resources:
        runtime=PLAN.stage_minutes,
    shell:
        "{PYTHON:q} -m reprise.stages.clips --key {input.key:q} --clips {input.clips:q} --sources {input.sources:q}"
        " --shard {wildcards.shard:q} --store {STORE:q} --scratch {SCRATCH:q} --out {output:q} 2> {log:q}"


rule facts:
    input:
        key="<suite>/keys/facts/{benchmark}.json",
        ledgers=PLAN.ledgers("clips"),
    output:
        "<suite>/facts/{benchmark}.parquet",
    log:
        "<suite>/logs/facts/{benchmark}.log",
    resources:
        runtime=PLAN.stage_minutes,
    shell:
        "{PYTHON:q} -m reprise.stages.facts --key {input.key:q} --ledgers {input.ledgers:q} --store {STORE:q}"
        " --out {output:q} 2> {log:q}"


rule frames:
    input:
        key="<suite>/keys/frames/{benchmark}/{sampling}.json",
        facts="<suite>/facts/{benchmark}.parquet",
        ledgers=PLAN.ledgers("clips"),
    output:
        "<suite>/frames/{benchmark}/{sampling}.parquet",
    log:
        "<suite>/logs/frames/{benchmark}/{sampling}.log",
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.frames --key {input.key:q} --facts {input.facts:q} --ledgers {input.ledgers:q}"
        " --store {STORE:q} --out {output:q} 2> {log:q}"


rule preview:
    input:
        key="<suite>/keys/frames/{benchmark}/{sampling}.json",
        frames="<suite>/frames/{benchmark}/{sampling}.parquet",
        ledgers=PLAN.ledgers("clips"),
    output:
        "<suite>/frames/preview/{benchmark}/{clip}.{sampling}.png",
    log:
        "<suite>/logs/preview/{benchmark}/{clip}.{sampling}.log",
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.preview --key {input.key:q} --frames {input.frames:q} --ledgers {input.ledgers:q}"
        " --store {STORE:q} --clip {wildcards.clip:q} --out {output:q} 2> {log:q}"


rule missing:
    input:
        key="<suite>/keys/missing.json",
        ledgers=PLAN.every_ledger,
    output:
        "<suite>/sources/missing.md",
    log:
        "<suite>/logs/missing.log",
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.missing --key {input.key:q} --out {output:q} 2> {log:q}"
