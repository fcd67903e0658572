"""sqlite-utils, imported without NumPy and pandas.

Where they are installed, sqlite-utils imports them at once, to accept their values in rows. hobbes stores no
such values, and the imports would take every command 0.2 seconds.
"""

import sys

_loaded = {name: sys.modules.get(name) for name in ("numpy", "pandas")}
sys.modules.update(dict.fromkeys(_loaded))  # type: ignore[arg-type]  # None: an import fails, as if not installed
try:
    from sqlite_utils import Database, Migrations
finally:
    for _name, _module in _loaded.items():
        del sys.modules[_name]
        if _module is not None:
            sys.modules[_name] = _module

__all__ = ["Database", "Migrations"]
