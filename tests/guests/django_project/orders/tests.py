"""The tests of the shop's own people."""

import unittest

from django.test import TransactionTestCase

from dlq_console.contrib.django.testing import on_test_database
from orders.handlers import hub
from orders.models import Order


def setUpModule() -> None:
    """Let the hub work on the test database."""
    unittest.enterModuleContext(on_test_database(hub))


class OrderTest(TransactionTestCase):
    """What a customer sees."""

    def test_an_order_reaches_the_erp(self) -> None:
        self.client.post("/orders/", {"number": "8841"})
        assert hub.run_due() == 1
        assert Order.objects.get(number="8841").at_erp
