# People's answers: surveys for a group of people, and numbers of what they answered. Their answers are a run (import_answers);
# their ratings of models' answers are what judges are measured against (score_judged).


rule people_rated:
    input:
        key="<suite>/keys/people/{benchmark}/{group}/rated.json",
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
        command("people_rated")


rule people_ratings:
    input:
        key="<suite>/keys/people/{benchmark}/{group}/ratings.json",
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
        command("people_ratings")


rule people_surveys:
    input:
        key="<suite>/keys/people/{benchmark}/{group}/surveys.json",
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
        command("people_surveys")


rule people_tasks:
    input:
        key="<suite>/keys/people_tasks.json",
        surveys="<suite>/people/{benchmark}/{group}/surveys.csv",
    output:
        out="<suite>/people/{benchmark}/{group}/tasks-{survey}.json",
    log:
        "<suite>/logs/people/{benchmark}/{group}/tasks-{survey}.log",
    wildcard_constraints:
        survey=r"[1-9]\d*|qualification",
    localrule: True
    shell:
        command("people_tasks")


rule people_statistics:
    input:
        key="<suite>/keys/people/{benchmark}/{group}/statistics.json",
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
        command("people_statistics")
