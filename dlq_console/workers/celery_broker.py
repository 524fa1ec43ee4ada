"""How do the publisher and the worker speak of the same thing: one task name, one queue per account, one set of options?"""

from __future__ import annotations

from typing import Any

from celery import Celery
from kombu import Exchange, Queue

from dlq_console.hub.dispatch import VISIBILITY_TIMEOUT

#: The one task, whatever the kind of event.
RUN_EVENT = "dlq_console.run_event"
#: How long one exchange with the broker may take, in seconds.
SOCKET_TIMEOUT = 2.0


def account_queue(name: str) -> Queue:
    """The queue of that name, reached by its name alone: on both brokers this spares a binding per account."""
    return Queue(name, exchange=_by_name(name), routing_key=name, durable=True)


def configure(app: Celery, broker_url: str) -> None:
    """What publisher and worker have in common."""
    app.conf.update(
        broker_url=broker_url,
        broker_connection_timeout=SOCKET_TIMEOUT,
        broker_transport_options=_transport_options(broker_url),
        task_protocol=2,
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        task_default_exchange="",
        task_default_delivery_mode="persistent",
        task_create_missing_queues=True,
        worker_send_task_events=False,
        worker_enable_remote_control=False,
    )
    app.amqp.autoexchange = _by_name  # type: ignore[assignment] # a function, says its documentation


def is_amqp(broker_url: str) -> bool:
    """Whether the broker speaks AMQP; otherwise it is Redis."""
    return broker_url.startswith("amqp")


def _transport_options(broker_url: str) -> dict[str, Any]:
    if is_amqp(broker_url):
        # Without a confirmation a message that the broker dropped would count as sent.
        return {"confirm_publish": True}
    return {
        "visibility_timeout": VISIBILITY_TIMEOUT,
        # One key per queue instead of four: every look for work names all of them.
        "priority_steps": [0],
        "socket_timeout": SOCKET_TIMEOUT,
        "socket_connect_timeout": SOCKET_TIMEOUT,
        "socket_keepalive": True,
    }


def _by_name(_queue: str) -> Exchange:
    return Exchange("", type="direct")
