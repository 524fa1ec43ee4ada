"""What in this installation does not work, or will hurt one day? Small checks in one table; each finding says what to do.

`examining.py` runs the table in `checks.py`; what a check looks at stands in `patient.py`. Findings are values of
`health/findings.py`; their words are where they are shown.
"""

from dlq_console.watch.doctor.examining import examine
from dlq_console.watch.doctor.keeping import keep_examined

__all__ = ["examine", "keep_examined"]
