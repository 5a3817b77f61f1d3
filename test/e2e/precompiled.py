#!/usr/bin/env python3
"""A C++ compiler for designs: clang, with the headers in csim/ compiled once. They are most of what
there is to compile, and the same for all designs; a small one then takes a third of the time.

    MING_PRECOMPILED=DIR CXX="python3 precompiled.py" make -C DESIGN csim CXXFLAGS="-std=c++17 -O0"

compiles such sources with the headers it keeps in DIR, by their contents and those of the options
that their compiled form depends on. All else is left to g++.
"""
import contextlib
import fcntl
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CLANG, OTHER = "clang++-14", "g++"
HEADERS = ("ap_int.h", "hls_stream.h", "hls_vector.h", "hls_math.h", "ap_axi_sdata.h", "ming_tb.h")
FORCED = ("csim/ming_cosim.h", "csim/ming_emulate.h")   # one of them is included first by the Makefile
# The options that the compiled headers must share; others are those of warnings and of the linker.
SHARED = re.compile(r"-(std=.*|O.*|fPIC|fvisibility=.*|D.*|pthread)")


def run(*words):
    return subprocess.run([str(word) for word in words], check=False).returncode


def must_run(*words):
    if status := run(*words):
        sys.exit(status)


class Line:
    """The words of a command line."""

    def __init__(self, words):
        self.output, self.forced, self.sources, self.objects, self.options = None, [], [], [], []
        words = iter(words)
        for word in words:
            if word == "-o":
                self.output = next(words)
            elif word == "-include":
                self.forced.append(next(words))
            elif word.endswith(".cpp") and not word.startswith("-"):
                self.sources.append(word)
            elif word.endswith(".o") and not word.startswith("-"):
                self.objects.append(word)
            else:
                self.options.append(word)
        self.compiles_only = "-c" in self.options
        self.options = [word for word in self.options if word != "-c"]

    def is_of_design(self):
        return (self.output is not None and "-Icsim" in self.options
                and len(self.forced) <= 1 and set(self.forced) <= set(FORCED)
                and pathlib.Path("csim/ap_int.h").exists())


class Headers:
    """Compiled headers for a line: their form for sources, and their functions as an object."""

    def __init__(self, cache, line):
        self.shared = [word for word in line.options if SHARED.fullmatch(word)]
        csim = pathlib.Path("csim")
        names = [*(pathlib.Path(path).name for path in line.forced), *HEADERS]
        self.texts = [(path.name, path.read_bytes()) for path in sorted(csim.glob("*.h"))]
        key = hashlib.sha256(repr((self.shared, names, self.texts)).encode()).hexdigest()[:16]
        self.names = [name for name in names if (csim / name).exists()]
        self.folder = cache / key
        self.header, self.functions = self.folder / "all.pch", self.folder / "all.o"

    def make(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self.functions.exists():
                return
            for name, text in self.texts:
                (self.folder / name).write_bytes(text)
            source, made = self.folder / "all.h", self.folder / "new.o"
            source.write_text("".join(f'#include "{name}"\n' for name in self.names), encoding="utf-8")
            must_run(CLANG, *self.shared, "-fpch-codegen", "-fpch-instantiate-templates", f"-I{self.folder}",
                     "-x", "c++-header", source, "-o", self.header)
            must_run(CLANG, *self.shared, "-c", self.header, "-o", made)
            made.rename(self.functions)


def functions_of(cache, path):
    """Where it is kept which functions an object needs."""
    return cache / hashlib.sha256(str(pathlib.Path(path).resolve()).encode()).hexdigest()


def compile_all(cache, line, folder):
    """Compiles the sources; objects beside those of the line, and the functions that they need."""
    if not line.sources:
        return [], []
    headers = Headers(cache, line)
    headers.make()
    objects = []
    for number, source in enumerate(line.sources):
        objects.append(line.output if line.compiles_only else folder / f"{number}.o")
        must_run(CLANG, *line.options, "-Wno-unused-command-line-argument", "-include-pch", headers.header,
                 f"-I{headers.folder}", "-c", source, "-o", objects[-1])
    return objects, [headers.functions]


def main():
    line = Line(sys.argv[1:])
    cache = pathlib.Path(os.environ["MING_PRECOMPILED"])
    known = [functions_of(cache, path) for path in line.objects]
    known = [path.read_text() for path in known if path.exists()]
    if not (line.is_of_design() if line.sources else known):
        sys.exit(run(OTHER, *sys.argv[1:]))
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        objects, functions = compile_all(cache, line, folder)
        if line.compiles_only:
            functions_of(cache, line.output).write_text(str(functions[0]))
        else:
            must_run(CLANG, *line.options, *line.objects, *objects, *dict.fromkeys([*map(str, functions), *known]),
                     "-o", line.output)


if __name__ == "__main__":
    main()
