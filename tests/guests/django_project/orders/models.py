"""What the shop keeps."""

from __future__ import annotations

from django.db import models


class Order(models.Model):
    """An order, and whether the ERP has it."""

    number: models.CharField[str, str] = models.CharField(max_length=20, unique=True)
    at_erp: models.BooleanField[bool, bool] = models.BooleanField(default=False)
