"""What workers load: the hub with its handlers."""

import django

django.setup()

from orders.handlers import hub  # noqa: E402 - models can be imported only now

__all__ = ["hub"]
