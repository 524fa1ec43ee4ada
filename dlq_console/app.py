"""The console: the table of contents of everything that is served."""

from __future__ import annotations

from flask import Flask
from jinja2 import StrictUndefined

from dlq_console.runtime import Hub
from dlq_console.settings import assets_path
from dlq_console.web import api, assets, auth, errors, health_probes, hub, i18n, security, templating
from dlq_console.web.door_acts import door_acts
from dlq_console.web.events import events
from dlq_console.web.fragments import fragments
from dlq_console.web.groups import groups
from dlq_console.web.health import health
from dlq_console.web.preferences import preferences
from dlq_console.web.rules import rules
from dlq_console.web.triage import triage


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
    auth.limiter.init_app(app)
    i18n.install(app)
    templating.install(app)
    errors.install(app)
    assets.install(app, assets_path("static"))

    app.register_blueprint(auth.auth)  # /login, /logout
    app.register_blueprint(triage)  # /, /dead-letters, /events
    app.register_blueprint(groups)  # /groups, /groups/<fingerprint>
    app.register_blueprint(events)  # /events/<id> and what can be done there
    app.register_blueprint(door_acts)  # /accounts/pause, /accounts/resume, /breakers/reset
    app.register_blueprint(rules)  # /rules
    app.register_blueprint(health)  # /health/breakers, /health/bulkheads
    app.register_blueprint(fragments)  # /_f/...: parts of those pages
    app.register_blueprint(preferences)  # /settings/preferences
    app.register_blueprint(health_probes.blueprint)  # /healthz, /readyz
    api.init_app(app)  # /api/v1/...
    return app
