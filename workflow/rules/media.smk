# From source videos to clips, what is known of them, and which frames a sampling shows.


rule sources:
    input:
        key="results/{suite}/keys/sources/{benchmark}.json",
        retry="results/{suite}/keys/retries/{benchmark}/{shard}.json",
        release="results/{suite}/release/{benchmark}/files.json",
        clips="results/{suite}/annotations/{benchmark}/clips.parquet",
    output:
        "results/{suite}/sources/{benchmark}/{shard}.parquet",
    log:
        "results/{suite}/logs/sources/{benchmark}/{shard}.log",
    resources:
        downloads=PLAN.downloads,
        runtime=PLAN.stage_minutes,
    shell:
        "{PYTHON:q} -m reprise.stages.sources --key {input.key:q} --release {input.release:q} --clips {input.clips:q}"
        " --shard {wildcards.shard:q} --store {STORE:q} --scratch {SCRATCH:q} --out {output:q} 2> {log:q}"


rule clips:
    input:
        key="results/{suite}/keys/clips/{benchmark}.json",
        clips="results/{suite}/annotations/{benchmark}/clips.parquet",
        sources="results/{suite}/sources/{benchmark}/{shard}.parquet",
    output:
        "results/{suite}/clips/{benchmark}/{shard}.parquet",
    log:
        "results/{suite}/logs/clips/{benchmark}/{shard}.log",
    resources:
        runtime=PLAN.stage_minutes,
    shell:
        "{PYTHON:q} -m reprise.stages.clips --key {input.key:q} --clips {input.clips:q} --sources {input.sources:q}"
        " --shard {wildcards.shard:q} --store {STORE:q} --scratch {SCRATCH:q} --out {output:q} 2> {log:q}"


rule facts:
    input:
        key="results/{suite}/keys/facts/{benchmark}.json",
        ledgers=PLAN.ledgers("clips"),
    output:
        "results/{suite}/facts/{benchmark}.parquet",
    log:
        "results/{suite}/logs/facts/{benchmark}.log",
    resources:
        runtime=PLAN.stage_minutes,
    shell:
        "{PYTHON:q} -m reprise.stages.facts --key {input.key:q} --ledgers {input.ledgers:q} --store {STORE:q}"
        " --out {output:q} 2> {log:q}"


rule frames:
    input:
        key="results/{suite}/keys/frames/{benchmark}/{sampling}.json",
        facts="results/{suite}/facts/{benchmark}.parquet",
        ledgers=PLAN.ledgers("clips"),
    output:
        "results/{suite}/frames/{benchmark}/{sampling}.parquet",
    log:
        "results/{suite}/logs/frames/{benchmark}/{sampling}.log",
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.frames --key {input.key:q} --facts {input.facts:q} --ledgers {input.ledgers:q}"
        " --store {STORE:q} --out {output:q} 2> {log:q}"


rule preview:
    input:
        key="results/{suite}/keys/frames/{benchmark}/{sampling}.json",
        frames="results/{suite}/frames/{benchmark}/{sampling}.parquet",
        ledgers=PLAN.ledgers("clips"),
    output:
        "results/{suite}/frames/preview/{benchmark}/{clip}.{sampling}.png",
    log:
        "results/{suite}/logs/preview/{benchmark}/{clip}.{sampling}.log",
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.preview --key {input.key:q} --frames {input.frames:q} --ledgers {input.ledgers:q}"
        " --store {STORE:q} --clip {wildcards.clip:q} --out {output:q} 2> {log:q}"


rule missing:
    input:
        key="results/{suite}/keys/missing.json",
        ledgers=PLAN.every_ledger,
    output:
        "results/{suite}/sources/missing.md",
    log:
        "results/{suite}/logs/missing.log",
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.missing --key {input.key:q} --out {output:q} 2> {log:q}"
