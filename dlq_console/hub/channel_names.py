"""Where does a channel lead, as far as anybody may read? Never a password, a path or a whole address of a person."""

from __future__ import annotations

from urllib.parse import urlsplit

from dlq_console.hub.channels import FROM_ENVIRONMENT, Apprise, Channel, Mail, Webhook

#: Stands for what is not told.
HIDDEN = "•••"


def shown(channel: Channel) -> str:
    """Where it leads: a host, who gets the mail by domain, or which service; the rest may be a secret."""
    match channel:
        case Webhook(url):
            parts = urlsplit(url)
            port = f":{parts.port}" if parts.port else ""
            return f"{parts.scheme}://{_host(parts.hostname or '')}{port}/{HIDDEN}"
        case Mail(server):
            domains = dict.fromkeys(f"{HIDDEN}@{name.rpartition('@')[2]}" for name in server.recipients)
            return f"{server.host}:{server.port} → {', '.join(domains)}"
        case Apprise(url=url):
            # Behind it may be a host or the token of a bot, as the service likes.
            return f"{url.partition('://')[0]}://{HIDDEN}"
    return HIDDEN


def written(channel: Apprise) -> str:
    """How the file of rules says its address: a variable of the environment by name, an address without what may be secret."""
    return f"{FROM_ENVIRONMENT}{channel.variable}" if channel.variable else shown(channel)


def _host(name: str) -> str:
    return f"[{name}]" if ":" in name else name
