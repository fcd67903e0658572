"""sqlite-utils, imported without pandas.

Where pandas is installed, sqlite-utils imports it at once, for a feature that is not used here. That would
take every command 0.2 seconds.
"""

import sys

_pandas = sys.modules.get("pandas")
sys.modules["pandas"] = None  # type: ignore[assignment]  # so that its import fails, which is allowed
try:
    from sqlite_utils import Database, Migrations
finally:
    del sys.modules["pandas"]
    if _pandas is not None:
        sys.modules["pandas"] = _pandas

__all__ = ["Database", "Migrations"]
