"""Caption scores against examples worked out by hand, in COCO's definition."""

import math
import random
from collections import Counter

import numpy as np
import pytest
from reprise.stats.caption_scores import ORDERS, bleu, bleu_columns, cider, rouge_l, tokenize

CAT, MAT = "The cat sat on the mat.", "the cat is on the mat"


@pytest.mark.parametrize(("text", "tokens"), [
    ("The cat sat, on the mat!", "the cat sat on the mat"),
    ("a left-handed person's cup", "a left-handed person 's cup"),
    ("It’s 3.5 seconds; don't stop.Then", "it 's 3.5 seconds do n't stop then"),
    ("“Push” (or pull)...", "push or pull"),
    (" \n", ""),
])  # fmt: skip
def test_the_tokenizer(text: str, tokens: str) -> None:
    assert " ".join(tokenize(text)) == tokens


def test_rouge_by_hand() -> None:
    """Five of six tokens in common: precision and recall are equal, so the weight does not matter; then it does."""
    assert rouge_l(CAT, MAT) == pytest.approx(5 / 6)
    precision, recall = 1, 2 / 6
    assert rouge_l("the cat", MAT) == pytest.approx(2.44 * precision * recall / (recall + 1.44 * precision))
    assert rouge_l("", MAT) == 0


def corpus_bleu(candidates: list[str], references: list[str]) -> list[float]:
    columns = bleu_columns(candidates, references)
    ratios = np.array([[above.sum() / below.sum() for above, below in columns]])
    return [float(bleu(order)(ratios)[0]) for order in ORDERS]


def test_bleu_by_hand() -> None:
    """5 of 6 words, 3 of 5 pairs, 1 of 4 triples match; no four do, which COCO's guard makes 1e-15 of 3."""
    *found, four = corpus_bleu([CAT], [MAT])
    assert found == pytest.approx([5 / 6, math.sqrt(1 / 2), 1 / 2])
    assert four == pytest.approx((1 / 8 * 1e-15 / 3) ** (1 / 4))
    assert corpus_bleu(["the cat"], [MAT])[0] == pytest.approx(math.exp(1 - 6 / 2)), "a short caption is punished"
    assert corpus_bleu([CAT, "the cat"], [MAT, MAT])[0] == pytest.approx(7 / 8 * math.exp(1 - 12 / 8))
    assert corpus_bleu(["", ""], [MAT, CAT]) == [0, 0, 0, 0]


def test_cider_by_hand() -> None:
    """`a` is in every reference and weighs nothing; there are no triples, which count as 0 of the four orders."""
    assert cider(["a b", "a c"], ["a b", "a c"]) == pytest.approx([10 * 2 / 4] * 2)
    shorter = math.exp(-1 / (2 * 6**2))
    assert cider(["b", "a"], ["a b", "a c"]) == pytest.approx([10 * shorter / 4, 0])
    long = ["a b c d e", "f g h i j"]
    assert cider(long, long) == pytest.approx([10, 10])
    assert cider([""], [MAT]) == [0]


def plain_cider(candidates: list[str], references: list[str]) -> list[float]:
    """CIDEr-D by the letter of its definition, one n-gram after the other."""

    def counts(text: str, order: int) -> Counter[tuple[str, ...]]:
        tokens = tokenize(text)
        return Counter(tokens[i : i + order] for i in range(len(tokens) - order + 1))

    def cosine(candidate: str, reference: str, order: int) -> float:
        seen = Counter(gram for text in references for gram in counts(text, order))
        sides = [counts(text, order) for text in (candidate, reference)]
        found, wanted = (
            {gram: n * (math.log(len(references)) - math.log(max(1, seen[gram]))) for gram, n in side.items()}
            for side in sides
        )
        norms = [math.sqrt(sum(weight**2 for weight in side.values())) for side in (found, wanted)]
        product = sum(min(found[gram], wanted[gram]) * wanted[gram] for gram in found.keys() & wanted.keys())
        return product / math.prod(norms) if all(norms) else 0.0

    def score(candidate: str, reference: str) -> float:
        apart = sum(counts(candidate, 2).values()) - sum(counts(reference, 2).values())
        return 10 / 4 * math.exp(-(apart**2) / 72) * sum(cosine(candidate, reference, order) for order in ORDERS)

    return [score(*pair) for pair in zip(candidates, references, strict=True)]


@pytest.mark.parametrize("seed", range(5))
def test_cider_of_many_captions_at_once_is_that_of_each_by_definition(seed: int) -> None:
    draw = random.Random(seed)
    words = ["a", "b", "c", "the", "don't", "x-y", "3.5", "é", "Zz", "…"]
    texts = [" ".join(draw.choices(words, k=draw.randrange(12))) for _ in range(2 * 9)]
    candidates, references = texts[:9], texts[9:]
    assert cider(candidates, references) == pytest.approx(plain_cider(candidates, references), abs=1e-12)
