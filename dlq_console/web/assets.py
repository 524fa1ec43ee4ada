"""How are stylesheets, scripts and pictures served? Compressed, under addresses that contain a hash of what they hold.

Such an address never changes its meaning, so browsers keep the file for a year and ask for it only once. The files are
compressed when the process starts, so a request costs nothing but sending.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from flask import Blueprint, Flask, Response, abort, current_app, request

#: How much of the hash stands in the address.
_HASH_DIGITS = 12
#: A file is served compressed where that is shorter than this part of it.
_WORTH_IT = 0.9
_FOREVER = "public, max-age=31536000, immutable"
_EXTENSION = "dlq_console_assets"
#: What a status frame loads, which in a sandbox has no origin, and what the page around it may load.
_FOR_FRAMES = frozenset({"css/tokens.css", "css/embed.css", "js/embed.js", "js/embed-height.js"})

assets = Blueprint("assets", __name__)


@dataclass(frozen=True, slots=True)
class Asset:
    """One file that pages may load; all of them are small enough to stay in memory."""

    content: bytes
    #: The same compressed; None where that is hardly shorter.
    compressed: bytes | None
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
    if asset.compressed is not None:
        response.vary.add("Accept-Encoding")
        if request.accept_encodings["gzip"] > 0:
            response.set_data(asset.compressed)
            response.content_encoding = "gzip"
            # Other bytes are another thing to whoever keeps them.
            response.set_etag(f"{asset.version}-gzip")
    if name in _FOR_FRAMES:
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    response.headers["Cache-Control"] = _FOREVER if version == asset.version else "no-cache"
    response.make_conditional(request)
    return response


def _read(folder: Path) -> dict[str, Asset]:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(folder).as_posix(): _asset(path) for path in files}


def _asset(path: Path) -> Asset:
    content = path.read_bytes()
    version = hashlib.sha256(content).hexdigest()[:_HASH_DIGITS]
    # The time is left out, so that every process makes the same of a file.
    compressed = gzip.compress(content, mtime=0)
    return Asset(
        content,
        compressed if len(compressed) < len(content) * _WORTH_IT else None,
        version,
        mimetypes.guess_type(path.name)[0] or "application/octet-stream",
    )


def _assets() -> dict[str, Asset]:
    return cast(dict[str, Asset], current_app.extensions[_EXTENSION])
