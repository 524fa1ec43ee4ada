"""What limits the events of one kind: its policy, and what the rules know of its provider."""

from __future__ import annotations

from dlq_console.classify import ErrorBudget, Limits, Rate, Reach
from dlq_console.hub.policy import Policy
from dlq_console.resilience import pacing
from dlq_console.store.limits import KindLimits


def limits_of(policy: Policy, provider: Limits | None) -> KindLimits:
    """The limits of one kind, as claims keep to them.

    Args:
        policy: of the kind.
        provider: what its provider allows; None where nothing is known of it.
    """
    known = provider or Limits()
    method, account, shared = (
        known.rates.get(reach, Rate()) for reach in (Reach.METHOD, Reach.ACCOUNT, Reach.PROVIDER)
    )
    budget = known.error_budget
    counts_account = budget is not None and budget.reach is Reach.ACCOUNT
    at_once = [most for most in (policy.max_running, method.at_once) if most is not None]
    return KindLimits(
        provider=policy.provider,
        timeout=policy.timeout,
        writes=policy.writes,
        method=pacing.Limits(
            per_minute=method.per_minute,
            at_once=min(at_once) if at_once else None,
            budget=None if counts_account else _budget(budget),
        ),
        account=pacing.Limits(
            per_minute=account.per_minute,
            at_once=account.at_once,
            budget=_budget(budget) if counts_account else None,
        ),
        shared=pacing.Limits(per_minute=shared.per_minute),
        writes_at_once=known.writes_at_once if policy.writes else None,
    )


def _budget(budget: ErrorBudget | None) -> pacing.ErrorBudget | None:
    """Counted per account, or per account and kind; what is counted over all accounts is kept per kind as well."""
    if budget is None:
        return None
    return pacing.ErrorBudget(failures=budget.failures, seconds=budget.seconds, keep=budget.keep)
