# People's answers: surveys for a group of people, and numbers of what they answered. Their answers are a run (import_answers);
# their ratings of models' answers are what judges are measured against (score_judged).


rule people_rated:
    input:
        key="<suite>/keys/people/{benchmark}/{group}/rated.json",
        item_table="<suite>/annotations/{benchmark}/items.parquet",
        answers=PLAN.surveyed.answers,
    output:
        requests="<suite>/people/{benchmark}/{group}/rated.parquet",
    log:
        "<suite>/logs/people/{benchmark}/{group}/rated.log",
    wildcard_constraints:
        group=PLAN.surveyed.rating_groups(),
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.people_rated --key {input.key:q} --items {input.item_table:q}"
        " --answers {input.answers:q} --out {output.requests:q} 2> {log:q}"


rule people_ratings:
    input:
        key="<suite>/keys/people/{benchmark}/{group}/ratings.json",
        requests=PLAN.surveyed.requests,
        files=PLAN.surveyed.files,
    output:
        csv="<suite>/people/{benchmark}/{group}/ratings.csv",
        problems="<suite>/people/{benchmark}/{group}/problems.csv",
    log:
        "<suite>/logs/people/{benchmark}/{group}/ratings.log",
    wildcard_constraints:
        group=PLAN.surveyed.rating_groups(),
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.people_ratings --key {input.key:q} --requests {input.requests:q}"
        " --out {output.csv:q} --problems {output.problems:q} 2> {log:q}"


rule people_surveys:
    input:
        key="<suite>/keys/people/{benchmark}/{group}/surveys.json",
        requests=PLAN.surveyed.requests,
        frames=PLAN.surveyed.frames,
        ledgers=PLAN.surveyed.ledgers,
        test=PLAN.surveyed.test,
    output:
        csv="<suite>/people/{benchmark}/{group}/surveys.csv",
        template="<suite>/people/{benchmark}/{group}/template.xml",
    log:
        "<suite>/logs/people/{benchmark}/{group}/surveys.log",
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.people_surveys --key {input.key:q} --requests {input.requests:q}"
        " --frames {input.frames:q} --ledgers {input.ledgers:q} --store {STORE:q} --csv {output.csv:q}"
        " --template {output.template:q} 2> {log:q}"


rule people_tasks:
    input:
        key="<suite>/keys/people/{benchmark}/{group}/tasks.json",
        surveys="<suite>/people/{benchmark}/{group}/surveys.csv",
    output:
        json="<suite>/people/{benchmark}/{group}/tasks-{survey}.json",
    log:
        "<suite>/logs/people/{benchmark}/{group}/tasks-{survey}.log",
    wildcard_constraints:
        survey=r"[1-9]\d*|qualification",
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.people_tasks --key {input.key:q} --surveys {input.surveys:q}"
        " --survey {wildcards.survey:q} --out {output.json:q} 2> {log:q}"


rule people_statistics:
    input:
        key="<suite>/keys/people/{benchmark}/{group}/statistics.json",
        requests=PLAN.surveyed.requests,
        files=PLAN.surveyed.files,
    output:
        csv="<suite>/people/{benchmark}/{group}/statistics.csv",
        md="<suite>/people/{benchmark}/{group}/statistics.md",
        workers="<suite>/people/{benchmark}/{group}/workers.csv",
    log:
        "<suite>/logs/people/{benchmark}/{group}/statistics.log",
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.people_statistics --key {input.key:q} --requests {input.requests:q}"
        " --csv {output.csv:q} --md {output.md:q} --workers {output.workers:q} 2> {log:q}"
