"""What compare.py and errors.py share: the tools, and the pieces of the files they are given.

A piece is what stands between two '// -----' lines of a .mlir or .mir file.
"""
import argparse
import collections
import concurrent.futures
import os
import re
import shutil
import subprocess

DIALECTS = {"builtin", "func", "arith", "math", "tensor", "linalg", "tosa", "cf", "ml_program",
            "quant"}
ATTRIBUTE_DIALECTS = {"complex", "dlti", "sparse_tensor"}  # whose ops we do not have
TIMEOUT = 60  # seconds per run

Piece = collections.namedtuple("Piece", "path line text")


def argument_parser(doc):
    parser = argparse.ArgumentParser(description=doc.split("\n", 1)[0])
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--ming-opt", default="ming-opt")
    parser.add_argument("--mlir-opt", default="mlir-opt-19")
    parser.add_argument("--flag", action="append", default=[], help="a flag for both tools")
    parser.add_argument("--jobs", type=int, default=2)
    return parser


def parse_args(parser):
    args = parser.parse_args()
    for tool in (args.ming_opt, args.mlir_opt):
        if not shutil.which(tool):
            parser.error("no such program: " + tool)
    return args


def run(tool, flags, text):
    """Standard output, standard error and whether the tool succeeded."""
    try:
        done = subprocess.run([tool, *flags, "-"], input=text, capture_output=True,
                              timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return b"", b"timeout", False
    return done.stdout, done.stderr, done.returncode == 0


def foreign_dialects(mlir_opt):
    """Dialects that mlir-opt knows and we do not."""
    out = subprocess.run([mlir_opt, "--show-dialects"], capture_output=True, check=True,
                         text=True).stdout
    return {name.strip() for name in out.split(":", 1)[1].split(",")} - DIALECTS


def find_files(paths):
    for path in paths:
        if os.path.isfile(path):
            yield path
        for folder, _, names in sorted(os.walk(path)):
            for name in sorted(names):
                if name.endswith((".mlir", ".mir")):
                    yield os.path.join(folder, name)


def read_pieces(paths):
    for path in find_files(paths):
        with open(path, "rb") as file:
            text = file.read()
        line = 1
        for piece in re.split(rb"^// -----[^\n]*\n", text, flags=re.M):
            yield Piece(path, line, piece)
            line += piece.count(b"\n") + 1


def judge(paths, judge_piece, jobs):
    """(piece, judge_piece(piece)) of every piece, in order."""
    pieces = list(read_pieces(paths))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        yield from zip(pieces, pool.map(judge_piece, pieces))


def report_share(what, equal, counted, skipped):
    """skipped: reason -> number of pieces."""
    share = 100.0 * equal / counted if counted else 100.0
    reasons = ", ".join("%d %s" % (count, reason) for reason, count in sorted(skipped.items()))
    print("%d of %d pieces %s (%.1f %%), skipped: %s" %
          (equal, counted, what, share, reasons or "none"))
