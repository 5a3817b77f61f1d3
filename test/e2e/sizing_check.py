#!/usr/bin/env python3
"""Checks FIFO depths on random graphs: they suffice, none can be less, and all agree.

    sizing_check.py --tools=DIR [--seed=N] [--count=N] [--cosim=N]

For each graph (gen_sizing.py), compiled for a random budget with --fifo-slack=exact:

- the sized design has the interval that unbounded FIFOs have, the numbers that
  stand in the IR and in report.json, and the exact values;
- the interval that the cost model predicts is within 1 %,
  or off by less than a pipeline's depth;
- with pipelines that flush, nothing is later, for the sized and for random depths;
- a FIFO that is one shallower deadlocks the design or lengthens its interval, unless
  processes rewind, when it may be as deep for the sake of frames that are started late;
- where random depths deadlock, `fit-fifos{keep=true}` says so, too, the depths
  that the diagnostic names break the deadlock, and none of them can be less;
- of every third graph, words and places of some streams take up to 64 cycles, as they do between
  dies; all of this holds for it, too;
- of every third graph, words and places of some streams take up to 64 cycles, as they do between
  dies; all of this holds for it, too;
- for the first graphs, `make cosim` gives the exact values for the same depths,
  deadlocks where `ming sim` does, and else takes the same cycles.

Failures are printed as `FAIL name: why`; the last line counts.
"""
import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import gen_linalg
import gen_sizing
from design_cases import REFUSED, Refusal, compile_exactly, judge
from run_check import Failure, check_equal, command

BUDGETS = (1, 8, 32, 128)               # DSP
UNBOUNDED = 1 << 20
LEAST = 2                               # depth that every FIFO has
FRAMES = 24                             # with unbounded FIFOs
MANY = 1000                             # that settle any interval
COSIM_FRAMES = 6
PREDICTION, PREDICTED_DEPTH = 0.01, 4   # how far off the cost model may be: share, or cycles
CPP_FLAGS = "-std=c++17 -O0 -Wall -Wextra -Werror -Wno-unknown-pragmas"
STREAM = re.compile(r'(emithls\.stream "(\w+)" depth\()(\d+)\)')
ATTRIBUTES = re.compile(r'(emithls\.stream "\w+" depth\(\d+\))(?: \{([^}]*)\})?')
LATENCIES = (2, 64)                     # cycles that words take at some streams
NEEDED = re.compile(r"a depth of (\d+) of '(\w+)' would break the cycle")


MAX_REFUSED = 0.05


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a run found: its cycles, or None for a deadlock."""
    latency: int | None = None
    interval: int | None = None
    slowest: int | None = None          # process, alone
    cycles_of_all: int | None = None    # frames
    is_settled: bool = True             # later frames take as long

    @property
    def deadlocks(self):
        return self.latency is None

    def cycles(self):
        return self.latency, self.interval


class Design:
    """A compiled graph, to be simulated with other depths."""

    def __init__(self, folder, tools):
        self.hls, self.tools = folder / "hls", tools
        self.module, = self.hls.glob("*.mir")
        self.text = self.module.read_text(encoding="utf-8")
        self.report = json.loads((self.hls / "report.json").read_text(encoding="utf-8"))
        self.depths = {name: int(depth) for _, name, depth in STREAM.findall(self.text)}
        self.changed = folder / "changed.mir"
        self.rewinds = any(" rewind\n" in path.read_text(encoding="utf-8")
                           for path in self.hls.glob("*.cpp"))
        self.errors = ""                # of the last run

    def write(self, depths):
        """The module with these depths instead."""
        self.changed.write_text(
            STREAM.sub(lambda m: f"{m[1]}{depths.get(m[2], int(m[3]))})", self.text),
            encoding="utf-8")

    def sim(self, depths=None, frames=None, style=None):
        self.write(depths or {})
        table = self.changed.with_suffix(".json")
        run = subprocess.run(
            [self.tools / "ming", "sim", self.changed, f"--json={table}",
             *([f"--frames={frames}"] if frames else []),
             *([f"--pipeline-style={style}"] if style else [])],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        self.errors = run.stderr
        if run.returncode == 1 and "deadlocks: " in run.stderr:
            return Outcome()
        if run.returncode:
            raise Failure(f"ming sim exits with {run.returncode}: {run.stderr[-300:]}")
        found = json.loads(table.read_text(encoding="utf-8"))
        interval = found.get("last_interval_cycles" if frames else "interval_cycles")
        return Outcome(found["latency_cycles"], interval,
                       max(process["cycles"] for process in found["processes"]),
                       found["cycles"], found["periodic"] or found["proven"])

    def keeps(self, depths):
        """Whether fit-fifos accepts the depths."""
        self.write(depths)
        run = subprocess.run(
            [self.tools / "ming-opt", "--pass-pipeline=builtin.module(fit-fifos{keep=true})",
             self.changed], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        return run.returncode == 0


# What `ming sim` says.

def check_record(design, sized):
    """In the module and in report.json."""
    recorded = design.report["simulated"]
    alone = design.sim(frames=1)
    if (alone.latency, sized.interval) != (recorded["latency_cycles"], recorded["interval_cycles"]):
        raise Failure(f"{alone.latency}, {sized.interval} cycles, but report.json says {recorded}")
    for name in ("latency_cycles", "interval_cycles", "fifo_bits"):
        if f"{name} = {recorded[name]} : i64" not in design.text:
            raise Failure(f"the module's {name} is not {recorded[name]}")


def check_interval(design, sized):
    """With unbounded FIFOs it is that of the slowest process, once those behind it
    have caught up."""
    free = design.sim(dict.fromkeys(design.depths, UNBOUNDED), FRAMES)
    if sized.interval != free.slowest or free.interval > free.slowest:
        raise Failure(f"interval {sized.interval}, with unbounded FIFOs {free.interval}; the slowest "
                      f"process takes {free.slowest}")
    predicted = max(process["cycles"] for process in design.report["processes"])
    if abs(predicted - sized.interval) > max(PREDICTION * sized.interval,
                                                   PREDICTED_DEPTH):
        raise Failure(f"interval {sized.interval}, but the cost model says {predicted}")


def loses(design, depths, interval):
    """Whether a design deadlocks or takes more cycles for a frame; the mean of many where the last
    ones do not tell."""
    less = design.sim(depths)
    if less.deadlocks or less.interval > interval or less.is_settled:
        return less.deadlocks or less.interval > interval
    first, both = (design.sim(depths, frames).cycles_of_all for frames in (MANY, 2 * MANY))
    return both - first > MANY * interval


def check_least(design, sized):
    """No FIFO can be one shallower."""
    for name, depth in design.depths.items():
        if depth > LEAST and not loses(design, {name: depth - 1}, sized.interval):
            raise Failure(f"'{name}' needs no depth of {depth}")


def random_depths(design, rng):
    """Most as they are; some less, down to 1."""
    return {name: rng.randint(1, depth) if rng.random() < 0.5 else depth
            for name, depth in design.depths.items()}


def check_advice(design, depths):
    """Of a deadlock: the depths that would break it do, and none can be less."""
    if design.keeps(depths):
        raise Failure(f"fit-fifos accepts {depths}, which deadlocks")
    advice = {name: int(depth) for depth, name in NEEDED.findall(design.errors)}
    if not advice:
        raise Failure(f"no depths against the deadlock of {depths}")
    frames = 8 if design.rewinds else 1 # some cycles close when the next frame has begun
    if design.sim({**depths, **advice}, frames).deadlocks:
        raise Failure(f"{depths} still deadlocks with {advice}")
    for name, depth in advice.items():
        if not design.sim({**depths, **advice, name: depth - 1}, frames).deadlocks:
            raise Failure(f"{depths}: of {advice}, '{name}' could be less")


def check_flushing(design, depths, stalled):
    """With pipelines that flush, nothing is later."""
    if design.rewinds:
        return
    flushing = design.sim(depths, style="flushing")
    if not stalled.deadlocks and (flushing.deadlocks or flushing.latency > stalled.latency or
                                  flushing.interval > stalled.interval):
        raise Failure(f"{depths}: {flushing.cycles()} cycles flushing, {stalled.cycles()} stalled")


def check_deadlocks(design, rng):
    """The number of random depths that deadlock."""
    count = 0
    for _ in range(4):
        depths = random_depths(design, rng)
        stalled = design.sim(depths)
        if stalled.deadlocks:
            count += 1
            check_advice(design, depths)
        elif not stalled.is_settled: # fit-fifos keeps nothing that it cannot prove
            if stalled.interval < stalled.slowest:
                raise Failure(f"with {depths} frames follow after {stalled.interval} cycles")
        elif not design.keeps(depths):
            raise Failure(f"fit-fifos refuses {depths}, which does not deadlock")
        check_flushing(design, depths, stalled)
    return count


def check_values(design, model, folder):
    inputs = [folder / f"input{i}.npy" for i in range(len(model.inputs))]
    outputs = [folder / f"sim{i}.npy" for i in range(len(model.expected))]
    command(design.tools / "ming", "sim", design.hls, *(f"--input={path}" for path in inputs),
            *(f"--output={path}" for path in outputs))
    for number, (path, want) in enumerate(zip(outputs, model.expected)):
        check_equal(np.load(path).reshape(want.shape), want, f"ming sim: result {number}")


# What the C++ says.

class Cosim:
    """The emitted C++ of a design, built once, run with other depths."""

    def __init__(self, design, model, folder):
        self.design, self.model = design, model
        rounds = COSIM_FRAMES // gen_linalg.FRAMES
        self.arguments = {}
        for number, array in enumerate(model.inputs):
            path = folder / f"frames{number}.npy"
            np.save(path, np.concatenate([array] * rounds))
            self.arguments[f"INPUT{number + 1 if number else ''}"] = path
        self.outputs = [folder / f"cosim{i}.npy" for i in range(len(model.expected))]
        for number, path in enumerate(self.outputs):
            self.arguments[f"OUTPUT{number + 1 if number else ''}"] = path

    def run(self, depths):
        given = " ".join(f"{name}={depth}" for name, depth in depths.items())
        run = subprocess.run(
            ["make", "-s", "-C", self.design.hls, "cosim", f"CXXFLAGS={CPP_FLAGS}",
             *(f"{name}={path}" for name, path in self.arguments.items())],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
            env={**os.environ, "MING_DEPTHS": given})
        if run.returncode and "error: deadlock:" in run.stderr:
            return Outcome()
        if run.returncode:
            raise Failure(f"cosim: {(run.stdout + run.stderr)[-300:]}")
        self.check_outputs()
        found = re.findall(r"^cosim: .*: (\d+) cycles$", run.stdout, re.M)
        if len(found) != 2:
            raise Failure(f"cosim counts no cycles: {run.stdout[-300:]}")
        return Outcome(*map(int, found))

    def check_outputs(self):
        for number, (path, want) in enumerate(zip(self.outputs, self.model.expected)):
            got = np.load(path).reshape(-1, *want.shape)
            for frames in got:
                check_equal(frames, want, f"cosim: result {number}")

    def compare(self, depths):
        """0 for an unbounded FIFO."""
        want = self.design.sim({name: depth or UNBOUNDED for name, depth in depths.items()},
                               COSIM_FRAMES)
        got = self.run(depths)
        if got.cycles() != want.cycles():
            raise Failure(f"with {depths} cosim takes {got.cycles()} cycles, ming sim {want.cycles()}")


def check_cosim(design, model, folder, rng):
    cosim = Cosim(design, model, folder)
    cosim.compare({})
    cosim.compare(dict.fromkeys(design.depths, 0))
    deep = [name for name, depth in design.depths.items() if depth > LEAST]
    for name in rng.sample(deep, min(4, len(deep))):
        cosim.compare({name: design.depths[name] - 1})
    for _ in range(4):
        cosim.compare(random_depths(design, rng))


def delay_streams(args, folder, rng):
    """Gives the design's streams random latencies, and sizes its
    FIFOs anew."""
    hls = folder / "hls"
    module, = hls.glob("*.mir")

    def delayed(match):
        latency = rng.choice((1, rng.randint(*LATENCIES), rng.randint(LATENCIES[0], 6)))
        kept = [match[2]] if match[2] else []
        return f"{match[1]} {{{', '.join(kept + [f'latency = {latency} : i64'])}}}"

    late = folder / "late.mir"
    late.write_text(ATTRIBUTES.sub(delayed, module.read_text(encoding="utf-8")), encoding="utf-8")
    sized = folder / "sized.mir"
    command(args.tools / "ming-opt", "--pass-pipeline=builtin.module(fit-fifos{slack=exact})", late,
            "-o", sized)
    shutil.rmtree(hls)
    command(args.tools / "ming-translate", "--emit-hls", sized, f"--output-dir={hls}")
    if not (hls / module.name).exists():
        shutil.copy(sized, hls / module.name)


# All of it.

def check_graph(args, index, folder):
    """The number of deadlocks that were explained."""
    model = gen_sizing.generate(args.seed, index)
    rng = random.Random(f"depths/{args.seed}/{index}")
    gen_linalg.write_model(model, folder)
    rewinds = index % 2 == 1
    compile_exactly(args.tools, folder, rng.choice(BUDGETS),
                    f"--rewind={'on' if rewinds else 'off'}")
    if index % 3 == 2:
        delay_streams(args, folder, rng)
    design = Design(folder, args.tools)
    if rewinds != design.rewinds:
        raise Failure("nothing rewinds" if rewinds else "loops rewind")
    sized = design.sim()
    check_record(design, sized)
    check_interval(design, sized)
    check_flushing(design, {}, sized)
    check_values(design, model, folder)
    if not rewinds:
        check_least(design, sized)
    count = check_deadlocks(design, rng)
    if index < args.cosim:
        check_cosim(design, model, folder, rng)
    return count


def run_graph(args, index, folder):
    name = gen_sizing.generate(args.seed, index).name
    return judge(name, lambda: check_graph(args, index, folder / name))


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True, help="folder of ming")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=24, help="number of graphs")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--cosim", type=int, default=6, help="graphs up to which cosim runs")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="leave designs there")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def main():
    args = parse_args()
    args.tools = args.tools.resolve()
    print(f"seed {args.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="ming-sizing-") as scratch:
        folder = args.keep.resolve() if args.keep else pathlib.Path(scratch)
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            counts = list(pool.map(lambda index: run_graph(args, index, folder),
                                   range(args.first, args.first + args.count)))
    failed, refused = counts.count(None), counts.count(REFUSED)
    explained = sum(count for count in counts if count not in (None, REFUSED))
    print(f"{explained} deadlocks explained, {refused} graphs refused")
    if args.count >= 20 and explained < args.count // 4:
        print("FAIL deadlocks: too few to say anything")
        failed += 1
    if refused > max(1, MAX_REFUSED * args.count):
        print(f"FAIL refusals: more than {100 * MAX_REFUSED:.0f} %")
        failed += 1
    print(f"{len(counts) - counts.count(None)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
