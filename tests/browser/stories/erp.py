"""What do the stories send to? An ERP that is a folder: what it knows, and how it fares, are files in it."""

from __future__ import annotations

import time
from pathlib import Path

from dlq_console.errors import PermanentError

#: Seconds after which an order that hangs is answered all the same.
HANGS_AT_MOST = 90.0
POLL_SECONDS = 0.05
#: The variable that tells the worker where the folder is.
FOLDER = "STORY_ERP"


class FolderErp:
    """One folder for each account; the test writes into it, the handlers of the worker read it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def register(self, account: str, customer: str) -> None:
        """Somebody registers a customer."""
        self._write(account, f"customer-{customer}")

    def suspend(self, account: str) -> None:
        """The certificate with which the account signs has expired."""
        self._write(account, "certificate-expired")

    def renew(self, account: str) -> None:
        """Somebody has renewed it."""
        self._file(account, "certificate-expired").unlink()

    def hang(self, account: str, *, above: int) -> None:
        """Invoices with higher numbers are not answered, until `answer`."""
        self._write(account, "hangs", str(above))

    def answer(self, account: str) -> None:
        """Invoices are answered again."""
        self._file(account, "hangs").unlink()

    def block(self, account: str, product: str) -> None:
        """Nobody may change this product."""
        self._write(account, f"blocked-{product}")

    def unblock(self, account: str, product: str) -> None:
        """It may be changed again."""
        self._file(account, f"blocked-{product}").unlink()

    def take_order(self, account: str, customer: str) -> None:
        """An order comes in.

        Raises:
            PermanentError: the customer is not registered.
        """
        if not self._file(account, f"customer-{customer}").exists():
            raise PermanentError(f"Cliente não cadastrado para o código [{customer}].")

    def take_invoice(self, account: str, number: int) -> None:
        """An invoice comes in.

        Raises:
            PermanentError: it cannot be signed.
        """
        if self._file(account, "certificate-expired").exists():
            raise PermanentError("Rejeição: certificado digital do emitente vencido.")
        until = time.monotonic() + HANGS_AT_MOST
        while number > self._answers_up_to(account, number) and time.monotonic() < until:
            time.sleep(POLL_SECONDS)

    def take_price(self, account: str, product: str) -> None:
        """A price comes in.

        Raises:
            PermanentError: the product is blocked.
        """
        if self._file(account, f"blocked-{product}").exists():
            raise PermanentError(f"Produto {product} bloqueado para alteração.")

    def _answers_up_to(self, account: str, number: int) -> int:
        try:
            return int(self._file(account, "hangs").read_text())
        except FileNotFoundError:
            return number

    def _write(self, account: str, name: str, text: str = "") -> None:
        file = self._file(account, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        # In one move, so that nobody reads half of it.
        whole = file.with_name(f"{name}.new")
        whole.write_text(text)
        whole.replace(file)

    def _file(self, account: str, name: str) -> Path:
        return self._folder / account / name
