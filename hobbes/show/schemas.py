"""JSON Schemas of experiment files and models files, with which an editor completes and checks them.

They are made from the classes that read these files: `python -m hobbes.show.schemas` writes them.
"""

import json
from pathlib import Path
from typing import Any

from hobbes.engine.world import MAX_NAME
from hobbes.experiment.experiment_file import ExperimentFile
from hobbes.nodes.models import ModelSettings
from hobbes.nodes.players import NAME
from hobbes.play.models_file import RESERVED, VALUES

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "schemas"

DIALECT = {"$schema": "https://json-schema.org/draft/2020-12/schema"}


def texts() -> dict[str, str]:
    """Return the text of each schema by the name of its file."""
    schemas = {"experiment": ExperimentFile.model_json_schema(), "models": _of_models()}
    return {
        f"{name}.schema.json": json.dumps({**DIALECT, **schema}, indent=2) + "\n"
        for name, schema in schemas.items()
    }


def _of_models() -> dict[str, Any]:
    """Return the schema of a models file: a table for each model, by its name."""
    table = ModelSettings.model_json_schema()
    definitions = table.pop("$defs")
    for field, schema in table["properties"].items():
        schema["description"] = VALUES[field]
    return {
        "title": "Models file",
        "type": "object",
        "propertyNames": {
            "pattern": f"^{NAME.pattern}$",
            "maxLength": MAX_NAME,
            "not": {"enum": list(RESERVED)},
        },
        "additionalProperties": table,
        "$defs": definitions,
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in texts().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
