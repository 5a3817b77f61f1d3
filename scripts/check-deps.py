#!/usr/bin/env python3
"""Checks that the folders of the sources depend on each other one way only.

Reads the `#include "..."` lines of every C file. Includes across folders are
written from the root (`ir/core/core.h`); an include without a folder is a neighbour
or a generated file and always allowed. Prints each violation and exits with 1
if there is one.
"""
import pathlib
import re
import sys

# The layers from the bottom up: a folder may include its own layer and those
# below it.
LAYERS = [
    {"ir"},
    {"dialects"},
    {"analysis"},
    {"import", "passes"},
    {"schedule"},
    {"lowering"},
    {"sim", "target", "emit"},
    {"driver"},
    {"tools"},
]

# May include anything.
UNCHECKED = {"test", "bench", "examples", "fuzz"}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
RANK = {folder: rank for rank, layer in enumerate(LAYERS) for folder in layer}


def is_allowed(source, target):
    return RANK[target] <= RANK[source]


def check_include(folder, included):
    """Why `folder` must not include the path, or None."""
    parts = pathlib.PurePosixPath(included).parts
    if ".." in parts:
        return "is not written from the root"
    if len(parts) > 1 and parts[0] in RANK and not is_allowed(folder, parts[0]):
        return f"is in a higher layer than {folder}/"
    return None


def check_file(root, path):
    folder = path.relative_to(root).parts[0]
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        found = INCLUDE.match(line)
        problem = found and check_include(folder, found[1])
        if problem:
            yield f'{path.relative_to(root)}:{number}: "{found[1]}" {problem}'


def source_files(root):
    """C sources in the folders of the table, in a fixed order."""
    for folder in sorted(RANK):
        for pattern in ("*.c", "*.h", "*.def"):
            yield from sorted((root / folder).rglob(pattern))


def unknown_folders(root):
    """Folders with C sources that are in no table and so escape the check."""
    for folder in sorted(p for p in root.iterdir() if p.is_dir()):
        known = folder.name in RANK or folder.name in UNCHECKED
        if known or folder.name.startswith((".", "build")):
            continue
        if any(folder.rglob("*.c")) or any(folder.rglob("*.h")):
            yield f"{folder.name}/ has C sources but no place in the layers"


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    problems = list(unknown_folders(root))
    for path in source_files(root):
        problems += check_file(root, path)
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
