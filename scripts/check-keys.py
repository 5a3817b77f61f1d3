#!/usr/bin/env python3
"""Checks that what levels agree on by name is spelled once.

The dfg, emithls and onnx headers declare the attributes and keys of
dictionaries that one stage writes and another reads, as macros like
DFG_ATTR_NAME. A C source fails that spells such a name itself: a literal
"dfg.x", "emithls.x" or "onnx.x" that is no op's name anywhere, and a key
without a prefix where an attribute or a dictionary is read or written,
outside of the dialects, whose op tables have it too. Prints each one and exits
with 1 if there is one.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

DIALECTS = ("dfg", "emithls", "onnx")
HEADERS = [f"dialects/{name}/{name}.h" for name in DIALECTS]

# A domain of operators, which only looks like an attribute.
NO_KEYS = {"onnx.brevitas"}

DECLARED = re.compile(r'#define ((?:DFG|EMITHLS|ONNX)_(\w+?)_\w+) "([^"]+)"')
PREFIXED = re.compile(r'"((?:%s)\.[a-z_.]+)"' % "|".join(DIALECTS))
OP_NAME = re.compile(r'^OP\(\w+, "([^"]+)"', re.M)
# What an argument before the name is made of, one level of calls included.
BEFORE = r'\((?:[^"();]|\([^"();]*\))*"(\w+)"'
OF_OP = re.compile(r"\b(?:op_attr|op_set_attr)" + BEFORE)
OF_DICT = re.compile(r"\b(?:attr_dict_get_c|attr_dict_int)" + BEFORE)

# Below these folders ops of other dialects have attributes of the same names.
OTHER_OPS = ("dialects/", "import/", "passes/linalg/", "passes/onnx/", "passes/tosa/",
             "lowering/onnx_to_linalg/", "lowering/tosa_to_linalg/", "ir/")


def declared():
    """Names of attributes and of dictionaries' keys, each with its macro."""
    attrs, keys = {}, {}
    for header in HEADERS:
        for macro, group, name in DECLARED.findall((ROOT / header).read_text(encoding="utf-8")):
            (attrs if group == "ATTR" else keys).setdefault(name, macro)
    return attrs, keys


def op_names():
    for name in DIALECTS:
        table = (ROOT / f"dialects/{name}/{name}_ops.def").read_text(encoding="utf-8")
        yield from (f"{name}.{op}" for op in OP_NAME.findall(table))


def uses(path, text, attrs, keys):
    """Where the file spells a name, with the name."""
    for found in PREFIXED.finditer(text):
        yield found
    if not path.startswith(OTHER_OPS):
        yield from (found for found in OF_OP.finditer(text) if found[1] in attrs)
        yield from (found for found in OF_DICT.finditer(text) if found[1] in keys)


def main():
    attrs, keys = declared()
    names = set(op_names()) | NO_KEYS
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.c", "*.h"],
                            cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    problems = []
    for path in sorted(listed):
        if path in HEADERS or path.startswith(("test/", "bench/")) or not (ROOT / path).is_file():
            continue
        text = (ROOT / path).read_text(encoding="utf-8")
        for found in uses(path, text, attrs, keys):
            if found[1] in names:
                continue
            line = text.count("\n", 0, found.end()) + 1
            macro = attrs.get(found[1]) or keys.get(found[1])
            problems.append(f'{path}:{line}: "{found[1]}" is {macro or "declared in no header"}')
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
