"""What do the policies of kinds mean for a bulk run? The same as for one event, but nobody is there to be asked."""

from __future__ import annotations

from dlq_console.hub.methods.base import HubBase
from dlq_console.hub.policy import Policy
from dlq_console.hub.staleness import in_the_way
from dlq_console.store.bulk.close_looks import KindFacts
from dlq_console.store.bulk.items import Refusal
from dlq_console.store.bulk.releasing import Rule


def rule_of(policy: Policy) -> Rule:
    """What the policy of a kind says about letting its events go."""
    cause = Refusal.STALE if policy.replay_policy == "ask" else Refusal.SUPERSEDED
    return Rule(policy.max_wait, in_the_way(policy.replay_policy, even_if_newer=False), cause)


def kind_facts(hub: HubBase) -> dict[str, KindFacts]:
    """What a preview needs to know about every kind that is known here."""
    published = hub.known_kinds()
    facts = {}
    for name in {*published, *(kind.name for kind in hub.registry.kinds())}:
        policy, known = hub.policy(name), published.get(name)
        provider = policy.provider if known is None else known.provider
        facts[name] = KindFacts(rule_of(policy), policy.max_age, provider)
    return facts
