"""The Celery application of the shop."""

from celery import Celery
from events import hub

app = Celery("shop")
app.config_from_object("celeryconfig")

hub.attach(app)
