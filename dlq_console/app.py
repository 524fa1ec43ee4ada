"""The console: the table of contents of everything that is served."""

from __future__ import annotations

from flask import Flask
from jinja2 import StrictUndefined

from dlq_console.runtime import Hub
from dlq_console.settings import assets_path
from dlq_console.web import (
    api,
    assets,
    auth,
    errors,
    health_probes,
    hub,
    i18n,
    origins,
    security,
    templating,
    visible,
)
from dlq_console.web.acts import acts
from dlq_console.web.alerts import alerts
from dlq_console.web.audit import audit
from dlq_console.web.bulk import bulk
from dlq_console.web.charts import charts
from dlq_console.web.desk_acts import desk_acts
from dlq_console.web.doctor import doctor
from dlq_console.web.door_acts import door_acts
from dlq_console.web.edit import edit
from dlq_console.web.embed import embed
from dlq_console.web.embed_settings import embed_settings
from dlq_console.web.events import events
from dlq_console.web.export import export
from dlq_console.web.fragments import fragments
from dlq_console.web.groups import groups
from dlq_console.web.health import health
from dlq_console.web.health_pages import health_pages
from dlq_console.web.metrics import metrics
from dlq_console.web.preferences import preferences
from dlq_console.web.reveal import reveals
from dlq_console.web.rules import rules
from dlq_console.web.search import search
from dlq_console.web.triage import triage
from dlq_console.web.views import views
from dlq_console.web.work import my_work


def create_app(runtime: Hub) -> Flask:
    """The WSGI application in front of a hub.

    Raises:
        ConfigurationError: there is no secret key to sign sessions and forms with, or one that can be guessed.
    """
    settings = runtime.settings
    security.check_secret_key(settings.secret_key)
    app = Flask("dlq_console", template_folder=str(assets_path("templates")), static_folder=None)
    app.config["SECRET_KEY"] = settings.secret_key
    app.jinja_options = {"undefined": StrictUndefined, "trim_blocks": True}
    app.extensions[hub.EXTENSION] = runtime

    security.install(app, trusted_proxies=settings.trusted_proxies)
    origins.install(app)
    auth.limiter.init_app(app)
    i18n.install(app)
    templating.install(app)
    errors.install(app)
    visible.install(app)
    assets.install(app, assets_path("static"))

    app.register_blueprint(auth.auth)  # /login, /logout
    app.register_blueprint(triage)  # /, /dead-letters, /events
    app.register_blueprint(search)  # /search
    app.register_blueprint(views)  # /views
    app.register_blueprint(export)  # /export/<list>.csv, .json
    app.register_blueprint(bulk)  # /bulk, /bulk/<id>
    app.register_blueprint(groups)  # /groups, /groups/<fingerprint>
    app.register_blueprint(events)  # /events/<id> and what can be done there
    app.register_blueprint(reveals)  # /events/<id>/reveal, /events/<id>/payload.json
    app.register_blueprint(
        desk_acts
    )  # /events/<id>/assign, tag, notes, snooze; /groups/<fingerprint>/assign, note
    app.register_blueprint(my_work)  # /work
    app.register_blueprint(audit)  # /audit
    app.register_blueprint(acts)  # /events/<id>/cancel-send, /restore, /precheck
    app.register_blueprint(edit)  # /events/<id>/edit
    app.register_blueprint(door_acts)  # /accounts/pause, /accounts/resume, /breakers/reset
    app.register_blueprint(rules)  # /rules
    app.register_blueprint(alerts)  # /alerts and what can be done there
    app.register_blueprint(doctor)  # /health/doctor
    app.register_blueprint(health_pages)  # /health, /health/accounts/<account>
    app.register_blueprint(charts)  # /health/lag, /health/series.json, /health/series.csv
    app.register_blueprint(health)  # /health/breakers, /health/bulkheads
    app.register_blueprint(fragments)  # /_f/...: parts of those pages
    app.register_blueprint(preferences)  # /settings/preferences
    app.register_blueprint(embed_settings)  # /settings/embeds
    app.register_blueprint(embed)  # /embed/<token>, /badge/<token>.svg: no log-in
    app.register_blueprint(health_probes.blueprint)  # /healthz, /readyz
    app.register_blueprint(metrics)  # /metrics
    api.init_app(app)  # /api/v1/...
    return app
