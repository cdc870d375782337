"""Caption scores against examples worked out by hand, in COCO's definition."""

import math

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
    # `b` of the reference is matched once: min(2, 1) * 1 / (2 * 1) is 1/2; `b b` is no pair of it.
    assert cider(["b b", "c"], ["a b", "a c"])[0] == pytest.approx(10 / 2 / 4)
    shorter = math.exp(-1 / (2 * 6**2))
    assert cider(["b", "a"], ["a b", "a c"]) == pytest.approx([10 * shorter / 4, 0])
    long = ["a b c d e", "f g h i j"]
    assert cider(long, long) == pytest.approx([10, 10])
    assert cider([""], [MAT]) == [0]
