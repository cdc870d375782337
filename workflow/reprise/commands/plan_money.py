"""What `plan` says of money: what was spent, and what the questions to vendors may cost."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from reprise.core.paths import Scored
from reprise.models.adapters import ADAPTERS
from reprise.models.asking.money.ledger import Ledger
from reprise.models.asking.money.prices import Price, Used
from reprise.plan.answers import Job
from reprise.plan.construction import WRITING, written
from reprise.plan.runs import Plan


class Bill(NamedTuple):
    """The questions of one job."""

    job: Job
    slug: str
    questions: int | None
    tokens: float | None
    """of their prompts"""


def money(plan: Plan, bills: Iterable[Bill]) -> Iterator[str]:
    """A line for models whose price is known, and one for the others."""
    paid = [one for one in bills if ADAPTERS[plan.config.models[one.slug].adapter].is_paid(_settings(plan, one))]
    spent = Ledger(plan.store.root).spent()
    priced = [(one, price) for one in paid if (price := plan.config.models[one.slug].price) is not None]
    unpriced = [one for one in paid if plan.config.models[one.slug].price is None]
    if priced:
        costs = [_usd(plan, one, price) for one, price in priced]
        dates = ", ".join(sorted({f"{one.slug} {price.date}, {price.source}" for one, price in priced}))
        yield (
            f"Money: ${spent.usd:.2f} of `budget_usd` {plan.budget.usd:g} are spent; to ask costs at most about "
            f"{_sum(costs, '${:.2f}')} (prices of {dates})."
        )
    if unpriced:
        tokens = [_tokens(plan, one) for one in unpriced]
        yield (
            f"Price unknown: {', '.join(sorted({one.slug for one in unpriced}))}. {spent.tokens:,} of `budget_tokens` "
            f"{plan.budget.tokens:,} are used; to ask takes at most about {_sum(tokens, '{:,.0f} tokens')}."
        )


def _settings(plan: Plan, bill: Bill) -> dict[str, object]:
    return plan.config.models[bill.slug].settings


def _used(plan: Plan, bill: Bill) -> Used | None:
    """The tokens of the prompts, and of answers that are as long as they may be; None where nobody knows."""
    if bill.questions is None or bill.tokens is None:
        return None
    limit = _settings(plan, bill).get("max_tokens")
    most = limit if isinstance(limit, int) else _tokens_of_protocol(plan, bill.job.scored)
    return Used(round(bill.tokens), bill.questions * most)


def _tokens_of_protocol(plan: Plan, scored: Scored) -> int:
    if scored.run.protocol == WRITING:
        return written(plan)[scored.run.benchmark].max_tokens
    protocol = plan.config.benchmarks[scored.run.benchmark].protocols[scored.run.protocol]
    return protocol.judge_tokens if scored.judge else protocol.max_tokens


def _usd(plan: Plan, bill: Bill, price: Price) -> float | None:
    used = _used(plan, bill)
    return None if used is None else price.usd(used)


def _tokens(plan: Plan, bill: Bill) -> float | None:
    used = _used(plan, bill)
    return None if used is None else used.total


def _sum(found: list[float | None], spelled: str) -> str:
    """A sum, and how many runs it leaves out."""
    known = [one for one in found if one is not None]
    text = spelled.format(sum(known))
    unknown = len(found) - len(known)
    if not known:
        return "what nobody knows yet: nothing like it was asked here"
    return f"{text}, not counting {unknown} of {len(found)} runs of which nothing is known" if unknown else text
