"""The `robust` reader: the option that a careful person would read in a model's answer, or nothing.

Rule of thumb: if two people who see only the options and the answer could disagree, there is no reading. An option is
read where the answer claims it; merely mentioning it is no claim. A later claim may replace an earlier one only if it
is stronger or if the answer says that it changes its mind; any other disagreement leaves the answer unread.

The answer is normalised (containers such as `\\boxed{}` become "Answer:" lines), each mention of an option becomes a
mark such as `«B»`, sentences are searched for claims around the marks, and the claims are settled in their order.
Every pattern is bounded, so the time grows with the length of the answer and no faster.
"""

import re
from typing import NamedTuple

EXPLICIT, STATED, HINTED, RULED_OUT = 3, 2, 1, 0
LETTERS = "ABCDEF"
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


class Claim(NamedTuple):
    """What a sentence says of an option, and how strongly; an empty option means more than one at once."""

    option: str
    level: int
    start: int
    sentence: int


class Sentence(NamedTuple):
    """A sentence of the marked text, where it starts, and where it stands in its line."""

    text: str
    start: int
    whole_line: bool
    in_list: bool


# Normalising: tags, containers and markup become plain lines of text.
TABLE = str.maketrans(
    {
        **dict.fromkeys('“”„«»「」『』"', ""),
        **dict.fromkeys("‘’`´", "'"),
        **dict.fromkeys("【〔〈《", "("),
        **dict.fromkeys("】〕〉》", ")"),
        "。": ". ",
        "、": ", ",
        "|": " : ",
        "—": " - ",
        "–": " - ",
        "_": " ",
    }
)
INVISIBLE = re.compile("[\u200b-\u200f\u2060\ufeff\ufe0f]|<\\|[^|>\n]{0,40}\\|>|</?s>|\\[/?INST\\]")
THOUGHT = r"(?:think|thinking|thought|thoughts|reasoning|analysis|scratchpad|reflection|explanation)"
ANSWER_KEY = re.compile(
    r"answer|choice|option|entail|verdict|predict|output|response|result|label|decision|final|caption", re.I
)
JSON_FIELD = re.compile(
    r"[\"']([\w ]{1,40})[\"']\s{0,9}:\s{0,9}(\"(?:[^\"\\]|\\.)*\"?|'[^'\n]*'?|\[[^\]\n]*\]?|[^,}\n]*),?"
)
RUN_ON = re.compile(r"\w[^\n]*(\n\s*(?:#+\s*)?(?:human|user|question|q|instruction|input)\s?\d*\s?:)", re.I)
MARKUP = re.compile(
    r"~~[^~\n]*~~|\*|```[a-z]*(?=\s|$)|[$]|\\[()\[\]]|\\(?:text|math)?(?:text|rm|bf|tt|sf|it)\b|(?m:^[ \t>]*#+)", re.I
)
UNCHECKED = re.compile(r"^[ \t]*(?:[-+•][ \t]*)?\[ \][^\n]*$", re.M)
BULLET = re.compile(r"[ \t>]*(?:[-+•▪]|\d{1,2}[.)])[ \t]+")

# Claims: words that introduce an option, and words that judge one.
MARK = r"«([^»+]+)\+?»"
NOUNS = r"option|caption|choice|description|candidate|statement|alternative"
ANSWER = (
    rf"(?:\b(?:answer|response|output|selection|selected|verdict|conclusion|decision|prediction|entailment|entailed|overall|"
    rf"correction|pick|result|judge?ment|assistant|guess|label|one|{NOUNS}|réponse|respuesta|antwort|risposta|resposta|ответ)\b|答案|选择)"
)
IS = r"\b(?:is|are|was|be|being|remains|becomes|est|es|ist)\b|\bè\b|\bé\b|是|为"
FILLER = (
    r"(?:(?:most likely|likely|probably|clearly|definitely|certainly|simply|therefore|thus|hence|indeed|actually|"
    r"still|now|just|the|a|with|for|to be|be)\b[\s,:(\[']{0,9}){0,3}"
)
OPEN = r"[\s(\[{':,]{0,9}"
END = (
    r"(?=\s{0,9}(?:$|[^\w\s?«'/]|(?:because|since|as|for|not|than|over|instead|though|although|but|from|here|rather|"
    r"that|which|and not)\b))"
)
NOT_SUBJECT = r"(?!\s{0,9}(?:\?|(?:is|are|was|has|have|would|does|says|or|nor|can|could|if|unless)\b))"
INTRO = (
    r"so|hence|therefore|thus|accordingly|consequently|ultimately|finally|overall|in short|in conclusion|in summary|"
    r"in the end|probably|perhaps|maybe|possibly|likely|definitely|clearly|certainly|obviously|rather|wait|no|"
    r"actually|sorry|mean|hmm|second thought|think|believe|guess|leaves|leaving|leaves us with|leaves only|"
    r"answer with|must be|has to be|yes|selected|chosen|选"
)
CHOOSE = (
    r"\b(?:i|i'd|i'll|i'm|we|we'd)\b[^«».;:?\n]{0,30}?\b(?:choose|pick|select|go with|going with|say|lean|leaning|vote|opt|"
    r"guess|prefer|settle on|favou?r|chose|picked|selected|going for|go for)(?: to| towards?| for| on)?"
)
POSITIVE = [
    (EXPLICIT, rf"{ANSWER}[^«»:=?\n]{{0,60}}?(?:{IS}|[:=]|[-=]+>|→|\s-)(?:{OPEN}){FILLER}{MARK}{NOT_SUBJECT}"),
    (
        STATED,
        rf"\b(?:it|this|that)(?:'s|(?: \w+)? is| (?:must|has to|should|would) be| (?:seems|appears) to be){OPEN}{FILLER}{MARK}{END}",
    ),
    (STATED, rf"(?:\b(?:{INTRO})|[-=]+>|→)[\s,:;.…(\[-]{{0,9}}(?:it's |it is |a |an )?{MARK}{END}"),
    (STATED, rf"{CHOOSE}{OPEN}{FILLER}{MARK}{END}"),
    (HINTED, rf"\b(?:could|might|may) (?:also|equally|just as well|still) be {FILLER}{MARK}"),
]
ADVERB = (
    r"(?:\s(?:is|was|are|seems|appears|looks|sounds|must be|would be|should be|to be|be|clearly|also|more|most|very|much|"
    r"definitely|actually|probably|likely|indeed|thus|therefore|the|a|an|slightly|only|one|answer|fully|completely)\b){0,5}"
)
PARTLY = r"(?!\w|-|\s(?:about|in|on|only|until|when|for|at|if|except|regarding|side|hand|part|order)\b)"
WORLD = r"(?:the |this |that |given |actual |whole )*(?:video|clip|footage|scene|what|events?|sequence|actions?|frames|order|observed)\b"
JUDGED = [
    (
        RULED_OUT,
        rf"{MARK}[\s:,'(-]{{0,4}}{ADVERB}[\s'(]{{0,3}}(?:❌|✗|✘|(?:not|isn't|wasn't|incorrect|wrong|false|inaccurate|out|excluded|"
        r"eliminated|contradicted|impossible|unlikely|worse|misleading|reversed|less|no)\b)",
    ),
    (
        RULED_OUT,
        rf"{MARK}\s(?:can|could|should|may|must) (?:be|not|safely be) (?:ruled|excluded|eliminated|discarded|rejected|dismissed)",
    ),
    (
        RULED_OUT,
        rf"{MARK}\s(?:does not|doesn't|did not|cannot|can't|contradicts|reverses|fails|swaps|misses|gets it wrong)\b",
    ),
    (
        RULED_OUT,
        rf"{MARK}\s(?:has|gets|had|got) [^«».]{{0,50}}?\b(?:wrong|backwards|reversed|mixed up|the other way)\b",
    ),
    (
        RULED_OUT,
        r"(?:\b(?:not|never|neither|nor|none of|unlike|instead of|rather than|over|excludes?|excluding|eliminates?|eliminating|"
        rf"rejects?|rejecting|rules? out|ruling out)|n't)(?: be| with| likely| the| to be)?{OPEN}{MARK}",
    ),
    (STATED, rf"{MARK}\s(?:is )?(?:less|worse|not as)\b[^«»]{{0,40}}\b(?:than|as) «([^»+]+)\+?»"),
    (
        STATED,
        rf"{MARK}\s[^«».;]{{0,50}}?\b(?:better|best|closer|closest|preferable|superior|more (?:accurate|precise|likely|correct))\b",
    ),
    (
        HINTED,
        rf"{MARK}[\s:,'(-]{{0,4}}{ADVERB}[\s'(]{{0,3}}(?:✅|✔|✓|☑|(?:correct|right|accurate|true|entailed|consistent|supported|valid|yes)\b"
        rf"{PARTLY}|one that (?:fits|matches|is))",
    ),
    (
        HINTED,
        rf"{MARK}\s(?:has|gets|had|got) [^«».]{{0,50}}?(?<!the )(?<!his )(?<!her )(?<!to )\b(?:right|correct)(?=\s?(?:[.,;!]|$|and|but|while))",
    ),
    (
        HINTED,
        rf"{MARK}\s(?:(?:accurately|correctly|clearly|also) )?(?:matches|fits|describes|captures|reflects|summari[sz]es|represents) {WORLD}",
    ),
    (
        HINTED,
        rf"{MARK}\s(?:(?:accurately|correctly) (?:matches|describes|captures|reflects|states)|(?:fits|matches|wins)(?=\s?[.,;!]|$))",
    ),
    (
        HINTED,
        rf"\b(?:fits|matches|match|supports?|favou?rs|points to|consistent with|corresponds to|aligns with|agrees with|entails)[\s(]{{1,2}}{MARK}",
    ),
    (
        HINTED,
        rf"\bwhat[\s(]{{1,2}}{MARK}\s(?:says|describes|states|claims)|\b(?:shows|see|seen|happens)(?: is)?(?: that)?[\s:(]{{1,3}}{MARK}{END}",
    ),
    (HINTED, rf"{MARK}\s?(?:更?符合|更?正确|更好|更?准确|是对)"),
]
CAPTION = r"\b(?:caption|description|statement|sentence)\b(?: as a whole| given| provided)?"
NOT = r"(?: (?:does not|doesn't|do not|don't|did not|didn't|cannot|can't|is not|isn't|fails to))"
DEGREE = r"(?: (?:clearly|does|do|did|is|fully|completely|entirely|indeed|therefore|thus|really|actually|accurately|correctly|perfectly))"
ENTAILED = re.compile(
    rf"\b(?:video|clip|footage|frames|segment){DEGREE}{{0,3}}(?P<no1>{NOT}?){DEGREE}{{0,2}} (?:entails?|supports?|match(?:es)?|confirms?|"
    rf"(?P<contra>contradicts?)) (?:the |this |that |given |provided )*(?:caption|description|statement|sentence)\b|"
    rf"{CAPTION}{DEGREE}{{0,3}}(?P<no2>{NOT}?(?: not)?){DEGREE}{{0,2}} (?:(?P<good>(?:entailed|supported|correct|accurate|true|right|consistent)\b{PARTLY}|"
    rf"(?:match(?:es)?|describes?|reflects?) {WORLD})|(?P<bad>wrong|incorrect|inaccurate|false|contradicted|mistaken)\b)",
    re.I,
)

# What takes a claim back, doubts it or limits it.
TURN = re.compile(
    r"\b(?:wait|actually|however|sorry|correction|mistaken?|second thoughts?|hmm|i mean|instead|reconsider\w*|on reflection|"
    r"looking again|scratch that|at first|initially|upon closer|my mind)\b|\bno(?=,| wait|[.…])|~~",
    re.I,
)
BUT = re.compile(r"\b(?:but|though|although|yet)\b", re.I)
CLAUSE = re.compile(r"[,;:.…]|\b(?:but|so|and|hence|therefore|thus|because)\b", re.I)
DOUBT = re.compile(
    r"\b(?:not|never|cannot|whether|why|doubt|wrong|incorrect|worse|other|initially|at first|thought|hardly|deny|"
    r"(?:one|some|someone|people|you|many) (?:could|might|may|would))\b|n't\b",
    re.I,
)
IF = re.compile(
    r"(?<!as )\b(?:if(?! (?:i|we)\b| (?:forced|pressed|pushed|so|in doubt|needed|necessary))|unless|otherwise|depending|depends)\b",
    re.I,
)
PARTIAL = re.compile(
    rf"\b(?:mostly|partly|partially|somewhat|kind of|sort of|half|almost|nearly)[\s,]{{1,2}}(?:a )?{MARK}", re.I
)
REFUSAL = re.compile(
    r"\b(?:can't|cannot|can not|unable to|not able to|don't have the ability to)[^.«»]{0,20}? (?:view|watch|access|open|play|"
    r"process|assist|help|answer|see (?:the |any |this )?(?:video|image|picture))|\b(?:can|will|would|'ll|happy to) (?:help|assist)\b|"
    r"\b(?:upload|share|provide|send) (?:me )?(?:with )?(?:the|a|your) (?:video|clip|link|image)|\bas an ai\b",
    re.I,
)
ARTICLE = (
    r"(?=\s{0,9}(?:$|[^\w\s'-]|-+>?\s)|\s(?:is|was|has|does|did|says|seems|looks|appears|fits|matches|describes|mentions|claims|states|"
    r"shows|because|since|as|and|or|nor|not(?!-)|but|if|would(?!-)|could|should|cannot|can't|isn't|doesn't|than|then|over|wins|rather|instead|"
    r"which|best (?:describes|matches|fits|captures|reflects)|(?:accurately|correctly|better) (?:describes|matches|captures|reflects))\b)"
)
PATTERNS = [(level, re.compile(pattern, re.I)) for level, pattern in POSITIVE]
JUDGEMENTS = [(level, re.compile(pattern, re.I)) for level, pattern in JUDGED]
MARKED = re.compile(MARK)
