# Fetch source videos, cut clips, measure clip metadata, and plan the frames that each sampling selects.


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


rule clip_metadata:
    input:
        manifests=SUITE.media.clip_manifests,
    output:
        out="<suite>/clip_metadata/{benchmark}.parquet",
    log:
        "<suite>/logs/clip_metadata/{benchmark}.log",
    resources:
        runtime=SUITE.inference.stage_minutes,
    params:
        settings=SUITE.settings("clip_metadata/{benchmark}"),
    shell:
        RUN
        + "clip_metadata --settings {params.settings:q} --manifests {input.manifests:q} --threads {threads:q} "
        "--out {output.out:q} 2> {log:q}"


rule frames:
    input:
        clip_metadata="<suite>/clip_metadata/{benchmark}.parquet",
        manifests=SUITE.media.clip_manifests,
    output:
        out="<suite>/frames/{benchmark}/{sampling}.parquet",
    log:
        "<suite>/logs/frames/{benchmark}/{sampling}.log",
    localrule: True
    params:
        settings=SUITE.settings("frames/{benchmark}/{sampling}"),
    shell:
        RUN
        + "frames --settings {params.settings:q} --clip-metadata {input.clip_metadata:q} "
        "--manifests {input.manifests:q} --out {output.out:q} 2> {log:q}"


rule preview:
    input:
        frames="<suite>/frames/{benchmark}/{sampling}.parquet",
        manifests=SUITE.media.clip_manifests,
    output:
        out="<suite>/frames/preview/{benchmark}/{clip}.{sampling}.png",
    log:
        "<suite>/logs/preview/{benchmark}/{clip}.{sampling}.log",
    localrule: True
    params:
        # The frame plan's settings, and the version of this stage.
        settings=SUITE.settings("frames/{benchmark}/{sampling}"),
        version=SUITE.settings("preview"),
    shell:
        RUN
        + "preview --settings {params.settings:q} --version {params.version:q} --frames {input.frames:q} "
        "--manifests {input.manifests:q} --clip {wildcards.clip:q} --out {output.out:q} 2> {log:q}"


rule missing:
    input:
        manifests=SUITE.media.all_manifests,
    output:
        out="<suite>/sources/missing.md",
    log:
        "<suite>/logs/missing.log",
    localrule: True
    params:
        settings=SUITE.settings("missing"),
    shell:
        RUN
        + "missing --settings {params.settings:q} --manifests {input.manifests:q} --out {output.out:q} 2> {log:q}"
