#!/usr/bin/env python3
"""Counts in emitted C++ what docs/emitted-code.md says it does not have.

cpp_rules_check.py --tools=build/tools [--quick] [--count=N]

Cases are the examples, the networks and kernels of MING_MODELS and MING_MLIR, and random kernels and
graphs, streamed and through memories with loaded weights. Counted are
  lane     an index that moves at run time into an hls::vector, into the word of a reshaped array, or
           into the lanes of packed tables: it would be a shifter as wide as the word
  extreme  std::max and std::min
  counter  variables of type int that are set again: counters that are advanced by hand
  product  bind_op to fabric without a latency
  memory   an access to an m_axi memory under a condition
  static   sums that are static, where no loop rewinds
Every count must be 0, and 1 in the piece of C++ at the end of this file that breaks each rule once.
Prints one line per case that fails, then the counts; exits with 1 if a case fails.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from design_cases import named_models, random_models

LARGE = ("--device=zcu102",)            # every network fits
OPTIONS = (LARGE, ("--dsp=40", "--rewind=on"), (*LARGE, "--interface=m_axi", "--weights=load"),
           ("--dsp=0", "--clock=300"))
LARGE_FILE = 1 << 20                    # bytes of a model that is compiled once, not with all options
RULES = ("lane", "extreme", "counter", "product", "memory", "static")

VECTOR = re.compile(r"using (\w+) = hls::vector<")
DECLARED = re.compile(r"^\s*(static )?(?:const )?([\w:]+(?:<[\w<>:, ]*>)?) (\w+)((?:\[\w+\])*)(?:\{\})?( = .*)?;$")
PARAMETER = re.compile(r"(?:const )?(\w+(?:<\d+>)?) \*(\w+)[,)]")
FOR = re.compile(r"^\s*for \(int (\w+) = 0; ")
RESHAPED = re.compile(r"#pragma HLS array_reshape variable = (\w+) type = complete dim = (\d+)")
NAME = re.compile(r"[A-Za-z_]\w*")


def indices(text, start):
    """The subscripts that begin at text[start], and what follows them."""
    found = []
    while start < len(text) and text[start] == "[":
        depth, end = 1, start + 1
        while depth:
            depth += {"[": 1, "]": -1}.get(text[end], 0)
            end += 1
        found.append(text[start + 1:end - 1])
        start = end
    return found, text[start:]


class Function:
    """What is known while the lines of a function are read: its loops and its arrays."""

    def __init__(self, vectors, reshaped):
        self.vectors, self.reshaped = vectors, reshaped
        self.blocks = []            # of each open brace: the unrolled counter, "if", or None
        self.ranks = {}             # of what is declared with a vector type
        self.memories, self.rewinds = set(), False

    def is_constant(self, index):
        """Whether nothing but counters of unrolled loops and numbers is in an index."""
        unrolled = {block for block in self.blocks if block not in ("if", None)}
        return all(name in unrolled for name in NAME.findall(index))

    def moving_lanes(self, line):
        for name in NAME.finditer(line):
            subscripts, rest = indices(line, name.end())
            if not subscripts:
                continue
            rank = self.ranks.get(name[0])
            if rank is not None and len(subscripts) == rank + 1 and not self.is_constant(subscripts[-1]):
                yield line
            for dim in self.reshaped.get(name[0], ()):
                lanes = subscripts[dim - 1] if dim <= len(subscripts) else packed_lane(rest)
                if lanes is not None and not self.is_constant(lanes):
                    yield line


def packed_lane(rest):
    """The lane of packed<N>(table[…], lane), given what follows the table; None: the whole word."""
    if not rest.startswith(", "):
        return None
    depth, end = 1, 2
    while depth and end < len(rest):
        depth += {"(": 1, ")": -1}.get(rest[end], 0)
        end += 1
    return rest[2:end - 1]


def is_unrolled(lines, at):
    return any(line.startswith("#pragma HLS unroll") for line in lines[at + 1:at + 2])


def track_blocks(function, lines, at):
    """Opens and closes the blocks of a line."""
    line = lines[at]
    loop = FOR.match(line)
    if line.strip().startswith("}") and function.blocks:
        function.blocks.pop()
    if line.rstrip().endswith("{"):
        function.blocks.append(loop[1] if loop and is_unrolled(lines, at) else
                               "if" if re.match(r"\s*(\} else|if \()", line) else None)


def rewinds(lines, at):
    """Whether the loop of the function at a line rewinds, for which all its variables are static."""
    end = next((i for i in range(at, len(lines)) if lines[i] == "}"), len(lines))
    return any(re.match(r"#pragma HLS pipeline .*\brewind\b", line) for line in lines[at:end])


def declare(function, line, counts):
    found = DECLARED.match(line)
    if not found:
        return
    is_static, kind, name, dims = found.group(1, 2, 3, 4)
    if kind in function.vectors:
        function.ranks[name] = dims.count("[")
    if kind == "int" and "const " not in line.split(" = ")[0]:
        counts["counter"].append(line)
    if is_static and not function.rewinds and re.fullmatch(r"sum\d*", name):
        counts["static"].append(line)


def check_text(text, vectors):
    """The offending lines of a source by rule."""
    counts = {rule: [] for rule in RULES}
    lines = text.split("\n")
    reshaped = collections.defaultdict(list)
    for name, dim in RESHAPED.findall(text):
        reshaped[name].append(int(dim))
    function = Function(vectors, reshaped)
    for at, line in enumerate(lines):
        if re.match(r"(static )?void ", line):
            function = Function(vectors, reshaped)
            function.memories = {name for _, name in PARAMETER.findall(line)}
            function.rewinds = rewinds(lines, at)
        if line.lstrip().startswith("//"):
            continue
        if line.startswith("#pragma"):
            if "impl = fabric" in line and "latency = " not in line:
                counts["product"].append(line)
            continue
        declare(function, line, counts)
        if not DECLARED.match(line) or " = " in line:
            counts["lane"] += list(function.moving_lanes(line))
        counts["extreme"] += re.findall(r"std::(?:max|min)\b", line)
        if "if" in function.blocks:
            counts["memory"] += [line for name in function.memories if f"{name}[" in line]
        track_blocks(function, lines, at)
    return counts


def check_project(folder):
    vectors = set()
    for header in folder.glob("*.h"):
        vectors |= set(VECTOR.findall(header.read_text(encoding="utf-8")))
    source, = (path for path in folder.glob("*.cpp") if not path.stem.endswith(("_tb", "_lib")))
    return check_text(source.read_text(encoding="utf-8"), vectors)


def run_case(tools, name, model, options):
    """The offending lines; None: the compiler refuses the model."""
    with tempfile.TemporaryDirectory(prefix="ming-rules-") as scratch:
        folder = pathlib.Path(scratch) / "hls"
        done = subprocess.run([tools / "ming", "compile", model, "-o", folder, *options],
                              capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            return {"exit": [f"{name} exits with {done.returncode}: {done.stderr[-300:]}"]}
        return None if done.returncode else check_project(folder)


def cases(args, scratch):
    for name, model in named_models().items():
        is_large = model.stat().st_size > LARGE_FILE
        some = OPTIONS[:0 if args.quick else 1] if is_large else OPTIONS[1:3] if args.quick else OPTIONS
        for options in some:
            yield f"{name} {' '.join(options)}".strip(), model, options
    yield from random_models(scratch, args.seed, args.count, OPTIONS)


# Each rule is broken once.
BROKEN = """\
static void broken(const ap_int<8> *memory, hls::stream<i8x4_t> &out)
{
    static ap_int<20> sum[4];
    i8x4_t word{};
    int x = 3;
    for (int k = 0; k < 4; ++k) {
#pragma HLS pipeline II = 1
        if (k == 0) {
            word[0] = memory[k];
        }
        for (int lane = 0; lane < 4; ++lane) {
#pragma HLS unroll
            const ap_int<9> value = std::max<ap_int<9>>(word[lane], word[k]);
#pragma HLS bind_op variable = value op = mul impl = fabric
        }
    }
}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True, help="folder of ming")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10, help="random kernels, and graphs")
    parser.add_argument("--quick", action="store_true", help="no large models, half of the options")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    tools, failed, totals, refused = args.tools.resolve(), 0, collections.Counter(), 0
    print(f"seed {args.seed}", flush=True)
    found = {rule: len(lines) for rule, lines in check_text(BROKEN, {"i8x4_t"}).items()}
    if found != dict.fromkeys(RULES, 1):
        print(f"FAIL the rules that are broken once: {found}")
        failed += 1
    with tempfile.TemporaryDirectory(prefix="ming-rules-") as scratch:
        todo = list(cases(args, pathlib.Path(scratch)))
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            results = list(pool.map(lambda case: run_case(tools, *case), todo))
    for (name, model, options), result in zip(todo, results):
        refused += result is None
        if result is None and options == LARGE and not model.is_relative_to(tempfile.gettempdir()):
            result = {"exit": ["is refused"]}
        broken = {rule: lines for rule, lines in (result or {}).items() if lines}
        totals.update({rule: len(lines) for rule, lines in broken.items()})
        failed += bool(broken)
        for rule, lines in broken.items():
            print(f"FAIL {name}: {rule}: {len(lines)}, first {lines[0].strip()}")
    print(", ".join(f"{rule} {totals[rule]}" for rule in RULES) + f"; {refused} cases refused")
    print(f"{len(todo) + 1 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
