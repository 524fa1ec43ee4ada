"""How are stylesheets, scripts and pictures served? Under addresses that contain a hash of what they hold.

Such an address never changes its meaning, so browsers keep the file for a year and ask for it only once.
"""

from __future__ import annotations

import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from flask import Blueprint, Flask, Response, abort, current_app, request

#: How much of the hash stands in the address.
_HASH_DIGITS = 12
_FOREVER = "public, max-age=31536000, immutable"
_EXTENSION = "dlq_console_assets"

assets = Blueprint("assets", __name__)


@dataclass(frozen=True, slots=True)
class Asset:
    """One file that pages may load; all of them are small enough to stay in memory."""

    content: bytes
    version: str
    mimetype: str


def install(app: Flask, folder: Path) -> None:
    """Serve every file under `folder` at `/static/<version>/<name>`; templates call `asset(name)`."""
    app.extensions[_EXTENSION] = _read(folder)
    app.jinja_env.globals["asset"] = asset_address
    app.register_blueprint(assets)


def asset_address(name: str) -> str:
    """The address of the asset `name`, such as `css/base.css`, as it is now."""
    return f"{request.script_root}/static/{_assets()[name].version}/{name}"


@assets.get("/static/<version>/<path:name>")
def serve(version: str, name: str) -> Response:
    """One file. A page that was loaded before an update asks for an old version and gets the present one, unkept."""
    asset = _assets().get(name)
    if asset is None:
        abort(404)
    response = Response(asset.content, mimetype=asset.mimetype)
    response.set_etag(asset.version)
    response.headers["Cache-Control"] = _FOREVER if version == asset.version else "no-cache"
    response.make_conditional(request)
    return response


def _read(folder: Path) -> dict[str, Asset]:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(folder).as_posix(): _asset(path) for path in files}


def _asset(path: Path) -> Asset:
    content = path.read_bytes()
    version = hashlib.sha256(content).hexdigest()[:_HASH_DIGITS]
    return Asset(content, version, mimetypes.guess_type(path.name)[0] or "application/octet-stream")


def _assets() -> dict[str, Asset]:
    return cast(dict[str, Asset], current_app.extensions[_EXTENSION])
