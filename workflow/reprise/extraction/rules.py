"""List the ordered extraction rules of `robust`, each a name and a pattern; docs/reference/extraction.md prints them.

The options in an answer to a choice among letters are first replaced by marks:

    «B»        the label of option B (`NAMES`)
    ‹B›        the text of option B
    «~B» ‹~B›  uncertain: inside a sentence, perhaps only its subject
    «-B»       option B, denied by the answer (`DENIALS`); of two options, the one that remains after a denial
    «*»        several options together

`CHOICE_RULES` are tried on the marked text, `YES_NO_RULES` and `RATING_RULES` on the cleaned text. Patterns ignore case.
Every gap in a pattern is bounded, which limits the time of a match.
"""

from typing import Literal, NamedTuple


class Rule(NamedTuple):
    """An extraction rule. It extracts the group `option` of its pattern, or else the name of the group that matches."""

    name: str
    pattern: str
    match_policy: Literal["last", "agreeing", "alone"] = "agreeing"
    """`last`: the last hit of these rules decides, before any other rule; `agreeing`: all hits of these rules must
    agree; `alone`: these rules are tried one by one if no other rule has a hit"""


class Extraction(NamedTuple):
    """The extracted value, empty for an unparsed answer, and the name of the rule that extracted it."""

    value: str
    rule: str = ""


UNPARSED = Extraction("")
CUSTOM_RULE_SUFFIX = " (own row)"  # In the column `extracted_by`, it marks rules of `patterns:` in a YAML file.


def custom_rule(name: str, pattern: str) -> Rule:
    """Return an extraction rule of a protocol or a model; its name shows that it is not one of this module."""
    return Rule(name + CUSTOM_RULE_SUFFIX, pattern)


GAP = r"[^.!?\n«‹]"  # A gap ends with the sentence or at the next mark.
MARK = r"[«‹]~?(?P<option>[A-F*])[»›]"
LABEL = r"«~?(?P<option>[A-F*])»"

# Patterns of labels of options. A capital "A" before a lower-case word is the article, unless the word is one of
# `WORDS_AFTER_A`, as in "A is".
NOUN = r"(?:option|caption|choice|sentence|statement|description|segment|clip|video|letter)"
WORDS_AFTER_A = (
    r"(?:is|are|was|and|or|nor|to|because|since|as|would|must|could|can|cannot|(?:is|does|ca|could|would)n't|seems|sounds|looks|"
    r"does|has|gets|says|shows|describes|mentions|mixes|matches|fits|best|better|correctly|accurately|more|rather|over|than)"
)
# Letters that name something in the video, such as "Person A", are not labels of options.
LETTERED_NAMES = (
    r"\b(person|man|woman|user|speaker|player|group|team|type|plan|scene|frame|shot|camera|point|object|figure|grade|rated)"
    r":? [A-F]\b"
)
NAMES = (
    rf"\b(?i:{NOUN}s?) ?[:#]? ?[\"'(\[]{{0,2}}(?P<o>[B-Fb-f]|A|a(?=\W*(?:\n|$)|[.,;:)\"'\]]))(?![\w'])[\"')\]]{{0,2}}",
    r"[(\[](?P<o>[A-Fa-f])[)\]]",
    r"(?<!\w')(?<![\w.«‹~-])(?<!N/)(?P<o>[A-F])(?=[.:)](?:\s|$|[«‹])| ?\n|$)",
    r"(?:(?<=[Aa]nswer: )|(?<=[Aa]nswer is ))(?P<o>[a-f])(?![\w'])",
    r"\A\W?(?P<o>[a-f])(?=[.:)](?:\s|$)|\Z)",
    rf"(?<!\w')(?<![\w.«‹~-])(?<!N/)(?P<o>[B-F]|A(?! ?[a-z])|A(?= {WORDS_AFTER_A}\b))(?![\w&-]|'\w)",
    r"(?<=\b(?:is|or) )(?P<o>A)(?![\w'-])(?! [a-z]{2,} [a-z])",
)
# The last word of each option is its number.
ORDINALS = {"A": "first|1st|former|1", "B": "second|2nd|latter|2", "C": "third|3rd|3", "D": "fourth|4th|4"}

# Patterns of options that the answer denies; the group `mark` is the mark of the option.
_NOT = (
    r"(?:\b(?:not|never|neither|nor|cannot|over|unlike|except|no way|instead of|rather than|opposed to|contradicts?|rul(?:e|es|ed|ing) out|"
    r"eliminat\w{1,4}|exclud\w{1,4}|reject\w{0,4})|n't)"
)
_LINK = r"(?:be|to|is|it|it's|the|by|that|with|in|just|only|think|believe|say|choose|pick|select|for|match|true|show|support)"
_WRONG = (
    r"(?:never\b|incorrect|wrong|false|inaccurate|untrue|ruled out|eliminated|excluded|less\b|worse\b|worst\b|unlikely|inconsistent|reverse[sd]|opposite|out\b|"
    r"contradict|fails?\b|mis\w{3})"
)
_AUXILIARY = (
    r"(?:is|are|was|were|seems|sounds|looks|must|would|can|could|be|does|do|did|has|which|clearly|also|both|definitely|probably|to|it|"
    r"an?|the)"
)
DENIALS = (
    rf"{_NOT}[ \"'(]{{1,2}}(?:{_LINK}[ \"'(]{{1,2}}){{0,3}}(?P<mark>[«‹]~?[A-F][»›])",
    rf"(?P<mark>[«‹]~?[A-F][»›]),? (?:(?:{_AUXILIARY} ){{1,3}}not\b|(?:{_AUXILIARY} ){{0,3}}(?:\w{{1,5}}n't\b|cannot\b|(?:\w{{1,12}}ly )?{_WRONG}))",
    rf"\b(?:{NOUN}|one) (?:that|which)\b{GAP}{{0,12}}(?:n't|\b(?:not|less|least|wrong|incorrect|inaccurate))\b{GAP}{{0,30}}\bis "
    r"(?P<mark>[«‹]~?[A-F][»›])",
    rf"\b(?:wrong|incorrect|worst|worse|false|other|remaining) (?:{NOUN}|one)\b{GAP}{{0,20}}(?P<mark>[«‹]~?[A-F][»›])",
    rf"\b(?:more|better|rather|closer|likelier)\b{GAP}{{0,40}}\bthan (?P<mark>[«‹]~?[A-F][»›])",
    r"\bprefer(?:red)? [«‹]~?.[»›] to (?P<mark>[«‹]~?[A-F][»›])",
)
# Sentences that choose no option: questions, conditions and statements of ignorance (`UNDECIDED_SENTENCE`), and
# statements of what an option describes (`DESCRIPTION_ONLY`).
UNDECIDED_SENTENCE = (
    r"\?|\b(?:if|whether|unless|suppose|assuming)\b(?! (?:i|we|one|forced|you)\b)|"
    r"\b(?:can(?:'t|not)|unable to|impossible to|hard to|difficult to) (?:\w{1,12} )?(?:tell|see|say|determine|judge|decide|know)\b"
    r"(?![^.!?\n]{0,60}, but (?:i|the answer|my|it is|it's)\b)"
)
DESCRIPTION_ONLY = (
    r"[«‹]~?[A-F*][»›],? (?!\w{1,12}ly |better|best|more|most)(?!describes the video(?:[.,]|$))(?:which |that )?"
    r"(?:says?|shows?|describes?|mentions?|states?|gets?|mix(?:es)?|claims?|suggests?|depicts?|implies|involves?|talks|has|swaps)\b"
    r"(?![^.!?\n]{0,80}\b(?:accurately|correctly)\b)"
)

_ANSWER = rf"(?:{NOUN}|answer|match|selection|pick|response|conclusion|one)"
_IS = r"(?:is|was|be|being|:|=|as|->|→)"
_RIGHT = r"(?:correct|right|best|better|accurate|true|closest|suitable|suited|appropriate|likely|fitting|precise|answer|match|preferable|one)"
_CHOOSE = (
    r"(?:chooses?|chose|picks?|picked|selects?|selected|go(?:ing)? with|went with|opt for|prefer|vote for|say|guess|believe|think|"
    r"lean towards?)"
)
_NEGATION = r"(?:\b(?:no|not|never|nothing|cannot|without)\b|n't\b)[^.,;:!?\n«‹]{0,60}"
CHOICE_RULES = (
    Rule("boxed", rf"\\boxed\{{{GAP}{{0,20}}?{MARK}", "last"),
    Rule("final answer", rf"\bfinal(?: (?:answer|choice|decision|verdict|selection))?\b{GAP}{{0,40}}{MARK}", "last"),
    Rule(
        "final answer",
        rf"\b(?:wait|correction|actually|on second thought|on reflection)\b{GAP}{{0,60}}{MARK}(?=\W{{0,3}}(?:\Z|\n))",
        "last",
    ),
    Rule(
        "final answer",
        rf"\b(?:so|thus|therefore|hence|in conclusion|finally|overall|conclude)\b{GAP}{{0,90}}\b"
        rf"(?:{_ANSWER}\b{GAP}{{0,40}}?{_IS}|i(?:'d| would)? (?:choose|pick|select|go with|say))\W{{0,4}}(?:that )?{MARK}",
        "last",
    ),
    Rule(
        "final answer",
        rf"\b(?:so|thus|therefore|hence|in conclusion|finally),?\W{{0,3}}(?:it is |it's |it must be )?{MARK}"
        rf"(?=\W{{0,3}}(?:\Z|\n|because|since|{_IS}|{_RIGHT}))",
        "last",
    ),
    Rule(
        "leading label",
        r"\A\W{0,4}«(?P<option>[A-F*])»(?=\W{0,3}\Z|[.:),;]|\s?[-–—\n(‹]|\s(?:because|since|as)\b)"
        r"(?!\W{0,4}(?:no|yes|not|(?:in)?correct|wrong|true|false|\d*\.\d+|\d+ ?%)\b|\.\.|…|\W{0,4}[<>=✗✓❌✅✘✔])",
    ),
    Rule(
        "stated",
        rf"\b{_ANSWER}\b(?:\s[\w'-]{{1,15}}){{0,7}}?\s?{_IS}\W{{0,4}}(?:that |probably |(?:most )?likely |clearly )?{MARK}",
    ),
    Rule(
        "stated", rf"\b{_CHOOSE}[^\w.!?\n«‹]{{1,3}}(?:that |it is |it's |it must be |the answer is |for ){{0,2}}{MARK}"
    ),
    Rule(
        "stated",
        rf"{LABEL}\W{{0,3}}(?:which |that )?(?:is|was|would be|seems|appears|must be|gives|provides|offers) "
        rf"(?:to be |clearly |definitely |probably |likely ){{0,2}}(?:the |an? )?(?:(?!less|not|as |only|hardly|part)\w{{1,12}} ){{0,2}}?"
        rf"{_RIGHT}\b",
    ),
    Rule(
        "stated",
        rf"{LABEL},? (?:which )?(?:\w{{1,12}}ly )?(?:matches|fits|(?:(?:more|most) )?(?:better|best|correctly|accurately) "
        r"(?:matches|describes|fits|captures|reflects|represents|depicts|conveys|aligns|corresponds))\b",
    ),
    Rule("stated", rf"{LABEL}\W{{0,2}}(?:because|since|due to)\b"),
    Rule("leading segment", r"\A\W{0,4}«~(?P<option>[A-F*])»:", "alone"),
    Rule("only label", r"«(?P<option>[A-F*])»", "alone"),
    # A negation before a label extracts `denied`. That is no option, so it makes the answer unparsed.
    Rule("only label", rf"{_NEGATION}(?P<denied>«[A-F*]»)", "alone"),
    Rule("the other one is denied", r"«-(?P<option>[A-F])»", "alone"),
    Rule(
        "option's text",
        rf"\A(?!{GAP}{{0,400}}?{_NEGATION}‹){GAP}{{0,400}}‹(?P<option>[A-F*])›(?![^.!?\n]{{0,400}}[«‹](?!(?P=option)))",
        "alone",
    ),
)
# Name of the last rule, which has no pattern: it compares the words of answer and option in order, without stop words.
NEAR_MATCH = "nearly option's text"
STOP_WORDS = frozenset(
    [
        "a",
        "an",
        "the",
        "is",
        "are",
        "was",
        "were",
        "of",
        "in",
        "on",
        "at",
        "to",
        "and",
        "then",
        "there",
        "video",
        "clip",
        "shows",
    ]
)

_CAPTION = r"(?:caption|description|statement|sentence|text|claim)"
_TRUE = r"(?:accurate|correct|true|right(?! \w)|consistent|entailed|supported|faithful)"
_UNTRUE = r"(?:inaccurate|incorrect|untrue|false|wrong|inconsistent|not entailed|unsupported|misleading)"
_AGREES = r"(?:match(?:es)?|describes?|reflects?|represents?|depicts?|aligns?|entails?|corresponds?|agrees?|fits?|supports?|captures?)"
_DENIES = r"(?:(?:does|do|did|is|are|was|would|can|could)(?:n't| not)|cannot|fails to|never)"
_ADVERBS = r"(?: (?!in|wrong|part|hard|mis)\w{1,12}ly| also| indeed| quite| fully| to be| be| an?){0,3}"
# The end of the sentence may retract the judgement.
_NOT_RETRACTED = r"(?![^.!?\n]{0,120}?(?:\b(?:but|except|although|though)\b|[,;.] ?(?:however|but)\b))"
# An answer is unparsed if it retracts its leading word, has both words, or calls the caption partly right.
QUALIFIED_YES_NO = (
    r"\A\W{0,4}yes\b[^.!?\n]{0,200}\b(?:but|however|except|exception|apart from|although|though|if|provided|mismatch|an error)\b"
    r"|\A\W{0,4}(?:yes|no)\b\W{1,6}(?:(?:actually|correction|edit|sorry|wait|or|and|maybe)\W{1,3}){0,3}(?:yes|no)\b"
    r"|\A\W{0,4}(?:no doubt|no,? (?:i see no|there (?:is|are) (?:no|nothing))|yes,? (?:to some|up to a|mostly|partly|partially|somewhat|the first|only))\b"
    r"|\A\W{0,4}(?:yes|no)\W{1,3}\d"
    r"|\A\W{0,4}no\W{1,4}(?:it|this|that)(?:'s| is) (?:accurate|correct|true|right\b(?! \w))"
    r"|\A\W{0,4}yes\W{1,4}(?:it|this|that)(?:'s| is| does)(?:n't| not)? (?:not match|inaccurate|incorrect|false|wrong)"
    r"|\b(?:partly|partially|almost|mostly|nearly|somewhat|largely) (?:accurate|correct|true|right|match\w*|describ\w*)"
)
# A sentence that doubts, supposes or concerns only a part does not judge the caption.
DOUBTFUL_SENTENCE = (
    r"\b(?:whether|if|unless|can't|cannot|unable|doubt|nothing|none|no one|no part|not a single|hardly|only|apart from|except|could be|"
    r"might|may be|part of|half|wouldn't|true that|false that|wrong to|unlikely|unsure|not (?:all|every\w*|sure|certain|clear)|some of|do(?:n't| not) (?:think|believe|see))\b"
)
_AFTER_NO = r"(?:the|it|this|that|there|they|he|she|because|since|as|i|we|in|based|an?|both|all|these|those|you|at|from|for|is|not)"
YES_NO_RULES = (
    Rule("boxed", r"\\boxed\{\W{0,3}(?P<option>yes|no)\b", "last"),
    Rule("final answer", rf"\bfinal (?:answer|verdict|decision)\b{GAP}{{0,20}}?\b(?P<option>yes|no)\b(?! one)", "last"),
    Rule(
        "final answer",
        r"\b(?:so|thus|therefore|hence|in conclusion|finally)\b[^.!?\n]{0,60}?"
        r"\b(?:answer (?:is|would be|to this is)|say|:)\W{0,4}(?P<option>yes|no)\b(?! [a-z])",
        "last",
    ),
    Rule("final answer", r"\b(?:so|thus|therefore|hence|overall),? (?P<option>yes|no)(?=[.!]?\s?(?:\Z|\n))", "last"),
    Rule("leading word", rf"\A\W{{0,4}}(?P<option>yes|no)(?=[.,;:!)\n\"'\]-]|\s?$|\s[-–—(]|\s{_AFTER_NO}\b)"),
    Rule(
        "leading word",
        r"\A(?:based on|according to|in the|from the) [^.!?\n,]{0,60}, (?P<option>yes|no)(?=[.,!]|\s?\Z)",
    ),
    Rule(
        "stated",
        r"\banswer\b(?:(?!not|n't|could|may|might)[^.!?\n]){0,30}?(?:is|:|be|=)\W{0,4}(?P<option>yes|no)\b(?! [a-z]|\s?/)",
    ),
    Rule(
        "stated",
        r"\b(?:i(?:'d| would)? (?:say|answer|choose|go with)|entailment|response|label|output)\b\W{1,4}(?P<option>yes|no)\b(?! [a-z])",
    ),
    Rule("stated", r"\A[^\n?]{0,300}\?\s?[\"'(]?(?P<option>yes|no)[.!]?[\"')]?\s?\Z"),
    Rule("stated", r"(?:(?<=[.:\n])|(?<=[.:\n] ))[\"'(]?(?P<option>yes|no)[.!]?[\"')]?\s?(?=\Z|\n)"),
    Rule(
        "judgement",
        rf"\b{_CAPTION}\b{GAP}{{0,40}}?\b(?:is|are|seems|appears|was){_ADVERBS} (?P<yes>{_TRUE})\b{_NOT_RETRACTED}",
    ),
    Rule(
        "judgement", rf"\b(?P<yes>{_CAPTION}{_ADVERBS} (?:matches|entails|agrees with|aligns with))\b{_NOT_RETRACTED}"
    ),
    Rule(
        "judgement", rf"\b{_CAPTION} (?P<yes>(?:accurately|correctly|perfectly|faithfully) {_AGREES})\b{_NOT_RETRACTED}"
    ),
    Rule(
        "judgement",
        rf"\bvideo{_ADVERBS} (?P<yes>entails|matches|supports|confirms) the (?:given )?{_CAPTION}\b{_NOT_RETRACTED}",
    ),
    Rule(
        "judgement",
        rf"\b{_CAPTION}\b{GAP}{{0,40}}?\b(?P<no>{_DENIES}{_ADVERBS} (?:{_AGREES}|{_TRUE})|(?:is|are|seems|appears|was){_ADVERBS} {_UNTRUE}|"
        rf"contradicts)\b",
    ),
    Rule(
        "judgement",
        rf"\bvideo (?P<no>{_DENIES}{_ADVERBS} {_AGREES}|contradicts) the (?:given )?{_CAPTION}\b{_NOT_RETRACTED}",
    ),
    Rule(
        "judgement of it",
        rf"\b(?:it|this|that|video|clip)(?:'s| is| seems| appears){_ADVERBS} (?P<yes>{_TRUE})\b{_NOT_RETRACTED}",
        "alone",
    ),
    Rule("judgement of it", rf"\b(?:accurately|correctly) (?P<yes>{_AGREES})\b{_NOT_RETRACTED}", "alone"),
    Rule("judgement of it", rf"\b(?P<no>{_DENIES}{_ADVERBS} (?:{_AGREES}|{_TRUE})|contradicts)\b", "alone"),
    Rule("judgement of it", rf"\b(?:it|this|that)(?:'s| is| seems){_ADVERBS} (?P<no>{_UNTRUE})\b", "alone"),
    Rule(
        "judgement alone",
        r"\A\W{0,3}(?P<yes>accurate|correct|true|right|entail(?:ed|ment)|(?:it )?match(?:es)?)\W{0,3}\Z",
        "alone",
    ),
    Rule(
        "judgement alone",
        r"\A\W{0,3}(?P<no>inaccurate|incorrect|false|wrong|contradiction|not (?:accurate|correct|true|entailed|a match)|no match|does not match)"
        r"\W{0,3}\Z",
        "alone",
    ),
)

# In the patterns of ratings, <top> is a placeholder for the highest rating of the scale, <numeral> for its numerals.
NUMERALS = ("zero", "one", "two", "three", "four", "five")
# Numbers that are not ratings: the ends of the scale, a number out of another maximum, and the number of a list item.
IGNORED_NUMBERS = (
    r"\b(?:scale |range )?(?:of |from |between )?0 ?(?:-|–|to|through|and|\.\.) ?<top>\b(?: scale)?",
    r"\b0(?:(?:,|/| or|, or| and) ?[1-5]){2,5}",
    r"(?<![\d.])\d{1,3}(?:\.\d{1,3})? ?(?:/|out of|of) ?(?!<top>\b)\d{1,3}\b",
    r"^ ?\d[.)] (?=[A-Z])",
)
# A reply with several ratings, a bound, a fraction or a question is unparsed.
AMBIGUOUS_RATING = (
    r"(?<![\w.])\d ?(?:-|–|~|to|or|and) ?\d(?![\w.]| ?(?:/|out of) ?\d)",
    r"[<>≤≥]=? ?\d|\b(?:at most|at least|less than|more than|greater than|below|above|up to|between a \w+ of) \d(?=\W{0,3}\Z)",
    r"(?<![\w/])\d{1,3}\.[1-9]|(?:\A\W{0,2}|[:=] ?)-\s?\d|\A\W{0,2}\d(?:, ?(?:no, ?)?\d)+|\A\d\?|\d\n{1,2}\d\W{0,2}\Z",
)
# A conditional or negative sentence gives no rating.
CONDITIONAL_SENTENCE = r"\b(?:if|unless|might|may|could|can't|cannot|would (?:be|require|need)|would not|wouldn't|not (?:give|deserve|an?|rate))\b|\?"
_AFTER_NUMBER = (
    r"(?! (?!points?|stars?|because|since|as|on|for|in|and|but|based|due|given|here|overall|with|the|is)[a-z]{2,})"
)
RATING_RULES = (
    Rule("boxed", r"\\boxed\{(?P<option>[0-<top>])\}", "last"),
    Rule(
        "number alone", r"\A\W{0,3}(?P<option>[0-<top>]|<numeral>)(?:\.0)?(?: ?(?:points?|stars?))?[\s.!\"')\]]{0,3}\Z"
    ),
    Rule(
        "over the highest",
        r"(?<![\w./])(?P<option>[0-<top>]|<numeral>)(?:\.0)? ?(?:points? )?(?:/|out of) ?(?:the )?<top>\b(?![./%]\d)",
    ),
    Rule("over the highest", r"\A\W{0,3}(?P<option>[0-<top>]) of <top>\b(?! (?!points)[a-z])"),
    Rule(
        "stated",
        r"(?:\b(?:rating|score|rate[sd]?|marks?|grade|similarity|give|giving|gets?|receives?|assign|deserves?)\b|"
        r"\b(?:answer|response|result|value)\b(?=[\"']? ?(?:is|:|=)))"
        r"(?:[\"']? ?(?:of|is|as|at|:|=|it|this|that|an?|the|would|will|be|should|my|candidate|to|answer|response|rating|score)\b|[\"']? ?[:=]){0,6}"
        r"[\W]{0,8}(?P<option>[0-<top>]|<numeral>)(?![\w/%]|\.\d| ?(?:out of|or|and)\b)" + _AFTER_NUMBER,
    ),
    Rule(
        "leading number", r"\A\W{0,3}(?P<option>[0-<top>])(?: ?points?)? ?(?=[-–—:;(\n]|[.,] |because\b|since\b|as\b)"
    ),
    Rule(
        "in words",
        r"(?P<full>\b(?:full|top|maximum|highest|perfect) (?:marks?|points?|scores?|ratings?|credit)\b)",
        "alone",
    ),
    Rule("in words", r"(?P<none>\b(?:no|zero) (?:marks?|points?|credit)\b)", "alone"),
)
