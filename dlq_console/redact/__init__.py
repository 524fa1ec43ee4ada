"""What does nobody need to read: passwords, keys, tax numbers? Everything that leaves or is kept passes here.

Fields of a payload are masked by their names when they are shown. Free text, such as the message of an error, is
searched for the usual spellings of a secret before it is kept.
"""

from dlq_console.redact.fields import (
    Path,
    also_secret,
    inside,
    is_secret,
    masked,
    masked_text,
    read_paths,
    redact_text,
)
from dlq_console.redact.putting_back import Misplaced, MisplacedMask, put_back
from dlq_console.redact.text import MASK

__all__ = [
    "MASK",
    "Misplaced",
    "MisplacedMask",
    "Path",
    "also_secret",
    "inside",
    "is_secret",
    "masked",
    "masked_text",
    "put_back",
    "read_paths",
    "redact_text",
]
