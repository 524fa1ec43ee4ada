"""Where is Django's database, as the hub wants it named? So that it need not be written down twice."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from django.db import DEFAULT_DB_ALIAS, connections

from dlq_console.errors import ConfigurationError

#: Options of a connection that the driver of PostgreSQL takes as they are, beside those that begin with "ssl".
_OPTIONS = ("passfile", "service", "target_session_attrs")


def database_url(using: str = DEFAULT_DB_ALIAS) -> str:
    """The database that the project calls `using`, written as DLQ_DATABASE_URL; while tests run, their database.

    Raises:
        ConfigurationError: it is of a make that the hub does not know, or in memory.
    """
    connection = connections[using]
    if connection.vendor == "sqlite":
        return _of_file(using, str(connection.settings_dict["NAME"]))
    if connection.vendor == "postgresql":
        return _of_server(connection.settings_dict)
    raise ConfigurationError(
        f'The database "{using}" is {connection.display_name}: DLQ Console needs PostgreSQL or SQLite.'
    )


def _of_file(using: str, name: str) -> str:
    if name == ":memory:" or name.startswith("file:"):
        raise ConfigurationError(
            f'The database "{using}" is in memory, where nobody else can read it: write a file in DATABASES, for tests as '
            '"TEST": {"NAME": BASE_DIR / "test.sqlite3"}.'
        )
    return f"sqlite:///{name}"


def _of_server(settings: dict[str, object]) -> str:
    user, password = (quote(str(settings[name]), safe="") for name in ("USER", "PASSWORD"))
    host, port, name = (str(settings[name]) for name in ("HOST", "PORT", "NAME"))
    options = settings.get("OPTIONS")
    known = options if isinstance(options, dict) else {}
    query = {key: str(value) for key, value in known.items() if key in _OPTIONS or key.startswith("ssl")}
    if host.startswith("/"):  # the folder of a socket
        query |= {"host": host} | ({"port": port} if port else {})
        host = port = ""
    login = f"{user}:{password}@" if password else f"{user}@" * bool(user)
    place = host + f":{port}" * bool(port)
    return f"postgresql+psycopg://{login}{place}/{quote(name)}" + f"?{urlencode(query)}" * bool(query)
