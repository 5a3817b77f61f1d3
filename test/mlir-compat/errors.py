#!/usr/bin/env python3
"""Compares what ming-opt rejects, and its first error, with upstream mlir-opt.

errors.py [options] FILE|DIRECTORY...

Splits every .mlir and .mir file at its '// -----' lines, keeps the pieces that mlir-opt rejects
(with --allow-unregistered-dialect, and without it) and that name nothing of dialects only mlir-opt
knows, and prints each whose first error differs in place or text, then the share that is equal.
Exits with 1 if any differs.
"""
import collections
import re
import sys

import pieces

COMMENT = re.compile(r"//[^\n]*")
OP_NAME = re.compile(r"(?<![\w.$#!@%^])([A-Za-z_][A-Za-z0-9_$]*)\.[A-Za-z]")
SYMBOL = re.compile(r"[#!]([A-Za-z_][A-Za-z0-9_$]*)[.<]")
ERROR = re.compile(rb"^.*?: error: .*$", re.M)
FLAGS = {"strict": [], "unregistered": ["--allow-unregistered-dialect"]}
ACCEPTED, FOREIGN = "accepted by upstream", "with other dialects"


def first_error(output):
    match = ERROR.search(output)
    return (match.group() if match else output.split(b"\n", 1)[0]).decode(errors="replace")


def judge(args, foreign, text):
    """Why the piece does not count, else a list of (flags, wanted, got)."""
    source = COMMENT.sub("", text.decode(errors="replace"))
    if foreign.intersection(OP_NAME.findall(source)):
        return FOREIGN
    if (foreign - pieces.ATTRIBUTE_DIALECTS).intersection(SYMBOL.findall(source)):
        return FOREIGN
    rejected, differences = False, []
    for name, flags in FLAGS.items():
        _, error, accepted = pieces.run(args.mlir_opt, flags + args.flag, text)
        if accepted:
            continue
        rejected = True
        want = first_error(error)
        _, error, accepted = pieces.run(args.ming_opt, flags + args.flag, text)
        got = "accepted" if accepted else first_error(error)
        if got != want:
            differences.append((name, want, got))
    return differences if rejected else ACCEPTED


def main():
    args = pieces.parse_args(pieces.argument_parser(__doc__))
    foreign = pieces.foreign_dialects(args.mlir_opt)
    counted = equal = 0
    skipped = collections.Counter()
    for piece, verdict in pieces.judge(
            args.paths, lambda piece: judge(args, foreign, piece.text), args.jobs):
        if isinstance(verdict, str):
            skipped[verdict] += 1
            continue
        counted += 1
        equal += not verdict
        for name, want, got in verdict:
            print(f"{piece.path}:{piece.line}: {name}:\n    want: {want}\n    got:  {got}")
    pieces.report_share("rejected alike", equal, counted, skipped)
    return equal != counted


if __name__ == "__main__":
    sys.exit(main())
