# People's answers: surveys for a group of people, and numbers of what they answered. Their answers are a run (import_answers);
# their ratings of models' answers are what judges are measured against (score_judged).


rule people_rated:
    input:
        item_table="<suite>/annotations/{benchmark}/items.parquet",
        answers=SUITE.people.answers,
    output:
        out="<suite>/people/{benchmark}/{group}/rated.parquet",
    log:
        "<suite>/logs/people/{benchmark}/{group}/rated.log",
    wildcard_constraints:
        group=SUITE.people.rating_groups,
    localrule: True
    params:
        settings=SUITE.settings("people/{benchmark}/{group}/rated"),
    shell:
        RUN + "people_rated --settings {params.settings:q} --item-table {input.item_table:q} --answers {input.answers:q} "
        "--out {output.out:q} 2> {log:q}"


rule people_ratings:
    input:
        requests=SUITE.people.requests,
        files=SUITE.people.files,
    output:
        csv="<suite>/people/{benchmark}/{group}/ratings.csv",
        problems="<suite>/people/{benchmark}/{group}/problems.csv",
    log:
        "<suite>/logs/people/{benchmark}/{group}/ratings.log",
    wildcard_constraints:
        group=SUITE.people.rating_groups,
    localrule: True
    params:
        settings=SUITE.settings("people/{benchmark}/{group}/ratings"),
    shell:
        RUN + "people_ratings --settings {params.settings:q} --requests {input.requests:q} --csv {output.csv:q} "
        "--problems {output.problems:q} 2> {log:q}"


rule people_surveys:
    input:
        requests=SUITE.people.requests,
        frames=SUITE.people.frames,
        ledgers=SUITE.media.clips,
        test=SUITE.people.test,
    output:
        csv="<suite>/people/{benchmark}/{group}/surveys.csv",
        form="<suite>/people/{benchmark}/{group}/template.xml",
    log:
        "<suite>/logs/people/{benchmark}/{group}/surveys.log",
    localrule: True
    params:
        settings=SUITE.settings("people/{benchmark}/{group}/surveys"),
    shell:
        RUN + "people_surveys --settings {params.settings:q} --requests {input.requests:q} --frames {input.frames:q} "
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
        RUN + "people_tasks --settings {params.settings:q} --surveys {input.surveys:q} --survey {wildcards.survey:q} "
        "--out {output.out:q} 2> {log:q}"


rule people_statistics:
    input:
        requests=SUITE.people.requests,
        files=SUITE.people.files,
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
        RUN + "people_statistics --settings {params.settings:q} --requests {input.requests:q} --csv {output.csv:q} "
        "--md {output.md:q} --workers {output.workers:q} 2> {log:q}"
