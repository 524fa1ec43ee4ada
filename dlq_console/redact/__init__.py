"""What does nobody need to read: passwords, keys, tax numbers? Everything that leaves or is kept passes here.

Fields of a payload are masked by their names when they are shown. Free text, such as the message of an error, is
searched for the usual spellings of a secret before it is kept.
"""

from dlq_console.redact.fields import also_secret, is_secret, masked, read_paths, redact_text
from dlq_console.redact.text import MASK

__all__ = ["MASK", "also_secret", "is_secret", "masked", "read_paths", "redact_text"]
