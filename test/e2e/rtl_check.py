#!/usr/bin/env python3
"""Checks the Verilog of designs: values, and cycles by `ming sim`.

    rtl_check.py --tools=DIR [--simulator=verilator] [--seed=N] [--count=N] [--graphs=N] [--quick]

Random kernels and graphs (gen_kernels.py, gen_graphs.py, gen_sizing.py) are compiled for random
budgets with --fifo-slack=exact, lowered to Verilog and simulated with Icarus, in which what nothing
has set is unknown, or with Verilator, in which it is random:

- all frames have the generator's exact values, as fast as the ports allow and with ports that
  pause at random;
- the first and the last frame take the cycles that `ming sim` says, from first word in to last
  word out, and so does the time between the last two;
- with random depths of FIFOs the same, or both deadlock;
- with a FIFO one word shallower the design deadlocks or its interval is longer, where `ming sim` says
  so, which sizing_check.py proves of all depths;
- styles take turns (STYLES): pipelines that stall or flush, that rewind, tables that are loaded.
  Modules of designs that rewind run empty where no frame follows, so a frame alone, with any depths,
  is like the simulated one. With the sized depths a stream of frames does not hang, its first frame
  takes no longer than simulated, and the interval is not above the proven one; with others a stream
  may hang where the simulated one does not, but has exact values;
- Verilator's lint has nothing to say.

Every other design, by chance, has the vendor's primitives, the others expressions.

Designs of emithls that ming does not make (DESIGNS, and random loops whose interval is above one,
gen_loops.py) have the values and cycles of `ming sim`, with random depths, too. Half of the random
ones have a schedule in which ops were moved to later cycles.

A design that is refused must say so as hardware. Each case prints `PASS name`, `REFUSED name: why`
or `FAIL name: why`; the last line counts.
"""
import argparse
import dataclasses
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import gen_graphs
import gen_kernels
import gen_linalg
import gen_loops
import gen_sizing
import rtl_bench
from design_cases import REFUSED, ROOT, Refusal, compile_exactly, judge
from run_check import Failure, check_equal, command

BUDGETS = (1, 4, 16, 64)                # DSP
ROUNDS = 2                              # times the generator's frames
STALLS = (30, 70)                       # percent of the cycles
LINT = ("-Wall", "-Wno-DECLFILENAME", "-Wno-UNUSED", "-Wno-PINCONNECTEMPTY")
MOVED = 4                               # ops that may come a cycle later
MAX_REFUSED = 0.15                      # floats, most of them
STREAM = re.compile(r'(emithls\.stream "(\w+)" depth\()(\d+)\)')
REWIND = re.compile(r"attributes \{.*\brewind\}")
SIZED = "sized"                         # the module with the depths that it was given
GENERATORS = (gen_kernels, gen_graphs, gen_sizing)
PRIMITIVES = ("xilinx", "generic")
REWINDS = "rewinding"
STYLES = {"stalled": ("--rewind=off",), REWINDS: ("--rewind=on",),
          "flushing": ("--rewind=off", "--pipeline-style=flushing"),
          "loaded": ("--rewind=off", "--weights=load:128"),
          "loaded and flushing": ("--rewind=off", "--weights=load:128",
                                  "--pipeline-style=flushing")}
DESIGNS = [ROOT / "lit" / "lowering" / "emithls_to_rtl" / f"{name}.mir"
           for name in ("loops", "once", "flush", "interval", "moved", "early")]
LEAST = 2                               # depth that every FIFO has
SHALLOWER_FRAMES = 24


class Design:
    """A compiled model, and what the simulation says of it with some depths."""

    def __init__(self, args, model, folder, style):
        self.tools, self.simulator = args.tools, rtl_bench.BENCHES[args.simulator]
        self.model, self.folder = model, folder
        self.primitives = random.Random(f"primitives/{args.seed}/{model.name}").choice(PRIMITIVES)
        self.module, = (folder / "hls").glob("*.mir")
        self.header, = (path.read_text(encoding="utf-8")
                        for path in (folder / "hls").glob("*_host.h"))
        self.top = rtl_bench.top_name(self.module)
        self.text = self.module.read_text(encoding="utf-8")
        self.rewinds = style == REWINDS or REWIND.search(self.text) is not None
        self.depths = {name: int(depth) for _, name, depth in STREAM.findall(self.text)}
        self.inputs = [np.concatenate([self.frames(array)] * ROUNDS) for array in model.inputs]
        self.weights = [np.load(path)[None] for path in (folder / "hls").glob("*_weights.npy")]

    @staticmethod
    def frames(array):
        return array.reshape(gen_linalg.FRAMES, 1, -1)

    def with_depths(self, depths, name):
        path = self.folder / f"{name}.mir"
        path.write_text(STREAM.sub(lambda m: f"{m[1]}{depths.get(m[2], int(m[3]))})", self.text),
                        encoding="utf-8")
        return path

    def sim(self, module, *options):
        """The figures of `ming sim`; None: it deadlocks."""
        table = module.with_suffix(".json")
        run = subprocess.run([self.tools / "ming", "sim", module, f"--json={table}", *options],
                             capture_output=True, text=True, check=False)
        if run.returncode == 1 and "deadlocks: " in run.stderr:
            return None
        if run.returncode:
            raise Failure(f"ming sim exits with {run.returncode}: {run.stderr[:300]}")
        return json.loads(table.read_text(encoding="utf-8"))

    def translate(self, module):
        """The folder of its Verilog; None: it is refused."""
        folder = module.with_suffix("")
        is_hardware = rtl_bench.translate(self.tools, module, folder, self.primitives)
        return folder if is_hardware else None

    def bench(self, folder, frames=ROUNDS * gen_linalg.FRAMES):
        """With the first of the inputs' frames, again and again; one at a time in a folder."""
        inputs = [array[np.arange(frames) % len(array)] for array in self.inputs]
        return self.simulator(folder, self.top, self.header, inputs + self.weights)


def cycles(run):
    last = run.frames - 1
    return run.latency(0), run.latency(last), run.frame_end(last) - run.frame_end(last - 1)


def check_values(run, model, what):
    for number, (got, want) in enumerate(zip(run.outputs(), model.expected, strict=True)):
        for turn in range(ROUNDS):
            frames = got[turn * gen_linalg.FRAMES:][:gen_linalg.FRAMES]
            check_equal(frames.reshape(want.shape), want, f"{what}: result {number}")


def check_deadlocks(want, run):
    """True: both do, in the simulation perhaps behind the last word, where inputs are left over."""
    if want is None and run and not run.is_all_taken():
        return True
    if (want is None) != (run is None):
        raise Failure(f"{'deadlocks' if run is None else 'does not deadlock'}; ming sim says "
                      f"{'that it does' if want is None else 'that it does not'}")
    return run is None


def check_alone(design, module, folder):
    """A frame that no other follows."""
    want, run = design.sim(module, "--frames=1"), design.bench(folder, 1).run()
    if not check_deadlocks(want, run) and run.latency(0) != want["latency_cycles"]:
        raise Failure(f"a frame alone takes {run.latency(0)} cycles, but ming sim says "
                      f"{want['latency_cycles']}")


def check_cycles(design, want, run):
    if design.rewinds:
        if run.latency(0) > want["latency_cycles"]:
            raise Failure(f"the first frame takes {run.latency(0)} cycles, but ming sim says "
                          f"{want['latency_cycles']}")
        return
    said = want["latency_cycles"], want["last_latency_cycles"], want["last_interval_cycles"]
    if cycles(run) != said:
        raise Failure(f"takes {cycles(run)} cycles, but ming sim says {said}")


def check_run(design, module, bench):
    """True: it deadlocks, as the simulation says if it does not rewind."""
    want, run = design.sim(module, f"--frames={bench.frames}"), bench.run()
    if design.rewinds and run is None:
        return True
    if not design.rewinds and check_deadlocks(want, run):
        return True
    if module.stem == SIZED or not design.rewinds:
        check_cycles(design, want, run)
    check_values(run, design.model, module.stem)
    return False


def check_interval(design, module, bench):
    """Of the periodic state, if that is proven."""
    want, found = design.sim(module), cycles(bench.run())[2]
    if want["proven"] and found > want["interval_cycles"]:
        raise Failure(f"an interval of {found} cycles, but ming sim says {want['interval_cycles']}")


def check_depths(design, rng, name):
    """True: it deadlocks with random ones."""
    depths = {fifo: rng.randint(1, depth) for fifo, depth in design.depths.items()}
    module = design.with_depths(depths, name)
    folder = design.translate(module)
    if design.rewinds:
        check_alone(design, module, folder)
    return check_run(design, module, design.bench(folder))


def check_shallower(design, rng):
    """True: there was a FIFO that may not be one word shallower."""
    deeper = [name for name, depth in design.depths.items() if depth > LEAST]
    if not deeper or design.rewinds:
        return False
    fifo = rng.choice(deeper)
    module = design.with_depths({fifo: design.depths[fifo] - 1}, "shallower")
    want, sized = design.sim(module), design.sim(design.with_depths({}, SIZED))
    if want and want["interval_cycles"] <= sized["interval_cycles"]:
        return False                    # the latency of the first frame needs it, or nothing
    run = design.bench(design.translate(module), SHALLOWER_FRAMES).run()
    if check_deadlocks(want, run):
        return True
    found, best = cycles(run)[2], design.sim(module, f"--frames={SHALLOWER_FRAMES}")
    if found != best["last_interval_cycles"]:
        raise Failure(f"with {fifo} shallower an interval of {found} cycles, but ming sim says "
                      f"{best['last_interval_cycles']}")
    mean = (run.frame_end(SHALLOWER_FRAMES - 1) - run.frame_end(0)) / (SHALLOWER_FRAMES - 1)
    if mean <= sized["interval_cycles"]:
        raise Failure(f"with {fifo} shallower {mean} cycles a frame, no more than "
                      f"{sized['interval_cycles']}")
    return True


def check_lint(folder, top):
    command("verilator", "--lint-only", *LINT, "--top-module", top, "-f", "files.f", cwd=folder)


def check_sized(design, module, verilog, rng):
    """As it was compiled."""
    if design.rewinds:
        check_alone(design, module, verilog)
    bench = design.bench(verilog)
    if check_run(design, module, bench):
        raise Failure("deadlocks with the depths that it was given")
    if design.rewinds:
        check_interval(design, module, bench)
    for stall in STALLS:
        run = bench.run(stall, rng.randrange(1, 1 << 30))
        if run is None:
            raise Failure(f"deadlocks with ports that pause {stall} % of the time")
        check_values(run, design.model, f"ports that pause {stall} % of the time")


def check_verilog(args, design, rng):
    """With the sized depths and others; how many of these deadlock."""
    module = design.with_depths({}, SIZED)
    verilog = design.translate(module)
    if not verilog:
        raise Refusal("cannot become hardware")
    check_lint(verilog, design.top)
    check_sized(design, module, verilog, rng)
    return sum(check_depths(design, rng, f"depths{number}")
               for number in range(args.depths if design.depths else 0))


def check_model(args, model, style, folder):
    """What was found: its style, the number of deadlocks, of FIFOs that may not be shallower."""
    rng = random.Random(f"rtl/{args.seed}/{model.name}")
    gen_linalg.write_model(model, folder)
    compile_exactly(args.tools, folder, rng.choice(BUDGETS), *STYLES[style])
    design = Design(args, model, folder, style)
    deadlocks = check_verilog(args, design, rng)
    shallower = check_shallower(design, rng)
    print(f"PASS {model.name} ({style})", flush=True)
    return Found(style, deadlocks, shallower)


def make_design_model(args, path, folder):
    """Its project in folder/hls, random inputs, and the values of the simulation."""
    rng = np.random.default_rng(args.seed)
    command(args.tools / "ming-translate", "--emit-hls", path, f"--output-dir={folder / 'hls'}")
    header, = (file.read_text(encoding="utf-8") for file in (folder / "hls").glob("*_host.h"))
    ports = rtl_bench.read_ports(header, "")
    source, = (port for port in ports if port.name == "in")
    dtype = np.dtype(f"i{-(-source.bits // 8)}")
    array = rng.integers(-1 << source.bits - 1, 1 << source.bits - 1,
                         (gen_linalg.FRAMES * source.shape[0], *source.shape[1:]), dtype=dtype)
    np.save(folder / "in.npy", array)
    command(args.tools / "ming", "sim", path, f"--input={folder / 'in.npy'}",
            f"--output={folder / 'out.npy'}")
    return gen_linalg.LinalgModel(path.stem, "", [array], [np.load(folder / "out.npy")])


def check_design(args, path, folder):
    folder.mkdir()
    rng = random.Random(f"rtl/{args.seed}/{path.stem}")
    design = Design(args, make_design_model(args, path, folder), folder, path.stem)
    deadlocks = check_verilog(args, design, rng)
    print(f"PASS {path.stem}", flush=True)
    return Found(path.stem, deadlocks, False)


CYCLE = re.compile(r"emithls\.cycle = (\d+)")


def is_scheduled_well(args, path, text):
    path.write_text(text, encoding="utf-8")
    run = subprocess.run([args.tools / "ming-opt", path, "--schedule-hls=check", "-o", "/dev/null"],
                         capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):
        raise Failure(f"ming-opt exits with {run.returncode}: {run.stderr[:300]}")
    return run.returncode == 0


def move_ops(args, path, rng):
    """Schedules the design, and puts off all ops from some cycle on, and then some ops by themselves
    where nothing hinders that. Iterations begin later if recurrences have become longer."""
    text = command(args.tools / "ming-opt", path, "--schedule-hls")
    depth, interval = (int(re.search(rf"\b{name} = (\d+)", text)[1]) for name in ("depth", "interval"))
    late, first = rng.randint(1, 2), rng.randrange(depth)
    text = CYCLE.sub(lambda m: f"emithls.cycle = {int(m[1]) + late * (int(m[1]) >= first)}", text)
    text = text.replace(f"depth = {depth} ", f"depth = {depth + late} ")
    if not is_scheduled_well(args, path, text):
        text = text.replace(f"interval = {interval} ", f"interval = {interval + late} ")
    if not is_scheduled_well(args, path, text):
        raise Failure("its ops cannot be put off")
    for _ in range(MOVED):
        m = rng.choice(list(CYCLE.finditer(text)))
        moved = f"{text[:m.start(1)]}{int(m[1]) + 1}{text[m.end(1):]}"
        if is_scheduled_well(args, path, moved) and rtl_bench.translate(args.tools, path,
                                                                        path.with_suffix("")):
            text = moved
    path.write_text(text, encoding="utf-8")


def check_loop(args, index, folder):
    folder.mkdir()
    path = folder / f"loop-{args.seed}-{index}.mir"
    path.write_text(gen_loops.text(args.seed, index), encoding="utf-8")
    if index % 2:
        move_ops(args, path, random.Random(f"moved/{args.seed}/{index}"))
    return check_design(args, path, folder / "design")


@dataclasses.dataclass(frozen=True)
class Found:
    style: str
    deadlocks: int
    shallower: bool


def run_model(args, generator, index, folder):
    model = generator.generate(args.seed, index)
    style = list(STYLES)[(index + GENERATORS.index(generator)) % len(STYLES)]
    found = judge(model.name, lambda: check_model(args, model, style, folder / model.name))
    if not args.keep:
        shutil.rmtree(folder / model.name, ignore_errors=True)
    return found


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True, help="folder of ming")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=12, help="kernels")
    parser.add_argument("--graphs", type=int, default=12, help="graphs of each generator")
    parser.add_argument("--loops", type=int, default=12, help="random loops of emithls")
    parser.add_argument("--first", type=int, default=0, help="number of the first ones")
    parser.add_argument("--depths", type=int, default=2, help="random depths of each")
    parser.add_argument("--simulator", choices=list(rtl_bench.BENCHES), default="icarus")
    parser.add_argument("--quick", action="store_true", help="few models")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="leave designs there")
    args = parser.parse_args()
    args.tools = args.tools.resolve()
    if args.quick:
        args.count, args.graphs, args.depths, args.loops = 4, 2, 1, 4
    return args


def main():
    args = parse_args()
    print(f"seed {args.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="ming-rtl-") as scratch:
        folder = args.keep.resolve() if args.keep else pathlib.Path(scratch)
        results = [judge(path.stem, lambda path=path: check_design(args, path, folder / path.stem))
                   for path in DESIGNS]
        results += [judge(f"loop-{args.seed}-{index}",
                          lambda index=index: check_loop(args, index, folder / f"loop-{index}"))
                    for index in range(args.first, args.first + args.loops)]
        results += [run_model(args, generator, index, folder)
                   for generator in GENERATORS
                   for index in range(args.first, args.first + (
                       args.count if generator is gen_kernels else args.graphs))]
    failed, refused = results.count(None), results.count(REFUSED)
    found = [result for result in results if isinstance(result, Found)]
    print(", ".join(f"{sum(f.style == style for f in found)} {style}" for style in STYLES))
    print(f"{sum(f.deadlocks for f in found)} deadlocks found, {sum(f.shallower for f in found)} FIFOs "
          f"that may not be shallower, {refused} models refused")
    if refused > MAX_REFUSED * len(results):
        print(f"FAIL refusals: more than {100 * MAX_REFUSED:.0f} %")
        failed += 1
    print(f"{len(results) - results.count(None)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
