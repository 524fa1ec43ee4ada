"""What do the tests of redaction get? A process that keeps nothing secret beyond what names tell, afterwards as well."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dlq_console.redact import fields


@pytest.fixture
def forgetting() -> Iterator[None]:
    """Forget at the end of the test which fields it declared secret."""
    before = fields._also.paths, fields._also.names
    yield
    fields._also.paths, fields._also.names = before
