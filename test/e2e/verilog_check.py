#!/usr/bin/env python3
"""Checks the printed Verilog and its library against models, with Icarus and Verilator.

    verilog_check.py --tools=DIR [--seed=N] [--count=N] [--quick] [--keep=DIR]

Random modules of logic, registers and memories are printed, as they are and
after canonicalization, and simulated for some cycles with random inputs; their
outputs must be those of a model in Python. The FIFOs of the library get random
traffic, and are full and empty in the cycles that `ming sim` reckons with. Slices of
the library, alone and in chains, get random operands (dsp_check.py), and so do
products of LUTs and slices that a design has (product_check.py). All of it is clean
to Verilator. Each case prints `PASS name` or `FAIL name: why`; the
last line counts.
"""
import argparse
import pathlib
import random
import subprocess
import sys
import tempfile

import dsp_check
import gen_rtl
import product_check
from run_check import Failure

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = [ROOT / "emit/rtl" / name for name in ("ming_fifo.v", "ming_primitives.v")]
LINT = ("-Wall", "-Wno-DECLFILENAME", "-Wno-UNUSED", "-Wno-PINCONNECTEMPTY")
# Constants that come at random may be compared with what they always are.
CONSTANTS = ("-Wno-UNSIGNED", "-Wno-CMPCONST")
CYCLES = 40


def command(*arguments, cwd=None):
    done = subprocess.run([str(a) for a in arguments], cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        lines = (done.stderr + done.stdout).strip().splitlines() or ["no output"]
        raise Failure(f"{pathlib.Path(str(arguments[0])).name}: {lines[0]}")
    return done.stdout


def simulate(folder, top, sources):
    """What the testbench prints, a list of words a line."""
    command("iverilog", "-g2005", "-s", top, "-o", "sim.vvp", *sources, cwd=folder)
    return [line.split() for line in command("vvp", "-n", "sim.vvp", cwd=folder).splitlines()]


def lint(folder, top, *arguments):
    command("verilator", "--lint-only", *LINT, "--top-module", top, *arguments, cwd=folder)


# Modules.

def testbench(design, vectors):
    """Applies the vectors, one a cycle, and prints the outputs before the edge."""
    lines = ["module tb;", "    reg clk = 0;"]
    ports = [".clk(clk)"]
    for name, width in design.inputs:
        lines.append(f"    reg [{width - 1}:0] {name[1:]};")
        ports.append(f".{name[1:]}({name[1:]})")
    for i, (_, width) in enumerate(design.outputs):
        lines.append(f"    wire [{width - 1}:0] o{i};")
        ports.append(f".o{i}(o{i})")
    lines.append(f"    {design.name} dut ({', '.join(ports)});")
    lines.append("    initial begin")
    shown = " ".join(["%h"] * len(design.outputs))
    names = ", ".join(f"o{i}" for i in range(len(design.outputs)))
    for vector in vectors:
        for (name, width), value in zip(design.inputs, vector):
            lines.append(f"        {name[1:]} = {width}'h{value:x};")
        lines.append(f'        #1 $display("{shown}", {names});')
        lines.append("        clk = 1; #1 clk = 0; #1;")
    lines += ["        $finish;", "    end", "endmodule", ""]
    return "\n".join(lines)


def check_design(tools, folder, design, canonical):
    folder.mkdir(parents=True)
    source = folder / "design.mir"
    source.write_text(design.text())
    if canonical:
        source.write_text(command(tools / "ming-opt", "--canonicalize", source))
    out = folder / "verilog"
    command(tools / "ming-translate", "--emit-verilog", f"--output-dir={out}", source)
    vectors = [[design.rng.getrandbits(width) for _, width in design.inputs]
               for _ in range(CYCLES)]
    (out / "tb.v").write_text(testbench(design, vectors))
    start = {key: list(value) if isinstance(value, list) else value
             for key, value in design.state.items()}
    printed = simulate(out, "tb", ["tb.v", f"{design.name}.v"])
    for cycle, vector in enumerate(vectors):
        want = design.step(vector)
        got = [int(word, 16) if set(word) <= set("0123456789abcdef") else word
               for word in printed[cycle]]
        if got != want:
            port = next(i for i, (g, w) in enumerate(zip(got, want)) if g != w)
            raise Failure(f"cycle {cycle}, o{port}: {got[port]}, but the model says {want[port]}")
    design.state = start
    lint(out, design.name, *CONSTANTS, f"{design.name}.v")


# FIFOs.

class FifoModel:
    """A word is there `latency` cycles after its write, a place after its read."""

    def __init__(self, depth, latency):
        self.depth, self.latency = depth, latency
        self.words, self.writes, self.reads = [], [], []

    def has_word(self, cycle):
        taken = len(self.reads)
        return taken < len(self.writes) and self.writes[taken] + self.latency <= cycle

    def has_place(self, cycle):
        freed = len(self.writes) - self.depth
        return freed < 0 or (freed < len(self.reads) and
                             self.reads[freed] + self.latency <= cycle)

    def front(self):
        return self.words[len(self.reads)]


def fifo_parameters(kind, width, depth, latency):
    """The module and its parameters; kind "srl16" is "srl" with the vendor's primitives."""
    given = {"WIDTH": width, "DEPTH": depth}
    if kind != "reg":
        given["LATENCY"] = latency
    if kind == "srl16":
        return "ming_fifo_srl", {**given, "PRIMITIVES": 1}
    return f"ming_fifo_{kind}", given


def fifo_testbench(module, parameters, traffic):
    width = parameters["WIDTH"]
    given = ", ".join(f".{name}({value})" for name, value in parameters.items())
    lines = ["module tb;", "    reg clk = 0, rst = 1, wants_write = 0, wants_read = 0;",
             f"    reg [{width - 1}:0] din = 0;", f"    wire [{width - 1}:0] dout;",
             "    wire full_n, empty_n;",
             f"    {module} #({given}) dut (.clk(clk), .rst(rst), .din(din), "
             ".full_n(full_n), .write(wants_write & full_n), .dout(dout), .empty_n(empty_n), "
             ".read(wants_read & empty_n));",
             "    initial begin",
             "        repeat (3) begin #1 clk = 1; #1 clk = 0; end",
             "        rst = 0;"]
    for writes, reads, word in traffic:
        lines.append(f"        wants_write = {writes}; wants_read = {reads}; din = {width}'h{word:x};")
        lines.append('        #1 $display("%b %b %h", full_n, empty_n, dout); clk = 1; #1 clk = 0;')
    lines += ["        $finish;", "    end", "endmodule", ""]
    return "\n".join(lines)


def check_fifo(folder, rng, kind, width, depth, latency):
    folder.mkdir(parents=True)
    traffic = []
    for _ in range(6):      # phases: mostly written, mostly read, both
        busy = rng.choice((0.2, 0.5, 1)), rng.choice((0.2, 0.5, 1))
        traffic += [(int(rng.random() < busy[0]), int(rng.random() < busy[1]),
                     rng.getrandbits(width)) for _ in range(rng.randint(10, 3 * depth + 30))]
    module, parameters = fifo_parameters(kind, width, depth, latency)
    (folder / "tb.v").write_text(fifo_testbench(module, parameters, traffic))
    printed = simulate(folder, "tb", ["tb.v", *LIBRARY])
    model = FifoModel(depth, latency)
    for cycle, (writes, reads, word) in enumerate(traffic):
        want = [str(int(model.has_place(cycle))), str(int(model.has_word(cycle)))]
        if printed[cycle][:2] != want:
            raise Failure(f"cycle {cycle}: full_n, empty_n are {printed[cycle][:2]}, not {want}")
        if want[1] == "1" and int(printed[cycle][2], 16) != model.front():
            raise Failure(f"cycle {cycle}: {printed[cycle][2]}, not {model.front():x}")
        has_place, has_word = model.has_place(cycle), model.has_word(cycle)
        if writes and has_place:
            model.words.append(word)
            model.writes.append(cycle)
        if reads and has_word:
            model.reads.append(cycle)
    lint(folder, module, *(f"-G{name}={value}" for name, value in parameters.items()), *LIBRARY)


def cases(args, work):
    """(name, function) of each case."""
    rng = random.Random(args.seed)
    for number in range(args.count):
        has_state = number % 2 == 1
        design = gen_rtl.random_design(f"d{number}", random.Random(rng.getrandbits(32)), has_state)
        for canonical in (False, True):
            name = f"{'state' if has_state else 'logic'}-{number}{'-canonical' if canonical else ''}"
            yield name, lambda d=design, n=name, c=canonical: check_design(args.tools, work / n, d, c)
    yield "fifo-reg", lambda: check_fifo(work / "fifo-reg", rng, "reg", 9, 2, 1)
    yield "fifo-reg-1", lambda: check_fifo(work / "fifo-reg-1", rng, "reg", 9, 1, 1)
    yield "fifo-wide", lambda: check_fifo(work / "fifo-wide", rng, "srl", 1100, 4, 1)
    depths = (1, 2, 3, 16, 21) if not args.quick else (2, 5)
    for kind in ("srl", "srl16", "lutram", "bram", "uram"):
        for depth in depths + ((40, 70) if kind == "srl16" else ()):
            for latency in (1, 2, 3) if not args.quick else (1, 2):
                name = f"fifo-{kind}-{depth}-{latency}"
                yield name, lambda k=kind, d=depth, l=latency, n=name: check_fifo(
                    work / n, rng, k, rng.choice((1, 8, 33)), d, l)
    for kind in dsp_check.PORTS:
        for number in range(2 if args.quick else 20):
            name = f"dsp-{kind}-{number}"
            yield name, lambda k=kind, n=name: dsp_check.check(
                work / n, rng, k, simulate, lint, 100 if args.quick else 1000)
    for kind in product_check.KINDS:
        for number in range(1 if args.quick else 10):
            name = f"products-{kind}-{number}"
            yield name, lambda k=kind, n=name: product_check.check(
                args.tools, work / n, rng, k, simulate, lint, 60 if args.quick else 300)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, help="modules, default 30, or 8 with --quick")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path, help="keep the files there")
    args = parser.parse_args()
    args.tools = args.tools.resolve()
    args.count = args.count if args.count is not None else 8 if args.quick else 30
    passed = failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        work = args.keep.resolve() if args.keep else pathlib.Path(temporary)
        for name, run in cases(args, work):
            try:
                run()
                print(f"PASS {name}")
                passed += 1
            except Failure as why:
                print(f"FAIL {name}: {why} (seed {args.seed})")
                failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
