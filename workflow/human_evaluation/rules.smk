# Human evaluation: surveys for groups of annotators, their answers as a run, and statistics of their answers. The rule
# judged_metrics compares judges with the ratings of annotators. Only suites with `annotators:` include these rules.
# HUMAN_EVALUATION has their input functions. SURVEY begins the command of each stage of this package.
HUMAN_EVALUATION = SUITE.packages["human_evaluation"]
SURVEY = SUITE.stage_command("human_evaluation")


wildcard_constraints:
    group=HUMAN_EVALUATION.groups,


# Answers of annotators take precedence over imported files in the authors' formats.
ruleorder: human_answers > import_answers


rule human_answers:
    input:
        item_table=HUMAN_EVALUATION.items_of_run,
        requests=HUMAN_EVALUATION.requests_of_run,
        files=HUMAN_EVALUATION.files_of_run,
    output:
        out="<suite>/responses/{run}.parquet",
        problems="<suite>/responses/{run}.problems.csv",
    log:
        "<suite>/logs/human_answers/{run}.log",
    wildcard_constraints:
        run=HUMAN_EVALUATION.answered_runs,
    localrule: True
    params:
        settings=SUITE.settings("{run}"),
    shell:
        SURVEY
        + "answers --settings {params.settings:q} --item-table {input.item_table:q} --requests {input.requests:q} "
        "--files {input.files:q} --out {output.out:q} --problems {output.problems:q} 2> {log:q}"


rule human_rated:
    input:
        item_table="<suite>/annotations/{benchmark}/items.parquet",
        answers=HUMAN_EVALUATION.answers,
    output:
        out="<suite>/human_evaluation/{benchmark}/{group}/rated.parquet",
    log:
        "<suite>/logs/human_evaluation/{benchmark}/{group}/rated.log",
    wildcard_constraints:
        group=HUMAN_EVALUATION.rating_groups,
    localrule: True
    params:
        settings=SUITE.settings("human_evaluation/{benchmark}/{group}/rated"),
    shell:
        SURVEY
        + "rated --settings {params.settings:q} --item-table {input.item_table:q} --answers {input.answers:q} "
        "--out {output.out:q} 2> {log:q}"


rule human_ratings:
    input:
        requests=HUMAN_EVALUATION.requests,
        files=HUMAN_EVALUATION.files,
    output:
        csv="<suite>/human_evaluation/{benchmark}/{group}/ratings.csv",
        problems="<suite>/human_evaluation/{benchmark}/{group}/problems.csv",
    log:
        "<suite>/logs/human_evaluation/{benchmark}/{group}/ratings.log",
    wildcard_constraints:
        group=HUMAN_EVALUATION.rating_groups,
    localrule: True
    params:
        settings=SUITE.settings("human_evaluation/{benchmark}/{group}/ratings"),
    shell:
        SURVEY
        + "ratings --settings {params.settings:q} --requests {input.requests:q} --csv {output.csv:q} "
        "--problems {output.problems:q} 2> {log:q}"


rule human_surveys:
    input:
        requests=HUMAN_EVALUATION.requests,
        frames=HUMAN_EVALUATION.frames,
        manifests=SUITE.media.clip_manifests,
        qualification=HUMAN_EVALUATION.qualification_files,
    output:
        csv="<suite>/human_evaluation/{benchmark}/{group}/surveys.csv",
        form="<suite>/human_evaluation/{benchmark}/{group}/template.xml",
    log:
        "<suite>/logs/human_evaluation/{benchmark}/{group}/surveys.log",
    localrule: True
    params:
        settings=SUITE.settings("human_evaluation/{benchmark}/{group}/surveys"),
    shell:
        SURVEY
        + "surveys --settings {params.settings:q} --requests {input.requests:q} --frames {input.frames:q} "
        "--manifests {input.manifests:q} --csv {output.csv:q} --form {output.form:q} 2> {log:q}"


rule human_tasks:
    input:
        surveys="<suite>/human_evaluation/{benchmark}/{group}/surveys.csv",
    output:
        out="<suite>/human_evaluation/{benchmark}/{group}/tasks-{survey}.json",
    log:
        "<suite>/logs/human_evaluation/{benchmark}/{group}/tasks-{survey}.log",
    wildcard_constraints:
        survey=r"[1-9]\d*|qualification",
    localrule: True
    params:
        settings=SUITE.settings("human_tasks"),
    shell:
        SURVEY
        + "tasks --settings {params.settings:q} --surveys {input.surveys:q} --survey {wildcards.survey:q} "
        "--out {output.out:q} 2> {log:q}"


rule human_statistics:
    input:
        requests=HUMAN_EVALUATION.requests,
        files=HUMAN_EVALUATION.files,
    output:
        csv="<suite>/human_evaluation/{benchmark}/{group}/statistics.csv",
        md="<suite>/human_evaluation/{benchmark}/{group}/statistics.md",
        workers="<suite>/human_evaluation/{benchmark}/{group}/workers.csv",
    log:
        "<suite>/logs/human_evaluation/{benchmark}/{group}/statistics.log",
    localrule: True
    params:
        settings=SUITE.settings("human_evaluation/{benchmark}/{group}/statistics"),
    shell:
        SURVEY
        + "statistics --settings {params.settings:q} --requests {input.requests:q} --csv {output.csv:q} "
        "--md {output.md:q} --workers {output.workers:q} 2> {log:q}"
