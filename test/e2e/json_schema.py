"""A validator of JSON schemas that are written with `type`, `const`, `enum`, `minimum`,
`properties`, `required`, `items` and references to `$defs`; any other word in a schema is an error,
so that nothing in it goes unchecked."""

TYPES = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
    "integer": int, "number": (int, float),
}
NOTES = {"$schema", "$defs", "title", "description"}
WORDS = NOTES | {"type", "const", "enum", "minimum", "properties", "required", "items", "$ref"}


def has_type(value, name):
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])


def problems(value, schema, root=None, where="$"):
    """What of a value is not as the schema says, and object keys that it does not describe."""
    root = schema if root is None else root
    unknown = set(schema) - WORDS
    if unknown:
        raise ValueError(f"the schema has {sorted(unknown)}, which are not checked")
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(has_type(value, kind) for kind in kinds):
        yield f"{where} is {value!r}, not {' or '.join(kinds)}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{where} is {value!r}, not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is {value!r}, not one of {schema['enum']}"
    if "minimum" in schema and value is not None and value < schema["minimum"]:
        yield f"{where} is {value}, below {schema['minimum']}"
    if isinstance(value, dict):
        yield from object_problems(value, schema, root, where)
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from problems(item, schema["items"], root, f"{where}[{index}]")


def object_problems(value, schema, root, where):
    described = schema.get("properties", {})
    for key in schema.get("required", []):
        if key not in value:
            yield f"{where} has no {key!r}"
    for key, item in value.items():
        if key in described:
            yield from problems(item, described[key], root, f"{where}.{key}")
        else:
            yield f"{where} has {key!r}, which the schema does not describe"
