#!/usr/bin/env python3
"""Compares ming-opt's text with upstream mlir-opt's, byte for byte.

compare.py [options] FILE|DIRECTORY...

Splits every .mlir and .mir file at its '// -----' lines, keeps the pieces that mlir-opt accepts
and whose ops all belong to our upstream dialects (or to dialects that mlir-opt does not know),
and prints the first difference of each piece whose output differs, then the share that is equal
and why the others were skipped. Exits with 1 if any differs.
"""
import collections
import re
import sys

import pieces

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
REJECTED, FOREIGN = "rejected by upstream", "with ops of other dialects"


def first_difference(want, got):
    want_lines, got_lines = want.split(b"\n"), got.split(b"\n")
    for number, (a, b) in enumerate(zip(want_lines, got_lines), 1):
        if a != b:
            return number, a, b
    number = min(len(want_lines), len(got_lines))
    return number + 1, b"\n".join(want_lines[number:number + 1]), b"\n".join(
        got_lines[number:number + 1])


def run(tool, flags, text):
    return pieces.run(tool, ["--allow-unregistered-dialect", *flags], text)


def compare(args, foreign, text):
    """Why the piece does not count, else a list of (mode, message)."""
    generic, _, accepted = run(args.mlir_opt, MODES["generic"], text)
    if not accepted:
        return REJECTED
    if foreign.intersection(OP_NAME.findall(generic.decode(errors="replace"))):
        return FOREIGN
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


def print_differences(piece, differences):
    by_message = {}
    for mode, message in differences:
        by_message.setdefault(message, []).append(mode)
    for message, modes in by_message.items():
        print(f"{piece.path}:{piece.line}: {','.join(modes)}: {message}")


def parse_args():
    parser = pieces.argument_parser(__doc__)
    parser.add_argument("--modes", default="default", help="all, or from: " + ",".join(MODES))
    args = pieces.parse_args(parser)
    args.modes = list(MODES) if args.modes == "all" else args.modes.split(",")
    unknown = [mode for mode in args.modes if mode not in MODES]
    if unknown:
        parser.error("unknown mode: " + ", ".join(unknown))
    return args


def main():
    args = parse_args()
    foreign = pieces.foreign_dialects(args.mlir_opt)
    counted = equal = 0
    skipped = collections.Counter()
    for piece, verdict in pieces.judge(
            args.paths, lambda piece: compare(args, foreign, piece.text), args.jobs):
        if isinstance(verdict, str):
            skipped[verdict] += 1
            continue
        counted += 1
        equal += not verdict
        print_differences(piece, verdict)
    pieces.report_share("equal", equal, counted, skipped)
    return equal != counted


if __name__ == "__main__":
    sys.exit(main())
