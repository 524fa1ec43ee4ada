"""What have the demo's own operators written, before a newcomer looks? Playbooks, an assignment, a tag, a note, a view.

They are written as soon as the dead letters of the opening are there, by the log-ins that the demo makes, so that nobody
takes them for somebody's real work. What people have written since, also in an earlier run, is never replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from urllib.parse import urlencode

from sqlalchemy import select

from dlq_console.clock import utc_now
from dlq_console.demo import opening
from dlq_console.demo.producers import ORIGIN
from dlq_console.errors import ActionNotAllowed, EventNotFound
from dlq_console.runtime import Hub
from dlq_console.store import people, views
from dlq_console.store.filters import EventFilter
from dlq_console.store.people import Person
from dlq_console.store.states import Status

#: How long whoever sees to something has.
DUE_IN = timedelta(hours=4)
#: Somebody was here before, and that stays.
_unless_done = suppress(ActionNotAllowed)

#: What the ERP says of all orders in the view that they share.
UNREGISTERED = "Cliente não cadastrado"

#: What they write, in the language of the installation.
WORDS: dict[str, dict[str, str]] = {
    "pt_BR": {
        "view": "Sem cliente cadastrado",
        "tag": "cadastro",
        "unregistered": "O cliente ainda não existe no ERP. Abra o ERP pelo link, cadastre o cliente e depois reprocesse. "
        "Muitos pedidos do mesmo cliente: reprocesse todos de uma vez.",
        "miscounted": "O total da nota não é a soma dos itens. Corrija o total no conteúdo e envie (papel: editor).",
        "note": "Pedi ao comercial os dados do cliente; a resposta vem ainda hoje.",
    },
    "en": {
        "view": "Without customer",
        "tag": "registration",
        "unregistered": "The customer does not exist in the ERP yet. Open the ERP by the link, register the customer, then "
        "reprocess. Many orders of one customer: reprocess all of them at once.",
        "miscounted": "The total of the invoice is not the sum of its lines. Correct it in the payload and send (role: editor).",
        "note": "I have asked sales for the customer's data; they answer today.",
    },
}


class Team:
    """Does what the operators of the demo do, once their dead letters are there.

    Args:
        hub: the hub of the demo.
        logins: the names of the log-ins by role.
    """

    def __init__(self, hub: Hub, logins: dict[str, str]) -> None:
        self._hub = hub
        self._words = WORDS[hub.settings.locale]
        self._operator, self._editor = logins["operator"], logins["editor"]
        #: What remains to be done; each step tells whether it is done.
        self._steps: list[Callable[[], bool]] = [
            self._explain_unregistered,
            self._explain_miscounted,
            self._take_one_order,
        ]

    def work(self) -> bool:
        """Do what can be done by now; True once nothing remains."""
        self._steps = [step for step in self._steps if not step()]
        return not self._steps

    def _explain_unregistered(self) -> bool:
        """Say how the cause of the many orders is fixed, take it on, and share the list of it."""
        found = self._first_dead("order.create", opening.ONE_CAUSE)
        if found is None:
            return False
        cause = found[1]
        if not self._explain(cause, self._words["unregistered"], self._operator):
            return False
        with _unless_done:
            self._hub.assign_group(cause, self._operator, utc_now() + DUE_IN, actor=self._operator, seen="")
        self._share_view()
        return True

    def _explain_miscounted(self) -> bool:
        found = self._first_dead("invoice.create", opening.MISCOUNTED)
        return found is not None and self._explain(found[1], self._words["miscounted"], self._editor)

    def _take_one_order(self) -> bool:
        """Somebody sees to one order, says what it is about, and what was done so far."""
        found = self._first_dead("order.create", opening.TAKEN_ON)
        if found is None:
            return False
        event_id, actor = found[0], self._operator
        with _unless_done:
            self._hub.assign(event_id, actor, utc_now() + DUE_IN, actor=actor, seen="")
        self._hub.tag(event_id, [self._words["tag"]], actor=actor, seen=())
        self._hub.add_note(event_id, self._words["note"], actor=actor, form="demo")
        return True

    def _explain(self, cause: str, text: str, actor: str) -> bool:
        """Write a playbook; False while the cause is not counted yet."""
        try:
            with _unless_done:
                self._hub.set_playbook(cause, text, actor=actor, seen="")
        except EventNotFound:
            return False
        return True

    def _share_view(self) -> None:
        # Kept from an earlier run, it stays as it is.
        with suppress(views.ViewNameTaken):
            views.save(
                self._hub.store,
                self._person(self._operator),
                name=self._words["view"],
                filter_=urlencode(EventFilter(kind=("order.create",), q=UNREGISTERED).query()),
                shared=True,
            )

    def _person(self, name: str) -> Person:
        return next(entry.person for entry in people.list_users(self._hub.store) if entry.person.name == name)

    def _first_dead(self, kind: str, account: str) -> tuple[int, str] | None:
        """The first dead letter of a kind and account, and the fingerprint of its cause."""
        event = self._hub.store.tables.event
        asked = (
            select(event.c.id, event.c.fingerprint)
            .where(event.c.status == Status.DEAD, event.c.kind == kind, event.c.account == account)
            .where(event.c.origin == ORIGIN, event.c.fingerprint.is_not(None))
            .order_by(event.c.id)
            .limit(1)
        )
        with self._hub.store.read() as connection:
            row = connection.execute(asked).first()
        return None if row is None else (row.id, row.fingerprint)
