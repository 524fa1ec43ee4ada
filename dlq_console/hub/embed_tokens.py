"""What stands in the address of a status frame? Its id and version, signed, so that no address can be guessed.

When it expires, is paused or revoked is decided by its row, so that the same address can be renewed and told again.
"""

from __future__ import annotations

import hashlib

from itsdangerous import BadSignature, URLSafeSerializer

from dlq_console.store.cursors import MAX_ID

#: Characters of a token; one that is longer is none.
LONGEST = 200


def sign(secret_key: str, embed_id: int, version: int) -> str:
    """The token of one version of a frame; always the same."""
    return _serializer(secret_key).dumps([embed_id, version])


def read(secret_key: str, token: str) -> tuple[int, int] | None:
    """Id and version that a token was made for; None where it is none of ours."""
    if len(token) > LONGEST:
        return None
    try:
        embed_id, version = _serializer(secret_key).loads(token)
    except (BadSignature, TypeError, ValueError):
        return None
    return (embed_id, version) if 0 < embed_id <= MAX_ID else None


def _serializer(secret_key: str) -> URLSafeSerializer:
    # What is signed for anything else is worth nothing here, and the other way round.
    return URLSafeSerializer(
        secret_key, salt="dlq-console.embed", signer_kwargs={"digest_method": hashlib.sha256}
    )
