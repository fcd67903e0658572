"""`hobbes worlds`: what there is in each world. All of it is read from the world itself."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from hobbes.engine.measures import meaning_of
from hobbes.engine.policy import parameters_of
from hobbes.engine.schemas import resolved, values_of
from hobbes.engine.turn import meanings
from hobbes.engine.world import AnyWorld
from hobbes.nodes.prompt_set import ROOT
from hobbes.nodes.prompting import languages, variants
from hobbes.show.terminal import table


def about(world: AnyWorld) -> dict[str, Any]:
    """Return the rules, settings, policies, prompts, measures, events and codes of a world."""
    page = ROOT.parent / "docs" / "rules" / f"{world.name}.md"
    return {
        "world": world.name,
        "rules": {"version": world.rules_version, "page": str(page) if page.exists() else None},
        "agents": world.default_agents,
        "settings": list(fields_of(world.config.model_json_schema())),
        "policies": [
            {
                "name": name,
                "meaning": meaning_of(policy),
                "parameters": parameters_of(policy),
                "default": name == world.policies.default,
            }
            for name, policy in world.policies.by_name.items()
        ],
        "prompts": [
            {"variant": variant, "languages": list(languages(world.name, variant))}
            for variant in variants(world)
        ],
        "measures": [
            {"name": name, "meaning": meaning_of(formula), "headline": name in world.measures.headline}
            for name, formula in world.measures.formulas.items()
        ],
        "events": [{"type": kind, "meaning": meaning} for kind, meaning in world.telling.events.items()],
        "codes": [{"code": code, "meaning": meaning} for code, meaning in meanings(world).items()],
    }


def meaning_of_measure(world: AnyWorld, measure: str) -> str:
    """Return in one line what a measure is, or that of an agent (`sats/unit-a`)."""
    return meaning_of(world.measures.formulas[of_anybody(measure)])


def of_anybody(measure: str) -> str:
    """Return a measure with AGENT in place of the name of an agent."""
    name, of_agent, _ = measure.partition("/")
    return f"{name}/AGENT" if of_agent else name


def fields_of(schema: Mapping[str, Any], path: str = "") -> Iterator[dict[str, Any]]:
    """Yield the fields of a JSON schema, such as settings; those of an object stand below it."""
    definitions = schema.get("$defs", {})
    for name, field in schema["properties"].items():
        inner = resolved(field, definitions)
        yield {
            "name": f"{path}{name}",
            "values": values_of(field, definitions),
            "default": field.get("default"),
            "meaning": field.get("description", ""),
        }
        if "properties" in inner:
            yield from fields_of({**inner, "$defs": definitions}, f"{path}{name}.")


def show_all(worlds: list[dict[str, Any]]) -> RenderableType:
    """Return a table of all worlds."""
    parts = ("settings", "policies", "measures")
    rows = [
        (
            world["world"],
            world["agents"],
            *(len(world[part]) for part in parts),
            " ".join(prompt["variant"] for prompt in world["prompts"]),
        )
        for world in worlds
    ]
    return table("", ("world", "agents", *parts, "prompts"), rows)


def show_one(world: dict[str, Any]) -> RenderableType:
    """Return all about one world."""
    rules = world["rules"]
    settings = []
    for one in world["settings"]:
        default = one["default"]  # that of an object is left to its fields
        told = "" if isinstance(default, dict) else json.dumps(default, ensure_ascii=False)
        settings.append((one["name"], one["values"], told, one["meaning"]))
    policies = [(one["name"] + " (default)" * one["default"], one["meaning"]) for one in world["policies"]]
    prompts = [(one["variant"], " ".join(one["languages"])) for one in world["prompts"]]
    return Group(
        Text(
            f"{world['world']}: rules version {rules['version']}, {rules['page'] or 'no page'}", style="bold"
        ),
        table(
            "\nsettings: --set NAME=VALUE; a NAME.FIELD is set by --set 'NAME={\"FIELD\": VALUE}'",
            ("name", "values", "default", "meaning"),
            settings,
        ),
        table(
            "\npolicies: --model 'policy:NAME' or 'policy:NAME?noise=0.1&tremble=0.1' (shares from 0 to 1)",
            ("name", "meaning"),
            policies,
        ),
        table("\nprompts: --prompts VARIANT --lang LANGUAGE", ("variant", "languages"), prompts),
        table(
            "\nmeasures; an experiment compares those marked * unless it names others",
            ("name", "meaning"),
            [(one["name"] + " *" * one["headline"], one["meaning"]) for one in world["measures"]],
        ),
        table("\nevents", ("type", "fields: meaning"), [tuple(one.values()) for one in world["events"]]),
        table(
            "\ncodes of what was refused or changed",
            ("code", "meaning"),
            [tuple(one.values()) for one in world["codes"]],
        ),
    )
