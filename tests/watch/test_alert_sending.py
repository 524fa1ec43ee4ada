"""Does a message leave at once where another channel hangs? Through a real server that drips and a real mail server."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack, closing

import pytest

from dlq_console import Hub
from dlq_console.clock import monotonic
from dlq_console.hub import alerting
from dlq_console.hub.channels import LONGEST
from dlq_console.settings import read_settings
from dlq_console.workers import alert_sending, steps
from tests.hub.mail_server import mail_server
from tests.hub.rude_servers import dripping
from tests.services.process import wait_until
from tests.store.making import rows

CONTENT = {"title": "a title", "text": "a text"}
#: A line that takes far longer than a conversation may.
DRIP = b"HTTP/1.1 200 OK\r\nX: " + b"a" * 10_000


def trials(hub: Hub, channel: str, number: int = 1) -> None:
    for _ in range(number):
        alerting.test_channel(hub.store, channel, CONTENT, actor="test")


def statuses(hub: Hub) -> Counter[str]:
    return Counter(row["status"] for row in rows(hub.store))


def test_mail_leaves_within_seconds_while_a_webhook_hangs(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alert_sending, "PATIENCE", 1.0)
    with mail_server() as mail, ExitStack() as rude:
        settings = read_settings(
            database_url=database_url,
            broker_url="",
            alert_webhook_url=f"http://127.0.0.1:{rude.enter_context(dripping(DRIP))}/",
            smtp_url=f"smtp://127.0.0.1:{mail.port}/?from=dlq@example.com&to=plantao@example.com",
        )
        with closing(Hub(settings)) as hub:
            trials(hub, "webhook", 5)
            trials(hub, "mail", 2)
            began = monotonic()
            steps.send_alerts(hub)
            wait_until(lambda: len(mail.taken) == 2, 10, "both mails are there")
            # Nor is held up what comes while the other still hangs.
            trials(hub, "mail")
            steps.send_alerts(hub)
            wait_until(lambda: len(mail.taken) == 3, 10, "the third mail is there")
            assert monotonic() - began < LONGEST / 2
            wait_until(lambda: alert_sending.busy(hub) == {"webhook"}, 10, "only the webhook is busy")
            # One message is held by the channel that hangs; the others wait for it and not in a lease.
            assert statuses(hub) == {"done": 3, "running": 1, "pending": 4}
            rude.close()
            wait_until(lambda: not alert_sending.busy(hub), 20, "the webhook is at rest")
            assert statuses(hub) == {"done": 3, "failed": 5}
