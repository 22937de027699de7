"""The JSON Schema of the cluster file, drawn from the models."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import models_json_schema

from cede.model.cluster import ClusterFile
from cede.model.dialect import Dialect, Dialects
from cede.model.named_settings import QUEUE_KEYS
from cede.model.times import LONGEST, SECOND
from cede.model.values import Part

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
IDENTITY = "urn:cede:cluster-file:1"
TITLE = "Cede cluster file, format 1"
DESCRIPTION = (
    "One cluster at one moment. Beyond this schema: names are unique within nodes, queues, apps and workloads; what a "
    "name points to exists, except an unlisted parent queue (no limits) and unlisted apps, tenants, users and "
    "projects; `nodes` of a workload has one entry a member."
)

VALUES: dict[str, Schema] = {
    "quantity": {
        "description": "Integer, decimal or Kubernetes quantity string; exact.",
        "anyOf": [
            {"type": "number", "minimum": 0},
            {
                "type": "string",
                "pattern": r"^([0-9]+(\.[0-9]*)?|\.[0-9]+)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]+)?$",
            },
        ],
    },
    "resources": {
        "description": "Resource name, or NAME@FLAVOR, to quantity.",
        "type": "object",
        "propertyNames": {
            "pattern": r"^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?(@[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$"
        },
        "additionalProperties": {"$ref": "#/$defs/quantity"},
    },
    "time": {
        "description": "Seconds on the file's clock (may be negative), or RFC 3339 if `now` is.",
        "anyOf": [
            {"type": "number"},
            {
                "type": "string",
                "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?"
                r"([Zz]|[+-][0-9]{2}:[0-9]{2})$",
            },
        ],
    },
    "duration": {
        "description": "Seconds, or a string like 30s, 10m, 1h30m; 100 years (876600h) is the longest.",
        "anyOf": [
            {"type": "number", "minimum": 0, "maximum": LONGEST // SECOND},
            {
                "type": "string",
                "pattern": r"^(?=[0-9])([0-9]+(\.[0-9]+)?h)?([0-9]+(\.[0-9]+)?m)?([0-9]+(\.[0-9]+)?s)?$",
            },
        ],
    },
    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
}


def json_schema(dialects: Dialects) -> Schema:
    """The schema of the whole document, in draft 2020-12."""
    described = [dialect for dialect in dialects.values() if dialect.described]
    settings = {model for dialect in described for model in dialect.queues.values()}
    models: list[type[Part]] = [
        ClusterFile,
        *(dialect.cluster for dialect in described),
        *sorted(settings, key=lambda model: model.__name__),
    ]
    _, drawn = models_json_schema([(model, "validation") for model in models], ref_template="#/$defs/{model}")
    parts = {_lowered(name): _tidied(part) for name, part in drawn["$defs"].items()}
    document = parts.pop("clusterFile")
    cluster_wide = {one.name: parts.pop(_lowered(one.cluster.__name__)) for one in described}
    of_queues = {dialect.name: _under_name(dialect, parts) for dialect in described}
    for model in {_lowered(model.__name__) for model in settings}:
        named = {name: {"$ref": f"#/$defs/{_definition(name)}"} for name in of_queues}
        others = {name: {"type": "object"} for name in dialects if name not in of_queues}
        parts[model]["properties"] = {**parts[model].get("properties", {}), **named, **others}
    parts |= {_definition(name): schema for name, schema in of_queues.items()}
    return {
        "$schema": DIALECT,
        "$id": IDENTITY,
        "title": TITLE,
        **document,
        "description": DESCRIPTION,
        "allOf": [_queue_settings(dialect) for dialect in described],
        "$defs": {
            **VALUES,
            "doctrine": _doctrine(dialects, cluster_wide),
            "settingsByDoctrine": _by_doctrine(dialects, cluster_wide),
            **parts,
        },
    }


def _definition(doctrine: str) -> str:
    return f"{doctrine}Queue"


def _under_name(dialect: Dialect, parts: dict[str, Schema]) -> Schema:
    """What a queue says to one doctrine under its name: settings of any of its editions, and keys of the queue."""
    shared = {key: parts["queue"]["properties"][key] for key in QUEUE_KEYS}
    models = [_lowered(model.__name__) for model in dict.fromkeys(dialect.queues.values())]
    editions: list[Schema] = [
        {
            "type": "object",
            "properties": {**parts[model].get("properties", {}), **shared},
            "additionalProperties": False,
        }
        for model in models
    ]
    said = {"description": f"Settings of a queue under {dialect.name}, and keys that go before the queue's own there."}
    return {**said, **editions[0]} if len(editions) == 1 else {**said, "anyOf": editions}


def _lowered(name: str) -> str:
    return name[:1].lower() + name[1:]


def _tidied(schema: Any) -> Any:
    """A piece of pydantic's schema with our references, without the titles and defaults it makes up."""
    if isinstance(schema, list):
        return [_tidied(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "definition" in schema:
        described = {"description": schema["description"]} if "description" in schema else {}
        return described | {"$ref": f"#/$defs/{schema['definition']}"}
    result = {key: _tidied(value) for key, value in schema.items() if key not in ("title", "default", "properties")}
    if "$ref" in result:
        path, _, name = schema["$ref"].rpartition("/")
        result["$ref"] = f"{path}/{_lowered(name)}"
    if "properties" in schema:
        result["properties"] = {key: _tidied(value) for key, value in schema["properties"].items()}
    return result


def _doctrine(dialects: Dialects, cluster_wide: dict[str, Schema]) -> Schema:
    """A doctrine by name, or an object with its edition and its own cluster-wide settings."""
    objects = []
    for name, dialect in dialects.items():
        own = cluster_wide.get(name, {}).get("properties", {})
        properties = {
            "name": {"const": name},
            "edition": {"enum": list(dialect.editions)},
            **own,
            "settings": {"$ref": "#/$defs/settingsByDoctrine"},
        }
        is_open = not dialect.described
        objects.append(
            {"type": "object", "properties": properties, "required": ["name"], "additionalProperties": is_open}
        )
    return {
        "description": "A doctrine by name, or with its edition and cluster-wide settings. "
        "Editions are strings: quote them in YAML.",
        "anyOf": [{"enum": list(dialects)}, *objects],
    }


def _by_doctrine(dialects: Dialects, cluster_wide: dict[str, Schema]) -> Schema:
    """Cluster-wide settings of each doctrine under its name."""
    return {
        "description": "Cluster-wide settings under their doctrine's name, so that one file serves every doctrine.",
        "type": "object",
        "properties": {name: cluster_wide.get(name, {"type": "object"}) for name in dialects},
        "additionalProperties": False,
    }


def _queue_settings(dialect: Dialect) -> Schema:
    """What the settings of a queue are under one doctrine."""
    editions = dialect.queues
    default, *others = dict.fromkeys(editions.values())
    then = _settings_of_queues(default.__name__)
    for model in others:
        named = [edition for edition in editions if editions[edition] is model]
        edition = {"type": "object", "required": ["edition"], "properties": {"edition": {"enum": named}}}
        then = {
            "if": {"required": ["doctrine"], "properties": {"doctrine": edition}},
            "then": _settings_of_queues(model.__name__),
            "else": then,
        }
    as_object = {"type": "object", "required": ["name"], "properties": {"name": {"const": dialect.name}}}
    chosen = {"required": ["doctrine"], "properties": {"doctrine": {"anyOf": [{"const": dialect.name}, as_object]}}}
    return {"if": chosen, "then": then}


def _settings_of_queues(model: str) -> Schema:
    reference = {"$ref": f"#/$defs/{_lowered(model)}"}
    return {"properties": {"queues": {"items": {"properties": {"settings": reference}}}}}
