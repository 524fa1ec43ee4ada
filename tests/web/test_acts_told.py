"""What people did to an event, as sentences of its history, in both languages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from flask import g
from flask_babel import force_locale

from dlq_console.store.events import AuditEntry
from dlq_console.web.acts_told import act_told

DUE = "joana due 2030-03-01T11:00:00Z"


@pytest.mark.parametrize(
    ("action", "before", "after", "english", "portuguese"),
    [
        ("assign", None, "joana", "maria assigned it to joana.", "maria passou para joana."),
        ("assign", "joana", "maria", "maria took it.", "maria assumiu."),
        (
            "assign",
            None,
            DUE,
            "maria assigned it to joana, due 1 Mar 2030 08:00.",
            "maria passou para joana, com prazo até 01/03/2030 08:00.",
        ),
        (
            "assign",
            "joana",
            DUE,
            "maria set the due time to 1 Mar 2030 08:00.",
            "maria definiu o prazo: 01/03/2030 08:00.",
        ),
        ("assign", DUE, "joana", "maria took the due time away.", "maria retirou o prazo."),
        (
            "assign",
            "joana",
            None,
            "maria took it off the desk of joana.",
            "maria tirou de joana a responsabilidade.",
        ),
        ("tag", None, "a, b", "maria tagged it #a, #b.", "maria etiquetou com #a, #b."),
        ("tag", "a, b", "b", "maria took off #a.", "maria tirou #a."),
        ("tag", "a", "b", "maria tagged it #b and took off #a.", "maria etiquetou com #b e tirou #a."),
        ("note", None, None, "maria wrote a note.", "maria escreveu uma observação."),
        (
            "snooze",
            None,
            "2030-03-01T11:00:00Z",
            "maria snoozed it until 1 Mar 2030 08:00.",
            "maria adiou até 01/03/2030 08:00.",
        ),
        (
            "snooze",
            "2030-03-01T11:00:00Z",
            None,
            "maria ended its snooze.",
            "maria trouxe de volta antes da hora.",
        ),
        ("restore", "discarded", "dead", "maria took the discard back.", "maria desfez o descarte."),
    ],
)
def test_an_act_is_told_in_words(
    app_display: None, action: str, before: str | None, after: str | None, english: str, portuguese: str
) -> None:
    entry = AuditEntry(
        id=1,
        at=datetime(2030, 1, 1, tzinfo=UTC),
        actor="maria",
        action=action,
        event_id=1,
        subject=None,
        note=None,
        before=before,
        after=after,
    )
    assert act_told(entry) == portuguese
    with force_locale("en"):
        g.pop("display", None)
        g.pop("locale_name", None)
        assert act_told(entry) == english
