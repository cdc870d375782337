"""The vocabulary of the `robust` reader: how answers are packed, how options are named, claimed, judged and doubted.

A mark stands for a mention: `«B»` for a letter or word, `«B+»` for a named option such as "caption B", `«B++»` for a
caption restated word for word, `«A|B»` for several in one breath. Patterns bound each repetition that may fail.
"""

import re

EXPLICIT, STATED, HINTED, RULED_OUT = 3, 2, 1, 0  # how strong a claim is


def any_of(phrases: str) -> str:
    """A group that matches any of some phrases (patterns, too) that commas separate."""
    return f"(?:{' '.join(phrases.split()).replace(', ', '|')})"


# How answers are packed
PLAIN = re.compile(r"[A-Za-z0-9 ,.()]*")  # no markup, containers, quotes or dashes
TYPOGRAPHY = str.maketrans(
    {c: "" for c in '“”„«»「」『』"*$'} | {c: "'" for c in "‘’`´"} | {c: " - " for c in "—–"}
    | {c: "(" for c in "【〔〈《"} | {c: ")" for c in "】〕〉》"} | {"。": ". ", "、": ", ", "|": " : ", "_": " "}
)  # fmt: skip
INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff\ufe0f]|<\\|[^|>\n]{0,40}\\|>|</?s>|\\[/?INST\\]")
THOUGHT = re.compile(
    r"([<◁]/?(?:think|thinking|thoughts?|reasoning|analysis|scratchpad|reflection|explanation)[>▷])", re.I
)
TAG = re.compile(r"<{1,3}(/?)\s?([a-z]\w{0,20})\s?>{1,3}", re.I)
FIELD = re.compile(r"[\"']([\w ]{1,40})[\"']\s{0,9}:\s{0,9}(\"(?:[^\"\\]|\\.)*\"?|'[^'\n]*'?|\[[^\]\n]*\]?|[^,}\n]*),?")
ANSWER_KEY = re.compile(
    any_of("answer, choice, option, entail, verdict, predict, output, response, result, label, decision, final"), re.I
)
RUN_ON = re.compile(r"\n\s{0,9}#{0,6}\s{0,3}(?:human|user|question|q|instruction|input)\s?\d{0,2}\s?:", re.I)
UNCHECKED = re.compile(r"^[ \t]*[-+*•]?[ \t]?\[ \][^\n]*$", re.M)
MARKUP = re.compile(
    r"~~[^~\n]*~~|```[a-z]*(?=\s|$)|\[x\]|\\[()\[\]]|\\(?:text|math)(?:rm|bf|tt|sf|it)?\b|^[ \t>]*#+", re.I | re.M
)
HEADING = re.compile(
    r"^([^\w\n]{0,6}(?:the |my |final |correct ){0,3}"
    rf"{any_of('answer, conclusion, verdict, output, response, result, decision')}[^\w\n]{{0,6}})\n\s*",
    re.I | re.M,
)
BULLET = re.compile(r"[ \t>]*(?:[-+•▪]|\d{1,2}[.)])[ \t]+")

# How options are named
NOUNS = any_of("option, caption, choice, description, candidate, statement, alternative")
PLACES = ("first", "second", "third", "fourth", "fifth", "sixth")
ORDINAL = re.compile(
    rf"\b(?:the )?(?:({'|'.join(PLACES)}|last|former|latter) (?:{NOUNS}|one)|the (former|latter))\b", re.I
)
MARK = r"«([^»+]+)\+*»"
MARKED = re.compile(MARK)
AFTER_A = any_of("""is, was, has, does, did, says, seems, looks, appears, fits, matches, describes, claims, states,
    shows, because, since, as, and, or, nor, not, but, if, would, could, should, cannot, can't, isn't, doesn't, than,
    over, wins, rather, (?:best|better|accurately|correctly)
    (?:describes|matches|fits|captures|reflects|identifies|states|depicts)""")
NO_ARTICLE = rf"(?=\s{{0,9}}(?m:$|[^\w\s'-])|-+>|\s->?\s|\s{AFTER_A}(?!-)\b)"
BRACKETED = re.compile(r"[(\[{]{1,3}\s?([A-F])\s?[)\]}]{1,3}", re.I)
NAMED = re.compile(
    rf"(?:\b(?i:{NOUNS})(?:s| letter)?|选项)\s{{0,3}}[(\[]?(?:([A-Fb-f])(?![A-Za-z0-9'-])|(a){NO_ARTICLE})"
)
LOWER = re.compile(
    r"((?:^[^\w\n]*|\b(?:is|be|choose|pick|select|with|say|answer|hence|therefore|so|it's)\s{1,3}|[:=>-]\s{0,3}))"
    r"([a-f])(?=\s{0,3}(?:[.,;!)\]:]|$))",
    re.M,
)
ALONE = r"(?![A-Za-z0-9'+»|]|-[A-Za-z]|\.\w)"
UPPER = re.compile(rf"(?<![A-Za-z0-9'«|])(?<![A-Za-z]\.)(?:[B-F]{ALONE}|A{ALONE}{NO_ARTICLE})")
AFTER_NO = any_of("""because, since, as, it, the, this, that, he, she, they, there, i, from, would, is, and, or, nor,
    yes, no""")
YES_NO = re.compile(
    r"(?<![\w'-])(?:(yes|yep|yeah|yup|(?<!.)(?:absolutely|definitely|indeed)(?=\.))"
    r"|(no|nope|nah|(?:absolutely|definitely|certainly|of course) not))"
    r"(?![\w'-]|\.\s?\d)(?=\s{0,9}(?:$|[^\w\s'])|\s"
    rf"{AFTER_NO}\b)",
    re.I | re.M,
)
NOT_THE_WORD = re.compile(r"\bN/A\b|\bb/c\b|\bw/(?=[o\s])|\bA\.I\.", re.I)
NEGATED = re.compile(r"~|¬|≠|!=")
LABELLED_WORD = re.compile(r"(?:^|(?<=\s))\(?[A-F](?:\)|[.:])\s{0,3}(?=(?:yes|no)\b)", re.I)
AND = r"(?:/|&|→|[-=]{0,2}>|,?\s?\b(?:and|or|nor|to|then|vs\.?|versus)\b)"
JOIN = rf"[)\]]?\s{{0,3}}\(?{AND}\s{{0,3}}(?:with |the |maybe |perhaps )?[(\[]?"
GROUP = re.compile(
    rf"«[^»]+»(?:, ?«[^»]+»){{0,5}}{JOIN}«[^»]+»(?:{JOIN}«[^»]+»){{0,5}}|«[^»]+»(?:, ?«[^»]+»){{1,5}}(?=\W*$)",
    re.I | re.M,
)
RANKING = re.compile(r"«([^»+]+)\+*»[)\]]?(?: ?>{1,2} ?[(\[]?«[^»]+»[)\]]?){1,5}(?=\W*$)", re.M)
ASKED_GROUP = re.compile(r"[(\[]?«[^»]*\|[^»]*»[)\]]?\s?[:=]\s?(?=[(\[]?«)")
JUDGED = any_of("correct, incorrect, right, wrong, yes, no, true, false, matches, does, not") + r"\b"
ENUMERATED = re.compile(r"^[^\w«\n]*«A»\s?[).:-]([^«»\n]{1,300})«B»\s?[).:]\s?\w[^\n]*", re.M)
LABEL = re.compile(
    rf"((?:^|[.!?;]\s)[^\w\n«]{{0,4}}(?:(?:so|then|now|here),? )?)«([A-F])\+?»\s?(?:\)|[.:]|-)\s*"
    rf"(?:«[^»]+»|(?=\w)(?!{JUDGED}))",
    re.M | re.I,
)

# How options are claimed
ANSWER_NOUNS = any_of("""answer, ans, final, response, output, selection, selected, verdict, conclusion, decision,
    prediction, entailment, entailed, overall, correction, pick, result, judge?ment, assistant, guess, label, match,
    one, réponse, respuesta, antwort, risposta, resposta""")
ANSWER = rf"(?:\b{ANSWER_NOUNS}\b|\b{NOUNS}\b|答案|选择)"
IS = r"(?:\b(?:is|are|was|be|remains|est|es|ist|è|é)\b|是|为|[:=]|[-=]+>|→|\s-)"
OPEN = r"[\s(\[{}':,]{0,9}"
HEDGE = any_of("""most likely, likely, probably, clearly, definitely, certainly, simply, therefore, thus, hence,
    indeed, actually, still, now, just, definite, clear, resounding, firm, hard, big, the, a, with, for, to be, be""")
FILLER = rf"(?:{HEDGE}\b[\s,:(\[']{{0,9}}){{0,3}}"
AFTER = any_of("""because, since, as, for, not, than, over, instead, though, although, but, from, here, rather, that,
    which, and not, more, better, best, most, well, perfectly, exactly""")
END = rf"(?=\s{{0,9}}(?:$|[^\w\s?«'/]|{AFTER}\b))"
NO_SUBJECT = (
    rf"(?!\s{{0,9}}(?:\?|{any_of('is, are, was, has, have, would, does, says, or, nor, can, could, if, unless')}\b))"
)
THIS = r"\b(?:it|this|that|what happens)(?:'s| is| (?:must|has to|should|would) be| (?:seems|appears) to be)"
INTRO = any_of("""so, hence, therefore, thus, accordingly, consequently, ultimately, finally, overall, in short, in
    conclusion, in summary, in the end, probably, perhaps, maybe, possibly, likely, definitely, clearly, certainly,
    obviously, rather, wait, no, yes, actually, sorry, mean, hmm, thought, think, doubt, doubt about it, by
    elimination, in a word, unfortunately, sadly, believe, guess, leaves, leaves us with, leaving, going with,
    confident in, leaning, leaning towards?, must be, has to be, choose, select, pick""")
WELL = any_of("ok, okay, well, um, uh, oh, sure, alright, a hard, hard, a big, big, a clear, clear, a firm, firm")
CHOOSE = any_of("""choose, pick, select, go with, going with, go for, say, lean, leaning, vote, opt, guess, answer,
    answer with, prefer, settle, favou?r, chose, picked, selected""")
I_CHOOSE = rf"\b(?:i|i'd|i'll|i'm|we|we'd)\b[^«».;:?\n]{{0,30}}?\b{CHOOSE}(?: to| towards?| for| on)?"
ADVERBS = any_of("""is, was, are, seems, appears, looks, sounds, must be, should be, to be, be, clearly, also, more,
    most, very, much, only, definitely, actually, probably, likely, indeed, thus, therefore, the, a, an, slightly,
    one, answer, alone, fully, completely""")
ADVERB = rf"(?:\s{ADVERBS}\b){{0,5}}"

# How options are judged
SUBJECT = MARK + r"[)\]]?"
CORRECT = any_of("correct, right, accurate, true, entailed, consistent, supported, valid, yes") + r"\b"
WHOLLY = rf"(?!\w|-|\s{any_of('about, in, on, only, until, when, for, at, if, except, regarding, side, hand, part')}\b)"
INCORRECT = any_of("""incorrect, wrong, false, inaccurate, out, excluded, eliminated, contradicted, impossible,
    unlikely, worse, misleading, reversed, less""")
BETTER = any_of("""better, best, closer, closest, preferable, superior, more (?:accurate|precise|likely|correct)""")
OUGHT = any_of("is, was, seems, does, did, can, could, should, must, may")
DISMISSED = any_of("ruled, excluded, eliminated, discarded, rejected, dismissed")
REJECTING = any_of("""not, never, neither, nor, none of, unlike, instead of, rather than, over, exclud(?:es?|ing),
    eliminat(?:es?|ing), reject(?:s|ing)?, rul(?:es?|ing) out""")
FITS = any_of("matches, fits, describes, captures, reflects, represents")
STATES = any_of("matches, describes, captures, reflects, represents, identifies, states, depicts")
SUPPORTS = any_of("""fits, match, matches, supports?, favou?rs, points to, consistent with, corresponds to, aligns
    with, agrees with, entails, shows, shows that""")
EVENTS = any_of("video, clip, footage, scene, what, events?, sequence, actions?, frames, order")
WORLD = rf"(?:(?:the|this|that|given|actual|whole) ){{0,3}}{EVENTS}\b"
THE_ONE = "(?:one that (?:fits|matches|is)|what (?:happens|is shown|we see|i see))"
FAILS = any_of("does not, doesn't, is not, isn't, fails, contradicts, lacks")
ONLY_ONE = rf"the only (?:one|{NOUNS}) (?:that|which|in which|where)\b(?! {FAILS})"
GOT = rf"{SUBJECT}\s(?:has|gets|had|got) [^«».]{{0,50}}?"
NOT_A_SIDE = r"(?<!the )(?<!his )(?<!her )(?<!to )"
CLAIMS = [
    (level, re.compile(pattern, re.I))
    for level, pattern in (
        (EXPLICIT, rf"{ANSWER}[^«»:=?\n]{{0,60}}?{IS}{OPEN}{FILLER}{MARK}{NO_SUBJECT}"),
        (STATED, rf"{THIS}{OPEN}{FILLER}{MARK}{END}"),
        (
            STATED,
            rf"(?:\b{INTRO}|^{WELL}|[-=]+>|→|选|;)[\s,:;.(\[-]{{0,9}}(?:it's |it is |a |an )?{MARK}{END}(?!,? there\b)",
        ),
        (STATED, rf"{I_CHOOSE}{OPEN}{FILLER}{MARK}{END}"),
        (STATED, rf"(?:(?<=» )|(?<=», ))but {MARK}{END}"),
        (STATED, rf"«[^»]+»\s(?:is )?(?:less|worse|not as)\b[^«»]{{0,40}}\b(?:than|as) {MARK}"),
        (STATED, rf"{SUBJECT}\s[^«».,;]{{0,50}}?\b{BETTER}\b"),
        (HINTED, rf"{SUBJECT}[\s:,(-]{{0,4}}{ADVERB}[\s(]{{0,3}}(?:[✅✔✓☑]|{CORRECT}{WHOLLY}|{THE_ONE})"),
        (HINTED, rf"{SUBJECT} is {ONLY_ONE}"),
        (HINTED, rf"{SUBJECT}{ADVERB} (?:the|my) (?:final |best )?(?:answer|choice|pick)\b"),
        (
            HINTED,
            rf"^[✅✔✓☑]\s?{MARK}|{MARK}\s?更?(?:符合|正确|好|准确)|\bwhat {MARK} (?:says|describes|states|claims)",
        ),
        (HINTED, rf"{GOT}{NOT_A_SIDE}\b(?:right|correct)(?=\s?(?:[.,;!]|$))"),
        (HINTED, rf"{SUBJECT}\s{FITS}(?: {WORLD}|(?=\s?[.,;!]|$))"),
        (HINTED, rf"{SUBJECT}\s(?:(?:accurately|correctly|clearly) {STATES}|(?:does|is)(?=[.!]?$))"),
        (HINTED, rf"\b{SUPPORTS}[\s(]{{1,2}}{MARK}{END}"),
        (
            RULED_OUT,
            rf"{SUBJECT}\s?[:(-]?(?: would be)?{ADVERB}[\s(]{{0,3}}(?:[❌✗✘✖]|{INCORRECT}\b|no(?=\s?(?:$|[,.;:)])))",
        ),
        (RULED_OUT, rf"{SUBJECT}\s(?:{OUGHT}(?:n't| not)|cannot|contradicts|reverses|fails|swaps|misses)\b"),
        (RULED_OUT, rf"{SUBJECT}\s(?:can|could|should|may|must) be {DISMISSED}\b"),
        (RULED_OUT, rf"{GOT}\b(?:wrong|backwards|reversed|mixed up|the other way)\b"),
        (RULED_OUT, rf"(?:\b{REJECTING}|n't|^[❌✗✘✖])(?: be| with| likely| the| to be)?{OPEN}{MARK}"),
    )
]
CAPTION = "(?:caption|description|statement)"
NOT = "(?: (?:does not|doesn't|do not|don't|did not|didn't|cannot|can't|is not|isn't|fails to|not))"
DEGREES = any_of("""clearly, does, do, did, is, fully, completely, entirely, indeed, therefore, thus, really,
    actually, accurately, correctly, perfectly, as a whole""")
DEGREE = rf"(?: {DEGREES})"
ENTAILED = re.compile(
    rf"\b(?:video|clip|footage|frames|segment){DEGREE}{{0,3}}(?P<no1>{NOT}?){DEGREE}{{0,2}} "
    r"(?:(?:entails?|supports?|match(?:es)?|confirms?)|(?P<bad1>contradicts?)) "
    rf"(?:(?:the|this|that|given) ){{0,3}}{CAPTION}\b(?! (?:only|in part|partly|partially|if|when))"
    rf"|\b{CAPTION}{DEGREE}{{0,3}}(?P<no2>{NOT}?){DEGREE}{{0,2}} "
    rf"(?:(?:entailed|supported|correct|accurate|true|right|consistent)\b{WHOLLY}"
    rf"|(?:match(?:es)?|describes?|reflects?) {WORLD}"
    r"|(?P<bad2>wrong|incorrect|inaccurate|false|contradicted|mistaken)\b)",
    re.I,
)
LEAD_ENDS = any_of("because, since, as, it, the, this, that, he, she, they, there, i, from")
SPEECH = r",? (?:(?:s?he|they|the \w+) )?(?:says|said|replies|replied|shouts)(?: \w+){0,3}[.!]?$"
LEADING = re.compile(
    rf"[^\w«]*{MARK}(?!\s?[:(-]\s?{JUDGED})(?!{SPEECH})\s{{0,9}}(?:[^\w\s?«'/❌✗✘✖]"
    rf"(?!\s(?:is|was|does|has|seems|cannot|can't|isn't|doesn't)\b)|{LEAD_ENDS}\b)",
    re.I,
)

# How claims are taken back, doubted and limited
PARTLY = re.compile(
    rf"\b(?:mostly|partly|partially|somewhat|kind of|sort of|half|almost|nearly)[\s,]{{1,2}}(?:a )?{MARK}"
    r"|«[^»]+»[\s:=(]{0,3}\d[^«»\n]{0,12}«[^»]+»[\s:=(]{0,3}\d|^or «",
    re.I,
)
MIGHT = r"(?:could|might|may)"
RIVAL = re.compile(
    rf"\blet me (?:re|double[ -]?)?(?:check|verify|think|look|see)\b"
    r"|\bit depends\b|\bbut not (?:entirely|fully|completely|exactly|quite)\b"
    rf"|\b(?:both|neither) [^.«»]{{0,20}}\b(?:wrong|correct|right)\b"
    rf"|\b{MIGHT}(?: \w+)? be {MARK}|\bso might {MARK}|\balso {MARK}{END}"
    rf"|{SUBJECT}\s(?:{MIGHT}(?: \w+)? be|(?:is|seems|looks) (?:also|equally|just as|possible|plausible))\b",
    re.I,
)
LIMIT = re.compile(r"\b(?:but|except|although|though|however|while|yet)\b", re.I)
TURNS = any_of("""wait, actually, however, sorry, correction, mistaken?, second thoughts?, hmm, i mean, instead,
    reconsider\\w*, on reflection, looking again, scratch that, at first, initially, my mind""")
TURN = re.compile(rf"\b{TURNS}\b|\bno(?=,| wait|[.])", re.I)
BUT = re.compile(r"\b(?:but|though|although|yet)\b", re.I)
CLAUSE = re.compile(r"[,;:.]|\b(?:but|so|and|hence|therefore|thus|because)\b", re.I)
OTHERS = any_of("caption, sign, question, user, he, she, they, you, man, woman, boy, girl, people, prompt")
SAY = any_of("says?, said, claims?, asks?, asked, reads?, answers?, wants?, thinks?")
DOUBTS = any_of("""not, never, cannot, whether, why, i doubt, wrong, incorrect, worse, other, initially, at first,
    hardly, (?:i|we) (?:first )?thought, (?:want(?:ed)?|like|tempted|was going) to, his, her, their, sign, card,
    board, shirt, poster, (?:one|some|someone|people|you) (?:could|might|may|would), no
    (?:better|more|evidence|indication|reason|sign|proof|way), nothing, false, hard to, to say that, claim that,
    least, less, eliminate, rule out, exclude, reject, mismatch, error""")
DOUBT = re.compile(rf"\b(?:{DOUBTS}|{OTHERS} (?:\w+ )?{SAY})\b|n't\b", re.I)
UNSURE = re.compile(r"\b(?:part|half|portion|rest|possible|may|might|could|for)\b", re.I)
CONDITION = re.compile(
    r"(?<!as )\b(?:if(?! (?:i|we)\b| (?:forced|pressed|pushed|so|in doubt|needed))|unless|otherwise|depend(?:s|ing)?"
    r"|suppos(?:e|ing)|assum(?:e|ing)|imagine|hypothetically)\b",
    re.I,
)
DENIED = any_of("""view, watch, access, open, play, process, assist, help, answer, see (?:the |any |this
    )?(?:video|image|picture)""")
REFUSAL = re.compile(
    r"\bplease (?:show|provide|upload|share|send)\b|\bi understand\b(?! that| why)|«No»,? thank|"
    rf"\b(?:can't|cannot|can not|unable to|not able to)[^.«»]{{0,20}}? {DENIED}|\bas an ai\b"
    r"|\b(?:can|will|would|'ll|happy to) (?:help|assist)\b"
    r"|\b(?:upload|share|provide|send) (?:me )?(?:with )?(?:the|a|your) (?:video|clip|link|image)",
    re.I,
)
BEFORE_SUBJECTS = any_of("""and, but, so, because, that, while, whereas, hence, therefore, thus, then, think, believe,
    say, since, as, although, though, only, both, either, unlike, is, the""")
BEFORE_SUBJECT = re.compile(rf"(?:[^\w\s]|\b{BEFORE_SUBJECTS})\s{{0,3}}$|^\s*$", re.I)
WITHIN = re.compile(r"\b(?:in|of|to|from|with|for|by|about)(?: (?:the|this|that|given)){0,2}\s{0,3}$", re.I)
THE_QUESTION = re.compile(
    r"^(?!.{0,200}\b(?:wrong|incorrect|inaccurate|false|contradict\w*|differ|mismatch)\b).{0,200}(?:caption|entail|match|descri|statement|«)",
    re.I,
)
