"""An ordinary project. Only the address of the database comes from outside: PostgreSQL, or a file of SQLite."""

import os
from typing import Any
from urllib.parse import urlsplit

_address = urlsplit(os.environ["SHOP_DATABASE"])

DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _address.path.lstrip("/"),
        "HOST": _address.hostname,
        "PORT": _address.port,
        "USER": _address.username,
    }
}
if _address.scheme == "sqlite":
    DATABASES["default"] = {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": _address.path,
        "TEST": {"NAME": f"{_address.path}.test"},
        "OPTIONS": {"timeout": 1},
    }

SECRET_KEY = "of the guest"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
ROOT_URLCONF = "shop.urls"
ALLOWED_HOSTS = ["testserver"]
INSTALLED_APPS = [
    "orders",
    "dlq_console.contrib.django",
]
