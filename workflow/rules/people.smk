# People's answers: surveys for a group of people, and numbers of what they answered. Their answers are a run (import_answers).


rule people_surveys:
    input:
        key="<suite>/keys/people/{benchmark}/{group}/surveys.json",
        requests=PLAN.surveyed.requests,
        frames=PLAN.surveyed.frames,
        ledgers=PLAN.surveyed.ledgers,
        test=PLAN.surveyed.test,
    output:
        csv="<suite>/people/{benchmark}/{group}/surveys.csv",
        json="<suite>/people/{benchmark}/{group}/tasks.json",
        template="<suite>/people/{benchmark}/{group}/template.xml",
    log:
        "<suite>/logs/people/{benchmark}/{group}/surveys.log",
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.people_surveys --key {input.key:q} --requests {input.requests:q}"
        " --frames {input.frames:q} --ledgers {input.ledgers:q} --store {STORE:q} --csv {output.csv:q}"
        " --json {output.json:q} --template {output.template:q} 2> {log:q}"


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
