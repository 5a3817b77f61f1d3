#!/usr/bin/env python3
"""Checks that files named in comments and documentation exist.

A name counts where it is written with a folder from the root (`ir/core/op.c`,
`lit/emit/*.mir`, `test/e2e/run.py`); patterns must match something. Prints
each name that leads nowhere and exits with 1 if there is one.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

SOURCES = (".c", ".h", ".def", ".cpp", ".py", ".md", ".mir", ".test", ".build", ".xml", ".xsd")

# A folder of the root, more folders, and a file's name with its ending.
NAME = re.compile(
    r"(?<![\w/.@{$-])((?:%s)/(?:[\w.*?-]+/)*[\w.*?-]+\.(?:c|h|def|mir|test|py|md|xml|xsd|cpp|build))\b"
    % "|".join(sorted(p.name for p in ROOT.iterdir() if p.is_dir() and not p.name.startswith((".", "build"))))
)

# What tests and examples make up, and what upstream has.
MADE_UP = {"ir/lib.mir"}


def comments(path, text):
    """The parts of a file that people read: all of prose, comments of code."""
    if path.suffix in (".c", ".h", ".def", ".cpp"):
        return re.finditer(r"/\*.*?\*/|//[^\n]*", text, re.S)
    if path.suffix in (".mir", ".test"):
        return re.finditer(r"//[^\n]*", text)
    if path.suffix == ".py":
        return re.finditer(r'""".*?"""|#[^\n]*', text, re.S)
    return re.finditer(r".+", text, re.S)


def exists(name):
    return any(ROOT.glob(name)) if re.search(r"[*?]", name) else (ROOT / name).exists()


def dead_names(path):
    text = (ROOT / path).read_text(encoding="utf-8", errors="replace")
    for part in comments(path, text):
        for found in NAME.finditer(part[0]):
            if found[1] not in MADE_UP and not exists(found[1]):
                line = text.count("\n", 0, part.start() + found.start()) + 1
                yield f"{path}:{line}: there is no {found[1]}"


def main():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.splitlines()
    problems = []
    for name in sorted(listed):
        path = pathlib.PurePosixPath(name)
        if path.suffix in SOURCES and (ROOT / path).is_file():
            problems += dead_names(path)
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
