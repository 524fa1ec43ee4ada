"""What the shop does in the background by itself."""

import time

from celery import shared_task


@shared_task
def send_mail(address: str) -> str:
    """Write to a customer."""
    return f"sent to {address}"


@shared_task
def count_stock(seconds: float) -> None:
    """Takes its time."""
    time.sleep(seconds)
