#!/usr/bin/env python3
"""Compares ming-opt's text with upstream mlir-opt's, byte for byte.

compare.py [options] FILE|DIRECTORY...

Splits every .mlir and .mir file at its '// -----' lines, keeps the pieces that mlir-opt accepts
and whose ops all belong to the dialects below (or to dialects that mlir-opt does not know), and
prints the first difference of each piece whose output differs, then the share that is equal.
Exits with 1 if any differs.
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

DIALECTS = {"builtin", "func", "arith", "math", "tensor", "linalg", "tosa", "cf", "ml_program",
            "quant"}
MODES = {
    "default": [],
    "generic": ["--mlir-print-op-generic"],
    "debuginfo": ["--mlir-print-debuginfo"],
    "pretty-debuginfo": ["--mlir-print-debuginfo", "--mlir-pretty-debuginfo"],
    "local-scope": ["--mlir-print-local-scope"],
    "value-users": ["--mlir-print-value-users"],
    "unique-ssa-ids": ["--mlir-print-unique-ssa-ids"],
    "elide-elements": ["--mlir-elide-elementsattrs-if-larger=4"],
    "elide-resources": ["--mlir-elide-resource-strings-if-larger=30"],
}
OP_NAME = re.compile(r'"([A-Za-z_][A-Za-z0-9_$]*)\.[A-Za-z0-9_.$]*"\(')
TIMEOUT = 60  # seconds per run


def run(tool, flags, text):
    """Standard output, standard error and whether the tool succeeded."""
    try:
        done = subprocess.run([tool, "--allow-unregistered-dialect", *flags, "-"], input=text,
                              capture_output=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return b"", b"timeout", False
    return done.stdout, done.stderr, done.returncode == 0


def registered_dialects(mlir_opt):
    out = subprocess.run([mlir_opt, "--show-dialects"], capture_output=True, check=True,
                         text=True).stdout
    return {name.strip() for name in out.split(":", 1)[1].split(",")}


def find_files(paths):
    for path in paths:
        if os.path.isfile(path):
            yield path
        for folder, _, names in sorted(os.walk(path)):
            for name in sorted(names):
                if name.endswith((".mlir", ".mir")):
                    yield os.path.join(folder, name)


def split(path):
    """(line of its start, text) of each piece."""
    with open(path, "rb") as file:
        text = file.read()
    line = 1
    for piece in re.split(rb"^// -----[^\n]*\n", text, flags=re.M):
        yield line, piece
        line += piece.count(b"\n") + 1


def first_difference(want, got):
    want_lines, got_lines = want.split(b"\n"), got.split(b"\n")
    for number, (a, b) in enumerate(zip(want_lines, got_lines), 1):
        if a != b:
            return number, a, b
    number = min(len(want_lines), len(got_lines))
    return number + 1, b"\n".join(want_lines[number:number + 1]), b"\n".join(
        got_lines[number:number + 1])


def compare(args, upstream, text):
    """None if the piece does not count, else a list of (mode, message)."""
    generic, _, accepted = run(args.mlir_opt, MODES["generic"], text)
    if not accepted:
        return None
    for name in OP_NAME.findall(generic.decode(errors="replace")):
        if name in upstream and name not in DIALECTS:
            return None
    differences = []
    for mode in args.modes:
        flags = MODES[mode] + args.flag
        want, _, accepted = run(args.mlir_opt, flags, text)
        if not accepted:
            continue
        got, error, ok = run(args.ming_opt, flags, text)
        if not ok:
            lines = error.decode(errors="replace").strip().split("\n")
            differences.append((mode, "rejected: " + lines[0]))
        elif got != want:
            number, a, b = first_difference(want, got)
            differences.append((mode, "line %d\n    want: %s\n    got:  %s" %
                                (number, a.decode(errors="replace")[:400],
                                 b.decode(errors="replace")[:400])))
    return differences


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--ming-opt", default="ming-opt")
    parser.add_argument("--mlir-opt", default="mlir-opt-19")
    parser.add_argument("--modes", default="default", help="all, or from: " + ",".join(MODES))
    parser.add_argument("--flag", action="append", default=[], help="a flag for both tools")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    args.modes = list(MODES) if args.modes == "all" else args.modes.split(",")
    for tool in (args.ming_opt, args.mlir_opt):
        if not shutil.which(tool):
            parser.error("no such program: " + tool)
    unknown = [mode for mode in args.modes if mode not in MODES]
    if unknown:
        parser.error("unknown mode: " + ", ".join(unknown))
    return args


def main():
    args = parse_args()
    upstream = registered_dialects(args.mlir_opt)
    pieces = [(path, line, text) for path in find_files(args.paths) for line, text in split(path)]
    counted = equal = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = pool.map(lambda piece: compare(args, upstream, piece[2]), pieces)
        for (path, line, _), differences in zip(pieces, results):
            if differences is None:
                continue
            counted += 1
            equal += not differences
            by_message = {}
            for mode, message in differences:
                by_message.setdefault(message, []).append(mode)
            for message, modes in by_message.items():
                print(f"{path}:{line}: {','.join(modes)}: {message}")
    share = 100.0 * equal / counted if counted else 100.0
    print(f"{equal} of {counted} pieces equal ({share:.1f} %), {len(pieces) - counted} skipped")
    return equal != counted


if __name__ == "__main__":
    sys.exit(main())
