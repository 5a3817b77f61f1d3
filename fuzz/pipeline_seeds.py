#!/usr/bin/env python3
"""Writes the pipelines of lit tests as files of a fuzzing corpus.

pipeline_seeds.py TESTS CORPUS

Takes the texts of --pass-pipeline and, as pipelines of their own, those of flags that set options
of passes.
"""
import hashlib
import pathlib
import re
import sys

PIPELINE = re.compile(r"""--pass-pipeline=(?:"([^"]*)"|'([^']*)')""")
PASS_FLAG = re.compile(r"""--([a-z][a-z0-9-]*)=(?:"([^"]*)"|(\S+))""")


def pipelines(text):
    for match in PIPELINE.finditer(text):
        yield match[1] or match[2] or ""
    for name, quoted, plain in PASS_FLAG.findall(text):
        yield f"builtin.module({name}{{{quoted or plain}}})"


def main():
    tests, corpus = map(pathlib.Path, sys.argv[1:])
    corpus.mkdir(parents=True, exist_ok=True)
    for path in sorted(tests.rglob("*.mir")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            for text in pipelines(line) if "RUN:" in line else ():
                name = hashlib.sha256(text.encode()).hexdigest()[:16]
                (corpus / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
