#!/usr/bin/env python3
"""Checks floorplan.tcl and link.cfg of placed designs: every process and FIFO is placed once, on its
die, a FIFO on its writer's.

    floorplan_check.py --tools=DIR [--seed=N] [--count=N]

Graphs (gen_graphs.py) are compiled, their processes placed at random, streams given the latency of
the borders between, and the project is emitted. Then

- tclsh runs floorplan.tcl against commands of Vivado that check their arguments and know the cells
  that the C++ would become; they print what is placed;
- link.cfg is read line by line: one kernel, an slr if it is on one die only, the hook;
- `make cosim` takes the cycles of `ming sim`, with the latencies.

Failures are printed as `FAIL name: why`; the last line counts.
"""
import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy as np

import gen_graphs
import gen_linalg
from design_cases import REFUSED, compile_exactly, judge
from run_check import Failure, command

DIES = 4
REGISTERS = 4
CALL = re.compile(r"emithls\.call @(\w+)\((.*?)\) ")
STREAM = re.compile(r'(%\w+) = emithls\.stream "(\w+)" depth\(\d+\)(?: \{(.*?)\})?')

# Vivado's commands, as strict as they are: options and arguments are counted, cells and pblocks are
# known ones. A cell that is named by itself is found at any depth.
STUBS = """
set cells {%s}
set pblocks {}
proc fail {why} { puts stderr "stub: $why"; exit 3 }
proc get_pblocks {quiet name} {
    if {$quiet ne "-quiet"} { fail "get_pblocks $quiet" }
    expr {$name in $::pblocks ? [list $name] : {}}
}
proc create_pblock {name} {
    if {$name in $::pblocks} { fail "pblock $name is there" }
    lappend ::pblocks $name
    return $name
}
proc resize_pblock {pblock option range} {
    if {$pblock ni $::pblocks || $option ne "-add"} { fail "resize_pblock $pblock $option" }
    if {![regexp {^SLR[0-7]$} $range]} { fail "range $range" }
    puts "range $pblock $range"
}
proc get_cells {quiet hierarchical name option filter} {
    if {[list $quiet $hierarchical $option] ne "-quiet -hierarchical -filter"} { fail "get_cells" }
    if {![regexp {^NAME =~ (\\S+)$} $filter all pattern]} { fail "filter $filter" }
    set found {}
    foreach cell $::cells {
        if {[lindex [split $cell /] end] eq $name && [string match $pattern $cell]} {
            lappend found $cell
        }
    }
    return $found
}
proc add_cells_to_pblock {pblock cells option} {
    if {$pblock ni $::pblocks || $option ne "-clear_locs"} { fail "add_cells_to_pblock $pblock" }
    foreach cell $cells {
        if {$cell ni $::cells} { fail "no cell $cell" }
        puts "cell $pblock $cell"
    }
}
rename unknown {}
proc unknown {args} { fail "unknown command $args" }
source floorplan.tcl
"""


class Placed:
    """A design's text with random places, and what they are by the text alone."""

    def __init__(self, text, rng, dies):
        top = text[text.index("attributes {"):] if "top" not in text else text
        self.calls = [(name, [a.strip() for a in arguments.split(",")])
                      for name, arguments in CALL.findall(top)]
        self.streams = {value: name for value, name, _ in STREAM.findall(text)}
        self.die = {name: rng.randrange(dies) for name, _ in self.calls}
        self.text = re.sub(r"^(\s*emithls\.func @(\w+)\([^\n]*?\))( attributes \{)?", self.place, text,
                           flags=re.M)

    def place(self, match):
        if match[2] not in self.die:
            return match[0]
        place = f"sys.place = #sys.place<card = 0, die = {self.die[match[2]]}>"
        return f"{match[1]} attributes {{{place}, " if match[3] else f"{match[1]} attributes {{{place}}}"

    def cells(self):
        """Die by the cell that a process or stream becomes."""
        found, seen = {}, {}
        for name, arguments in self.calls:
            number = seen[name] = seen.get(name, -1) + 1
            found[f"{name}_{number}_U0" if number else f"{name}_U0"] = self.die[name]
            for value in arguments:
                if value in self.streams:
                    found.setdefault(f"{self.streams[value]}_U", self.die[name])
        return found

    def latencies(self):
        """Of the streams between dies, by name."""
        ends = {}
        for name, arguments in self.calls:
            for value in arguments:
                if value in self.streams:
                    ends.setdefault(self.streams[value], []).append(self.die[name])
        return {name: 1 + REGISTERS * abs(a - b) for name, (a, b) in ends.items() if a != b}


def run_floorplan(folder, top, cells):
    """(pblock, cell) of each placement, and the ranges of pblocks."""
    paths = [f"level0_i/ulp/{top}_1/inst/{cell}" for cell in cells]
    others = [f"level0_i/ulp/other_1/inst/{cell}" for cell in cells]
    (folder / "stubs.tcl").write_text(STUBS % " ".join(paths + others), encoding="utf-8")
    done = subprocess.run(["tclsh", "stubs.tcl"], cwd=folder, capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise Failure(f"tclsh: {done.stderr[:300]}")
    lines = [line.split() for line in done.stdout.splitlines()]
    return ([(line[1], line[2].rsplit("/", 1)) for line in lines if line[0] == "cell"],
            {line[1]: line[2] for line in lines if line[0] == "range"})


def check_floorplan(folder, top, wanted):
    placed, ranges = run_floorplan(folder, top, wanted)
    got = [cell for _, (_, cell) in placed]
    if sorted(got) != sorted(wanted):
        raise Failure(f"placed once: {sorted(set(wanted) ^ set(got))} or twice")
    for pblock, (parent, cell) in placed:
        if not parent.endswith(f"/{top}_1/inst"):
            raise Failure(f"{parent}/{cell} is another kernel's")
        if ranges[pblock] != f"SLR{wanted[cell]}":
            raise Failure(f"{cell} is on {ranges[pblock]}, not on die {wanted[cell]}")


def check_missing(folder, top, wanted):
    """A netlist without one of the cells is an error that names it."""
    cells = list(wanted)
    try:
        run_floorplan(folder, top, cells[1:])
    except Failure as failure:
        if f"there is no cell {cells[0]} in {top}_1" in str(failure):
            return
        raise
    raise Failure("a cell that is not there is no error")


def check_link(folder, top, wanted):
    """link.cfg: its sections and keys, each once where it may be only once."""
    section, keys = None, {}
    for line in (folder / "link.cfg").read_text(encoding="utf-8").splitlines():
        if line.startswith("#") or not line:
            continue
        if re.fullmatch(r"\[\w+\]", line):
            section = line[1:-1]
            continue
        key, value = line.split("=", 1)
        keys.setdefault((section, key), []).append(value)
    dies = set(wanted.values())
    want = {("connectivity", "nk"): [f"{top}:1:{top}_1"]}
    if len(dies) == 1:
        want["connectivity", "slr"] = [f"{top}_1:SLR{dies.pop()}"]
    got = {key: value for key, value in keys.items() if key[0] == "connectivity"}
    if got != want:
        raise Failure(f"link.cfg: {got}, not {want}")
    steps = dict(value.split("=", 1) for value in keys["vivado", "prop"])
    if steps.get("run.impl_1.STEPS.OPT_DESIGN.TCL.POST") != "floorplan.tcl":
        raise Failure("link.cfg has no hook")


def check_latencies(tools, folder, hls, model, placed):
    report = json.loads((hls / "report.json").read_text(encoding="utf-8"))
    got = {fifo["name"]: fifo["latency"] for fifo in report["fifos"] if "latency" in fifo}
    if got != placed.latencies():
        raise Failure(f"latencies {got}, not {placed.latencies()}")
    arguments = []
    for kind, arrays in (("INPUT", model.inputs), ("OUTPUT", model.expected)):
        for number, array in enumerate(arrays):
            path = folder / f"{kind}{number}.npy"
            np.save(path, array)
            arguments.append(f"{kind}{number + 1 if number else ''}={path}")
    printed = subprocess.run(["make", "-s", "-C", hls, "cosim", "CXXFLAGS=-std=c++17 -O0", *arguments],
                             capture_output=True, text=True, check=False)
    found = re.findall(r"^cosim: latency of the first frame: (\d+) cycles$", printed.stdout, re.M)
    table = folder / "sim.json"
    command(tools / "ming", "sim", hls, f"--frames={gen_linalg.FRAMES}", f"--json={table}")
    want = json.loads(table.read_text(encoding="utf-8"))["latency_cycles"]
    if found != [str(want)]:
        raise Failure(f"cosim: {found or printed.stderr[-200:]}, ming sim {want} cycles")


def check(args, index, folder):
    model = gen_graphs.generate(args.seed, index)
    rng = random.Random(f"places/{args.seed}/{index}")
    gen_linalg.write_model(model, folder)
    compile_exactly(args.tools, folder, 32)
    module, = (folder / "hls").glob("*.mir")
    top = module.stem
    placed = Placed(module.read_text(encoding="utf-8"), rng, 1 if index % 4 == 3 else DIES)
    text = folder / "placed.mir"
    text.write_text(placed.text, encoding="utf-8")
    sized, hls = folder / "sized.mir", folder / "out"
    command(args.tools / "ming-opt", "--pass-pipeline=builtin.module(cross-dies,fit-fifos)", text,
            "-o", sized)
    command(args.tools / "ming-translate", "--emit-hls", sized, f"--output-dir={hls}")
    wanted = placed.cells()
    check_floorplan(hls, top, wanted)
    check_missing(hls, top, wanted)
    check_link(hls, top, wanted)
    check_latencies(args.tools, folder, hls, model, placed)
    if (folder / "hls" / "floorplan.tcl").exists() or (folder / "hls" / "link.cfg").exists():
        raise Failure("a design that is not placed has a floor plan")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True, help="folder of ming")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=8, help="number of graphs")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="leave designs there")
    args = parser.parse_args()
    args.tools = args.tools.resolve()
    results = []
    with tempfile.TemporaryDirectory(prefix="ming-floorplan-") as scratch:
        base = args.keep.resolve() if args.keep else pathlib.Path(scratch)
        for index in range(args.count):
            name = gen_graphs.generate(args.seed, index).name
            results.append(judge(name, lambda i=index, n=name: check(args, i, base / n)))
    passed, refused = results.count(True), results.count(REFUSED)
    print(f"{refused} graphs refused")
    failed = results.count(None) + (refused > args.count // 4)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
