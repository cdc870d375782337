# From source videos to clips, what is known of them, and which frames a sampling shows.


rule sources:
    input:
        key="<suite>/keys/sources/{benchmark}.json",
        retry="<suite>/keys/retries/{benchmark}/{shard}.json",
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
    shell:
        command("sources")


rule clips:
    input:
        key="<suite>/keys/clips/{benchmark}.json",
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
    shell:
        command("clips")


rule facts:
    input:
        key="<suite>/keys/facts/{benchmark}.json",
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
        command("facts")


rule frames:
    input:
        key="<suite>/keys/frames/{benchmark}/{sampling}.json",
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
        command("frames")


rule preview:
    input:
        key="<suite>/keys/frames/{benchmark}/{sampling}.json",
        frames="<suite>/frames/{benchmark}/{sampling}.parquet",
        ledgers=SUITE.media.clips,
    output:
        out="<suite>/frames/preview/{benchmark}/{clip}.{sampling}.png",
    log:
        "<suite>/logs/preview/{benchmark}/{clip}.{sampling}.log",
    localrule: True
    shell:
        command("preview")


rule missing:
    input:
        key="<suite>/keys/missing.json",
        ledgers=SUITE.media.every_ledger,
    output:
        out="<suite>/sources/missing.md",
    log:
        "<suite>/logs/missing.log",
    localrule: True
    shell:
        command("missing")
