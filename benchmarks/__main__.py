"""Run all benchmarks, or the named ones, and print one table: `python -m benchmarks [NAME ...]`."""

import sys
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text


def main() -> None:
    """Run the benchmarks and print the table."""
    here = Path(__file__).parent
    names = sys.argv[1:] or sorted(file.stem for file in here.glob("*.py") if not file.stem.startswith("_"))
    table = Table("what", "figure", "target", box=None, header_style="bold", pad_edge=False)
    table.columns[1].justify = "right"
    console = Console()
    for name in names:
        with console.status(f"measuring {name}"):
            rows = import_module(f"benchmarks.{name}").measure()
        table.add_section()
        for row in rows:
            table.add_row(*(Text(str(cell)) for cell in row))
    console.print(table)


if __name__ == "__main__":
    main()
