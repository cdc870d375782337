# Human evaluation: surveys for groups of annotators, their answers as a run, and statistics of their answers.
# Judges are measured against their ratings of models' answers (judged_metrics). Only suites with `people:` include
# these rules. PEOPLE has their input functions, and SURVEY is the start of a command of this package.
PEOPLE = SUITE.packages["human_evaluation"]
SURVEY = SUITE.stage_command("human_evaluation")


wildcard_constraints:
    group=PEOPLE.groups,


# If annotators have answered a run, its answers are not imported from files in the authors' formats.
ruleorder: people_answers > import_answers


rule people_answers:
    input:
        item_table=PEOPLE.items_of_run,
        requests=PEOPLE.requests_of_run,
        files=PEOPLE.files_of_run,
    output:
        out="<suite>/responses/{run}.parquet",
        problems="<suite>/responses/{run}.problems.csv",
    log:
        "<suite>/logs/people_answers/{run}.log",
    wildcard_constraints:
        run=PEOPLE.answered_runs,
    localrule: True
    params:
        settings=SUITE.settings("{run}"),
    shell:
        SURVEY
        + "answers --settings {params.settings:q} --item-table {input.item_table:q} --requests {input.requests:q} "
        "--files {input.files:q} --out {output.out:q} --problems {output.problems:q} 2> {log:q}"


rule people_rated:
    input:
        item_table="<suite>/annotations/{benchmark}/items.parquet",
        answers=PEOPLE.answers,
    output:
        out="<suite>/people/{benchmark}/{group}/rated.parquet",
    log:
        "<suite>/logs/people/{benchmark}/{group}/rated.log",
    wildcard_constraints:
        group=PEOPLE.rating_groups,
    localrule: True
    params:
        settings=SUITE.settings("people/{benchmark}/{group}/rated"),
    shell:
        SURVEY
        + "rated --settings {params.settings:q} --item-table {input.item_table:q} --answers {input.answers:q} "
        "--out {output.out:q} 2> {log:q}"


rule people_ratings:
    input:
        requests=PEOPLE.requests,
        files=PEOPLE.files,
    output:
        csv="<suite>/people/{benchmark}/{group}/ratings.csv",
        problems="<suite>/people/{benchmark}/{group}/problems.csv",
    log:
        "<suite>/logs/people/{benchmark}/{group}/ratings.log",
    wildcard_constraints:
        group=PEOPLE.rating_groups,
    localrule: True
    params:
        settings=SUITE.settings("people/{benchmark}/{group}/ratings"),
    shell:
        SURVEY
        + "ratings --settings {params.settings:q} --requests {input.requests:q} --csv {output.csv:q} "
        "--problems {output.problems:q} 2> {log:q}"


rule people_surveys:
    input:
        requests=PEOPLE.requests,
        frames=PEOPLE.frames,
        ledgers=SUITE.media.clips,
        test=PEOPLE.test,
    output:
        csv="<suite>/people/{benchmark}/{group}/surveys.csv",
        form="<suite>/people/{benchmark}/{group}/template.xml",
    log:
        "<suite>/logs/people/{benchmark}/{group}/surveys.log",
    localrule: True
    params:
        settings=SUITE.settings("people/{benchmark}/{group}/surveys"),
    shell:
        SURVEY
        + "surveys --settings {params.settings:q} --requests {input.requests:q} --frames {input.frames:q} "
        "--ledgers {input.ledgers:q} --csv {output.csv:q} --form {output.form:q} 2> {log:q}"


rule people_tasks:
    input:
        surveys="<suite>/people/{benchmark}/{group}/surveys.csv",
    output:
        out="<suite>/people/{benchmark}/{group}/tasks-{survey}.json",
    log:
        "<suite>/logs/people/{benchmark}/{group}/tasks-{survey}.log",
    wildcard_constraints:
        survey=r"[1-9]\d*|qualification",
    localrule: True
    params:
        settings=SUITE.settings("people_tasks"),
    shell:
        SURVEY
        + "tasks --settings {params.settings:q} --surveys {input.surveys:q} --survey {wildcards.survey:q} "
        "--out {output.out:q} 2> {log:q}"


rule people_statistics:
    input:
        requests=PEOPLE.requests,
        files=PEOPLE.files,
    output:
        csv="<suite>/people/{benchmark}/{group}/statistics.csv",
        md="<suite>/people/{benchmark}/{group}/statistics.md",
        workers="<suite>/people/{benchmark}/{group}/workers.csv",
    log:
        "<suite>/logs/people/{benchmark}/{group}/statistics.log",
    localrule: True
    params:
        settings=SUITE.settings("people/{benchmark}/{group}/statistics"),
    shell:
        SURVEY
        + "statistics --settings {params.settings:q} --requests {input.requests:q} --csv {output.csv:q} "
        "--md {output.md:q} --workers {output.workers:q} 2> {log:q}"
