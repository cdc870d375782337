# From source videos to clips, what is known of them, and which frames a sampling shows.


rule sources:
    input:
        release="<suite>/release/{benchmark}/files.json",
        clips="<suite>/annotations/{benchmark}/clips.parquet",
    output:
        out="<suite>/sources/{benchmark}/{shard}.parquet",
    log:
        "<suite>/logs/sources/{benchmark}/{shard}.log",
    resources:
        downloads=SUITE.media.downloads,
        runtime=SUITE.inference.stage_minutes,
    params:
        settings=SUITE.settings("sources/{benchmark}"),
        retry=SUITE.media.retry_sources,
    shell:
        RUN
        + "sources --settings {params.settings:q} --release {input.release:q} --clips {input.clips:q} "
        "--shard {wildcards.shard:q} --out {output.out:q} --retry {params.retry:q} 2> {log:q}"


rule clips:
    input:
        clips="<suite>/annotations/{benchmark}/clips.parquet",
        sources="<suite>/sources/{benchmark}/{shard}.parquet",
    output:
        out="<suite>/clips/{benchmark}/{shard}.parquet",
    log:
        "<suite>/logs/clips/{benchmark}/{shard}.log",
    resources:
        runtime=SUITE.inference.stage_minutes,
    params:
        settings=SUITE.settings("clips/{benchmark}"),
        retry=SUITE.media.retry_clips,
    shell:
        RUN
        + "clips --settings {params.settings:q} --clips {input.clips:q} --sources {input.sources:q} "
        "--shard {wildcards.shard:q} --out {output.out:q} --retry {params.retry:q} 2> {log:q}"


rule facts:
    input:
        ledgers=SUITE.media.clips,
    output:
        out="<suite>/facts/{benchmark}.parquet",
    log:
        "<suite>/logs/facts/{benchmark}.log",
    resources:
        runtime=SUITE.inference.stage_minutes,
    params:
        settings=SUITE.settings("facts/{benchmark}"),
    shell:
        RUN
        + "facts --settings {params.settings:q} --ledgers {input.ledgers:q} --threads {threads:q} --out {output.out:q} "
        "2> {log:q}"


rule frames:
    input:
        facts="<suite>/facts/{benchmark}.parquet",
        ledgers=SUITE.media.clips,
    output:
        out="<suite>/frames/{benchmark}/{sampling}.parquet",
    log:
        "<suite>/logs/frames/{benchmark}/{sampling}.log",
    localrule: True
    params:
        settings=SUITE.settings("frames/{benchmark}/{sampling}"),
    shell:
        RUN
        + "frames --settings {params.settings:q} --facts {input.facts:q} --ledgers {input.ledgers:q} --out {output.out:q} "
        "2> {log:q}"


rule preview:
    input:
        frames="<suite>/frames/{benchmark}/{sampling}.parquet",
        ledgers=SUITE.media.clips,
    output:
        out="<suite>/frames/preview/{benchmark}/{clip}.{sampling}.png",
    log:
        "<suite>/logs/preview/{benchmark}/{clip}.{sampling}.log",
    localrule: True
    params:
        settings=SUITE.settings("frames/{benchmark}/{sampling}"),
        version=SUITE.settings("preview"),
    shell:
        RUN
        + "preview --settings {params.settings:q} --version {params.version:q} --frames {input.frames:q} --ledgers {input.ledgers:q} "
        "--clip {wildcards.clip:q} --out {output.out:q} 2> {log:q}"


rule missing:
    input:
        ledgers=SUITE.media.every_ledger,
    output:
        out="<suite>/sources/missing.md",
    log:
        "<suite>/logs/missing.log",
    localrule: True
    params:
        settings=SUITE.settings("missing"),
    shell:
        RUN
        + "missing --settings {params.settings:q} --ledgers {input.ledgers:q} --out {output.out:q} 2> {log:q}"
