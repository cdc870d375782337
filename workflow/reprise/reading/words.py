"""What words do in an answer: which ones judge, deny, choose, report, compare, doubt, and which add nothing.

Every answer is read as English in lower case; `languages` puts other languages into these words first. A phrase of
several words is one word whose words are joined by "_".
"""


def words(listed: str) -> frozenset[str]:
    """The words and phrases of a list that commas separate; phrases as one word."""
    return frozenset("_".join(entry.split()) for entry in listed.split(",") if entry.strip())


# --- judging ---------------------------------------------------------------------------------------------------------

GOOD = words("""
    ranks above, ranks ahead of, ahead of, has the edge, has an edge, slight edge, got it right, correct, correctly,
    right, rightly, accurate, accurately, true, truthful, truthfully, truly, valid, entailed, entails, entail,
    entailment, supported, supports, support, supporting, consistent, match, matches, matched, matching, fit, fits,
    fitting, align, aligns, aligned, agree, agrees, agreement, correspond, corresponds, corresponding, coincide,
    coincides, confirm, confirms, confirmed, confirming, verified, faithful, faithfully, perfect, perfectly, precise,
    precisely, best, better, closer, closest, preferable, superior, plausible, convincing, appropriate, hold true,
    holds true, spot on, on point, wins, win, winner, makes sense, make sense, makes more sense, makes the most sense,
    makes most sense, justified, fulfilled, satisfied, met, evidence, accuracy, in line with, in accordance with,
    in favour of, in favor of, favours, favors, points to, point to, pointing to, what happens, what is happening,
    what happened, what actually happens, what is shown, what we see, what i see, what the video shows, what is seen,
    what can be seen, what is depicted, what takes place, what occurs, the case, gets my vote, beats, trumps,
    surpasses, outperforms, applies, apply, preferred, happens, happen, occurs, occur, takes place, take place,
    more likely, most likely one, likelier, likeliest, passes, checks out, check out, adds up, add up, well supported,
    fully supported, borne out, bears out, backed up, nothing to correct, nothing to fix, nothing to change,
    follows from, follow from, accept, accepted, acceptable, flawless, backed by, bears this out, bears it out,
    strongest, stronger, suitable, suited, adequate, adequately, sound, correctness, inferred, deduced, spot-on, ✓, ✔,
    ✅, ☑, 👍, 💯, identical, exact match, most exact
""")
BAD = words("""
    ranks below, falls behind, loses to, inferior to, inferior, incorrect, incorrectly, wrong, wrongly, inaccurate,
    inaccurately, false, falsely, untrue, invalid, mistaken, mistakenly, mismatch, mismatches, mismatched, contradict,
    contradicts, contradicted, contradicting, contradiction, contradictions, contradictory, conflict, conflicts,
    conflicting, differ, differs, differing, different, differently, discrepancy, discrepancies, the reverse of,
    the inverse of, error, errors, erroneous, erroneously, mistake, mistakes, inconsistent, inconsistency,
    inconsistencies, inaccuracy, inaccuracies, reversed, reverses, reversing, reverse order, swapped, swaps, swap,
    flipped, flips, opposite, inverted, inverts, mixed up, mixes up, mixing up, mix up, switched, switches, backwards,
    backward order, back to front, unlikely, worse, worst, implausible, misleading, overstates, exaggerates,
    misidentifies, misidentified, misidentify, misrepresents, misrepresented, misrepresent, misstates, misstated,
    misdescribes, misattributes, misreports, mislabels, misplaces, misses the mark, distorts, deviates, deviate,
    deviation, deviations, diverges, diverge, fails, fail, failed, failing, unsupported, doubt, doubts, doubtful,
    excluded, exclude, excludes, excluding, eliminated, eliminate, eliminates, eliminating, ruled out, rule out,
    rules out, ruling out, reject, rejects, rejected, rejecting, discard, discarded, dismiss, dismissed, refuted,
    refute, refutes, disproved, disproves, disprove, denies, denied, deny, disagree, disagrees, disagreement,
    disagreements, something else, something different, the other way round, the other way around, other way round,
    other way around, the wrong way round, vice versa, untenable, impossible, confuses, confused, confuse, fabricated,
    fabricates, hallucinated, invented, invents, problem, problems, issue, issues, fault, faults, flaw, flaws, flawed,
    off the mark, out of the question, violated, violates, breached, off the table, makes no sense, make no sense,
    out of the running, ruled_out, overruled, falls short, at odds, corrected, corrections, against, rebuts, nonsense,
    bogus, hardly likely, unfaithful, non-entailment, nonentailment, unacceptable, inexact, unrelated, made up,
    nothing to do with, another video, another clip, another scene, imprecise, less likely, out of order, wrong order,
    mischaracterizes, mischaracterises, unentailed, not_entailed, ✗, ✘, ❌, ✖, 👎, 🚫, ❎
""")
# Flaws that a leading Yes or No may be about: "No, I see no error", "Yes, there is a mismatch".
FLAWS = words("""
    error, errors, mismatch, mismatches, contradiction, contradictions, contradict, contradicts, contradicted,
    discrepancy, discrepancies, inconsistency, inconsistencies, inaccuracy, inaccuracies, mistake, mistakes, problem,
    problems, issue, issues, nothing to correct, nothing to fix, nothing to change, corrected, conflict, conflicts,
    difference, differences, deviation, deviations, wrong, incorrect, inaccurate, flaw, flaws, fault, faults,
    disagreement, disagreements, inconsistent, corrections, against, changed, fixed, amended, differs, differ, false,
    mistaken, off
""")
NEGATIONS = words("""
    not, never, no, none, neither, nor, nothing, nobody, no one, noone, nowhere, hardly, barely, scarcely, without,
    free of, free from, no longer, less, least, fewer, unable, non, devoid of, far from, anything but, by no means, in
    no way, no way, cannot, absent, rarely, all but, everything but, everything except, all except, every option
    except, any but
""")
# Verbs that judge where their object is what happens ("describes the video") or an adverb judges, and else report.
DEPICTS = words("""
    describe, describes, describing, capture, captures, reflect, reflects, depict, depicts, represent, represents,
    show, shows, showing, portray, portrays, convey, conveys, summarize, summarizes, summarise, summarises, cover,
    covers, illustrate, illustrates, mirror, mirrors, identify, identifies, follow, follows, followed, following,
    contain, contains, tell, tells, display, displays, present, presents, relates, characterizes, characterises,
    satisfies, satisfy, meets, displayed
""")
DEPICTED = words("""
    described, depicted, shown, represented, reflected, captured, portrayed, covered, conveyed, summarized,
    summarised, stated, mentioned
""")
SAYS = (
    words("""
        say, says, said, saying, state, states, stating, claim, claims, claimed, claiming, mention, mentions,
        mentioning, suggest, suggests, imply, implies, assert, asserts, tells, has, have, having, wants, want, needs,
        need, requires, require, would need, puts, places, names, speaks, talks, refers, reads, starts, begins, ends,
        asks, asked, lists, specifies, adds, involves, expects, presents, sets, lets, depicts, describes, shows,
        portrays, proposes, predicts
    """)
    | DEPICTS
)
WORLD = words("""
    video, clip, footage, scene, what, events, event, action, actions, recording, film, everything, all, reality,
    truth, content, contents, situation, happenings, visuals, way, how, frames, it, both, movie, here, order,
    sequence, course, chronology, timeline
""")
PARTS = words("""
    part, parts, half, portion, portions, beginning, ending, rest, aspect, aspects, some, piece, first_half,
    second_half
""")
WHOLES = words("every, each, all, everything, any, whole, entire, single")
PARTLY = words("""
    partly, partially, mostly, somewhat, largely, almost, nearly, half, in part, kind of, sort of, to some extent, to
    a degree, to a large extent, to a certain extent, to a great extent, up to the point, up to a point, up to, more
    or less, mainly, for the most part, roughly, in one respect, in one way, in some ways, in some respects
""")
OMITS = words("""
    omit, omits, omitted, omitting, leaves out, leave out, leaving out, left out, lacks, lack, lacking, misses,
    missing, skips, ignores, overlooks, forgets, lacks detail, incomplete
""")

# --- answering -------------------------------------------------------------------------------------------------------

ANSWERS = words("""
    answer, answers, ans, anwser, asnwer, final, response, reply, output, selection, selected, verdict, conclusion,
    decision, prediction, entailment, overall, correction, pick, choice, result, judgment, judgement, assistant,
    guess, label, match, one, best, winner, option, caption, description, statement, candidate, alternative, segment,
    entails, entailed, final_answer, preference, bet, vote, instinct, assessment, solution, edit, update, revised,
    favourite, favorite, impression, letter, contender, money, technique, first_choice, top_choice, edited
""")
LABELS = words("""
    answer, answers, ans, response, output, selection, selected, verdict, conclusion, decision, prediction,
    entailment, overall, correction, result, judgment, judgement, assistant, entails, entailed, final, final_answer,
    edit, update, revised, choice, pick, assessment, anwser, asnwer, guess, reply, solution, evaluation, summary,
    label, rating, score, grade, mark, similarity, points, assigned, entailment label, relation, relationship
""")
FINALS = words("""
    final, finally, ultimately, overall, conclusion, in conclusion, verdict, revised, correction, edit, update,
    final_answer
""")
PICKS = words("""
    choose, chose, choosing, pick, picked, picking, print, printing, select, selected, selecting, go with, going with,
    go for, going for, went with, say, lean, leaning, lean towards, leaning towards, lean toward, leaning toward, vote,
    voting, opt, opt for, opting for, guess, answer, prefer, settle on, settle for, settling on, favour, favor, bet on,
    bet, back, stick with, sticking with, end up with, ended up with, conclude, convinced, confident in, suspect,
    assume, wager, side with, siding with, inclined, take, call, identify, rate, give, deem, judge, going, settle,
    leave us with, leaves us with, leaves, leaving, left with, makes, make, making, ranks, rank
""")
CONCLUDES = words("""
    so, therefore, hence, thus, consequently, accordingly, ultimately, finally, overall, in short, in conclusion, in
    summary, in the end, to conclude, as a result, all in all, to sum up, then, →, altogether, on balance, that is
    why, for this reason, which means, this means, meaning, in total, by elimination, in sum, therefor, now
""")
HEDGES = words("""
    alone, probably, likely, most likely, very likely, perhaps, maybe, possibly, presumably, apparently, clearly,
    definitely, certainly, obviously, surely, simply, just, really, indeed, actually, absolutely, evidently,
    undoubtedly, plainly, quite, fairly, rather, pretty, very, more, most, only, still, arguably, honestly, frankly,
    certain, confident, sure, positive, gut, my gut says, gut feeling, if anything, without a doubt, no doubt, for
    sure, hands down, strongly, slightly, seemingly, fully, totally, completely, entirely, mainly, somewhat confident,
    i think, i believe, i guess, i suppose, in my opinion, in my view, to me, strictly, easily, could not be more, can
    not be more, beyond doubt, by far, of course, by a small margin, marginally, tentatively, fairly sure, pretty
    sure, much, a bit, a little
""")
FILLERS = words("""
    got, i, o, we, you, me, my, our, us, it, its, this, that, these, those, there, here, which, is, are, was, were,
    be, been, being, am, seems, seem, appears, appear, looks, look, sounds, feels, remains, remain, stays, to, the, a,
    an, of, on, at, as, for, with, by, from, would, will, shall, should, must, ought, has, do, does, did, had, have,
    having, think, believe, feel, find, consider, like, if forced, if pressed, if i had to guess, if i had to choose,
    if i must choose, if i have to choose, if in doubt, if needed, put, down, labelled, labeled, called, marked, hell,
    answering, saying, speaking, meant, elimination, process, gives, confidence, certainty, probability, possible,
    viable, money, forced, if pushed, if i were to guess, if i had to pick, if i must, when in doubt, gun to my head,
    and, but, or, ok, okay, well, hmm, um, uh, oh, ah, alright, all right, yes, let, video, clip, given, two, both,
    four, three, between, among, out, one, single, please, sorry, wait, no wait, mean, i mean, make, makes, statement,
    options, captions, sentence, question, asked, based, observation, observations, evidence, everything, information,
    provided, above, below, percent, %, shown, see, seen, frames, case, correctly, today, after all, again, now, then,
    too, also, hereby, resounding, firm, clear, big, definite, strong, simple, short, hard, solid, definitive, your,
    his, own, sole, remaining, candidate, left, letter, seconds, must be, to be, kind, so, entailed, what, happy,
    help, glad, thanks, certainly, great, good, nice, interesting, hi, hello, sir, friend, honest, best, guess,
    choice, once more, last, final, correct, right, better, because, since, in, how, considering, emphatic,
    straightforward, easy, tough, call, close, over, under, about, everything considered, points, towards, margin,
    small, narrow, seems to me, around, goes
""")
TURNS = words("""
    wait, actually, however, sorry, correction, mistake, mistaken, second thought, second thoughts, second look,
    closer inspection, second viewing, closer viewing, hmm, i mean, reconsider, reconsidering, reconsidered, on
    reflection, looking again, look again, looked again, scratch that, edit, oops, rather, update, revised, correct
    myself, corrected, changed, revised to, upon closer, on closer, or rather, as it stands, as it is, apologies,
    apologise, apologize, my bad, changed my mind, change my mind, strike that, take that back, i was wrong, i meant,
    meant, no wait, re-checking, rechecking, rewatching, in fact, instead, revise, misread, misspoke, reconsideration,
    double check, check again, think again, on second thought, on second thoughts, my mistake, closer look, after all
""")
DRAFTS = words("""
    initially, at first, first thought, first instinct, at first glance, at first sight, first glance, first sight,
    first impression, was going to, wanted to, tempted, tempting, expect, expected, i thought, we thought, was
    inclined, originally, i assumed, inclined at first, had thought, might think, may think, could think, would think,
    one could say, one might say, first guess, might expect, at a glance, might seem, may seem, some would say, some
    might say, might say, could say, might argue, could argue, first reaction, on first viewing, was about to, first
    said, said above, thought at first, thought it was, superficially, to begin with i
""")
CONDITIONS = words("""
    if, unless, otherwise, depend, depends, depending, suppose, supposing, assuming, imagine, hypothetically, had he,
    had she, had it, had they, were it, provided that, in case
""")
OPEN_QUESTIONS = words("""
    whether, unclear, undecided, undetermined, ambiguous, unsure, not sure, not certain, uncertain, torn, tie, tied,
    toss up, toss-up, coin flip, equally, unknown, do not know, does not know, no idea, inconclusive,
    indistinguishable, interchangeable, not clear, hard to say, hard to tell, impossible to tell, impossible to say,
    difficult to say, difficult to tell
""")
SO = words("so, therefore, hence, thus")
CAN = words("can, could, may, might")
MIGHT = words("could, might, may, possible, possibly, plausible")
KNOWS = words("""
    determine, decide, tell, say, know, verify, confirm, judge, assess, answer, choose, distinguish, evaluate, be
    sure, be certain, view, watch, access, open, play, process, assist, help, provide, make out, comment, rate, pick,
    select, conclude, ascertain, analyze, analyse, played, seen, determined, shown, opened, displayed, establish, be
    verified, verified, confirmed, determined, loaded, load, give, respond, viewed, accessed, processed, infer, discern
""")
COMPARES = words("""
    ranks above, ranks ahead of, ahead of, above, ranks below, below, falls behind, loses to, inferior to, than, over,
    rather than, instead of, unlike, as opposed to, compared to, compared with, in comparison to, in contrast to, in
    comparison with, versus, vs, beats, trumps, surpasses, outperforms, in place of, contrary to, relative to, more
    than, opposed to, different from
""")
BUTS = words("""
    even if, but, although, though, yet, however, except, albeit, while, whereas, still, nevertheless, even though,
    despite, whilst
""")
SPLITS = frozenset((",", ";")) | words("""
    and, but, so, because, since, while, whereas, although, though, however, therefore, hence, thus, yet, which,
    whilst, even_though, then, except, nor, where, albeit, :, (, ), -, →, consequently, meaning, when, given_that,
    considering, in that, even if
""")
EXCEPTS = words("""
    except, except for, except that, apart from, aside from, other than, save for, barring, apart, aside, excepting,
    with the exception of, with one exception, with an exception, with the exception, with a single exception, but
    for, excluding, bar, minus, save that, only that
""")
NEEDS = words("needed, needs, necessary, required")
CONCEDES = words("even if, although, though, even though, while, whilst, albeit, despite")
ADDS = words("""
    also, another, additional, additionally, extra, other, others, more, there, further, besides, too, someone, else,
    as well
""")
AGREES = words("as described, as stated, as claimed, as mentioned, as the caption says, as it says, as told, as in")
SEEING = words("""
    matter, matters, dark, blurry, blurred, blur, clear, clearly, unclear, visible, see, seen, sure, certain, tell,
    confirm, quality, angle, camera, view, lighting, light, grainy, brief, briefly, short, shortly, small, far, quick,
    quickly, fast, hidden, obscured, picture, image, resolution, visibility, shaky, lit, frame, frames, hard,
    difficult, moment, distance, dim, second, seconds, barely, partially, verify, low, audio, sound, context,
    background, explicitly, shown, certainty, room, noisy
""")
CAPTIONS = words("""
    caption, description, statement, sentence, hypothesis, annotation, summary, account, video and caption, caption
    and video, video and the caption, caption and the video, video and description, captions, text, claim, premise,
    narration, wording
""")
VIDEOS = words("video, clip, footage, film, frames, segment, recording, movie, scene, videos")
RELATES = words("""
    entail, entails, support, supports, match, matches, confirm, confirms, contradict, contradicts, agree, agrees,
    align, aligns, correspond, corresponds, refute, refutes, reflect, reflects, bears this out, bears it out, back,
    show, shows, fit, fits, conflict, conflicts, bear, bears, bears out, depict, depicts, substantiate, substantiates,
    coincide, coincides
""")
PRONOUNS = words("it, this, that, which, everything, he, she, they, all, these, those")
ASPECTS = words("""
    order, sequence, roles, role, details, detail, action, actions, manner, agent, events, event, person, direction,
    colour, color, object, timing, attributes, elements, element, number, count, part, parts, aspects, aspect,
    location, place, subject, doer, attribute, claims, chronology, description
""")
LEADING_VERBS = words("""
    is, are, was, does, do, did, not, has, matches, match, fits, fit, describes, seems, looks, gets, got, which,
    contradicts, can, could, should, must, would, will, also, clearly, fails, captures, reflects, misses, better,
    best, more, only, just, exactly, appears, remains, makes, corresponds, aligns, agrees, both, correct, incorrect,
    wrong, right, accurate, inaccurate, true, false, perfectly, accurately, correctly
""")
YES = words("yes, yep, yeah, yup, yea, yess, yesss, yessss, aye, yah, yas, yessir")
NO = words("nope, nah, nay, noo, nooo, naw")
AFFIRMS = words("""
    a match, i do not disagree, i do not see why not, i confirm, approved, match, matches, supported, accept,
    absolutely, definitely, certainly, indeed, of course, affirmative, entailed, agreed, exactly, precisely, it does,
    i think so, i believe so, i would say so, that is right, that is correct, totally, undoubtedly, without a doubt,
    no doubt, surely, i agree, entailment, all good, looks good, looks right, correct, true, right, accurate, sure,
    positive, confirmed, for sure, by all means, no doubt about it, seems so, looks like it, i suppose so, i guess so,
    it seems so
""")
DENIES = words("""
    not a match, i do not agree, not entailment, mismatch, no match, not supported, does not match, in no way,
    under no circumstances, unsupported, it does not, i do not think so, i do not believe so, not at all, not really,
    not quite, not exactly, not entirely, not fully, not completely, not entailed, negative, absolutely not,
    definitely not, certainly not, of course not, by no means, not true, not correct, false, incorrect, untrue, wrong,
    inaccurate, not in the slightest, i disagree, far from it, no way, only partly, only partially, only in part,
    i would not say so, i think not, i would say not, probably not, most likely not, afraid not, i am afraid not,
    likely not, not even close, not so, contradiction, non-entailment, non_entailment, nonentailment, no entailment,
    not an entailment, hardly, unlikely, nowhere near, not accurate, not remotely, i doubt it, not in the least,
    not in that order, not in this order, in the wrong order, not as described, not as stated, not the same,
    quite the opposite, on the contrary, no chance, not likely
""")
SENTENCES = words("it is, it does, that is")
NOUNS = words("""
    option, caption, choice, description, candidate, statement, alternative, sentence, version, variant, captions,
    options, statements, descriptions, choices, hypothesis
""")
SEGMENTS = words("""
    segment, part, half, clip, video, shot, scene, portion, section, piece, sequence, fragment, footage, bit, chunk,
    passage, excerpt, one, segments, videos, clips, recording, take, snippet, subclip, interval, block
""")

ALL_PHRASES = frozenset(
    phrase
    for kind in (
        GOOD, BAD, FLAWS, NEGATIONS, PARTLY, OMITS, PICKS, CONCLUDES, HEDGES, FILLERS, TURNS, DRAFTS, CONDITIONS,
        OPEN_QUESTIONS, KNOWS, COMPARES, BUTS, EXCEPTS, CAPTIONS, CONCEDES, AGREES, ADDS, ANSWERS, FINALS, LABELS,
        SPLITS,
    )
    for phrase in kind
    if "_" in phrase
)  # fmt: skip
