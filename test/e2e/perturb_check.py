#!/usr/bin/env python3
"""Checks that designs keep their interval on hardware that is later than predicted.

    perturb_check.py --tools=DIR [--quick] [--seed=N] [--graphs=N] [--cards=N] [--cosim=N] [--filter=REGEX]

Designs are random graphs (gen_sizing.py, gen_graphs.py), kernels (gen_kernels.py), residual networks
and U-Nets, and the networks and kernels of MING_MODELS and MING_MLIR. Each is compiled with the default
slack and simulated with deeper pipelines, slower FIFOs, later processes, and at random within the bound:

Half of the graphs and kernels are compiled with --rewind=on.

- it does not deadlock, and its interval is at most 3 % longer than that of the slowest
  process alone on the same hardware, and not above the bound_interval_cycles of report.json;
- it does not deadlock where its ports stall at random besides;
- its slack costs little: LUT and BRAM18 beside those of --fifo-slack=exact are printed;
- for some, the schedule of `make cosim` is edited in the same way: the C++ takes the
  same cycles, and does not deadlock;
- random graphs on two or three cards, whose links take up to 2,000 cycles, keep all that as one design:
  what links without back-pressure (udp) hold is never more than their receivers have room for, and
  `make emulate` with the edited schedule, where a full receiver is an error, takes the same cycles.

--quick takes few of each. What is not kept beyond the slack is printed as `BEYOND name: why`, failures as
`FAIL name: why`; the last line counts.
"""
import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy as np

import gen_graphs
import gen_kernels
import gen_linalg
import gen_networks
import gen_sizing
from design_cases import REFUSED, ROOT, Refusal, chain_of_cards, judge
from emulate_check import AT_LINKS, MAX_CYCLES
from run_check import Failure
from sizing_check import STREAM, UNBOUNDED

sys.path.append(str(ROOT / "bench"))
from residual_networks import write_residual  # noqa: E402, pylint: disable=wrong-import-position

LONGER = 1.03                           # than the slowest process
BOUND = "x1.5+8,fifo-latency=2,start=2,end=2"
SPECS = ("+1", "other+1", "window+1", "kernel+1", "kernel+8,window+2,other+1",
         "kernel+16,window+4,other+2", "x1.5+8", "other+8", "window+8", "fifo-latency=2",
         "start=2,end=2", BOUND)
IN_COSIM = ("+1", "kernel+8,window+2,other+1", BOUND)
# Of pipelines that are not deep: no guarantee, but kept on one card. On several, whose links are sized to the
# word for the slack that is promised, a design of short frames can stand still; that is printed.
BEYOND = {"kernel+16,window+4,other+2"}
BUDGETS = (1, 8, 32, 128)               # DSP
COSIM_FRAMES = 6
TIMES = re.compile(r"^(?:cosim|emulate): (?:latency|interval).*: (\d+) cycles$", re.M)
TIMEOUT = 600
CARDS_SEED = 1000                       # graphs on cards are other ones
FRAMES_OF_LINKS = 64                    # in which links would fill that are read too slowly
CPP_FLAGS = "-std=c++17 -O0 -Wall -Wextra -Werror -Wno-unknown-pragmas"
LOOP = re.compile(r"\{cosim::Kind::(LOOP|REWIND), (\d+), (\d+), (\d+), 0, \{(.*)\}\}")
CODE = re.compile(r"\{cosim::Kind::CODE, (\d+), 0, 0, 0, \{\}\}")


@dataclasses.dataclass
class Case:
    """write: puts a model into a folder and gives its path. cards: of the system file there."""
    name: str
    write: object
    options: tuple = ()
    may_be_refused: bool = False
    is_cosimulated: bool = False
    cards: int = 0


def linalg_case(model, dsp, rewinds=False, is_cosimulated=False):
    def write(folder):
        gen_linalg.write_model(model, folder)
        return folder / "model.mlir"
    options = ("--top=net", f"--dsp={dsp}", "--bram=4000", f"--rewind={'on' if rewinds else 'off'}")
    return Case(model.name, write, options, True, is_cosimulated)


def random_chain(rng, cards):
    """A system file, with links of random rates and latencies (ns; a cycle has four of them)."""
    return chain_of_cards(*(
        f'gbps="{rng.choice((10, 40, 100))}" latency-ns="{int(4 * MAX_CYCLES ** rng.random())}" '
        f'payload="{64 * rng.randint(2, 22)}" '
        f'protocol="{rng.choice(("either", "either", "credit"))}"' for _ in range(cards - 1)))


def cards_case(args, index, is_emulated):
    model = gen_sizing.generate(args.seed + CARDS_SEED, index)
    rng = random.Random(f"cards/{args.seed}/{index}")
    cards = rng.choice((2, 3))
    case = linalg_case(model, rng.choice(BUDGETS), index % 3 == 2, is_emulated)
    text, write = random_chain(rng, cards), case.write

    def write_both(folder):
        (folder / "system.xml").write_text(text, encoding="utf-8")
        return write(folder)
    mode = f"--mode={rng.choice(('hwmp', 'tmp'))}"
    return dataclasses.replace(case, name=f"cards-{model.name}", write=write_both, cards=cards,
                               options=(*case.options, mode))


def residual_case(blocks):
    def write(folder):
        write_residual(folder / f"resnet_{blocks}", 8, blocks)
        return folder / f"resnet_{blocks}" / "model.onnx"
    return Case(f"resnet-{6 * blocks + 2}", write)


def unet_case(seed, index):
    case = gen_networks.generate(seed, index)

    def write(folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.onnx").write_bytes(case.data)
        return folder / "model.onnx"
    return Case(case.name, write, may_be_refused=True)


def file_case(path, options=()):
    return Case(path.parent.name, lambda folder: path, options)


def all_cases(args):
    rng = random.Random(f"perturb/{args.seed}")
    graphs, kernels = args.graphs, args.graphs // 2
    for index in range(graphs):
        generator = gen_sizing if index % 2 else gen_graphs
        yield linalg_case(generator.generate(args.seed, index), rng.choice(BUDGETS), index % 4 > 1,
                          index % 2 == 1 and index // 2 < args.cosim)
    for index in range(kernels):
        yield linalg_case(gen_kernels.generate(args.seed, index), rng.choice(BUDGETS), index % 2 == 1)
    for index in range(args.cards):
        yield cards_case(args, index, index < args.cosim)
    yield residual_case(1)
    if not args.quick:
        yield residual_case(3)
    families = list(gen_networks.FAMILIES)
    unets = [index for index in range(4 * len(families))
             if families[index % len(families)].startswith("unet")]
    for index in unets[:2 if args.quick else len(unets)]:
        yield unet_case(args.seed, index)
    if args.quick:
        return
    models, mlir = os.environ.get("MING_MODELS"), os.environ.get("MING_MLIR")
    if models:
        yield file_case(pathlib.Path(models) / "resnet8_a8w8b16" / "model.onnx")
        yield file_case(pathlib.Path(models) / "mobilenet_v2_a8w6b32" / "model.onnx",
                        ("--device=zcu102",))
    for path in sorted(pathlib.Path(mlir).glob("kernels/*/model.mlir")) if mlir else ():
        yield file_case(path)


class Design:
    """A compiled model."""

    def __init__(self, tools, case, folder):
        self.tools, self.case, self.folder = tools, case, folder
        self.model = case.write(folder)
        self.hls = folder / "hls"
        self.report = self.compile(self.hls)
        self.bound = self.report["simulated"]["bound_interval_cycles"]
        if self.bound is None:
            raise Failure("report.json has no bound_interval_cycles")

    def compile(self, out, *options):
        """Its report."""
        options = list(self.case.options) + list(options)
        if self.case.cards:
            options.append(f"--system={self.folder / 'system.xml'}")
        for _ in range(2):
            run = subprocess.run([self.tools / "ming", "compile", self.model, "-o", out, *options],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                 check=False, timeout=TIMEOUT)
            needed = re.search(r"the smallest design needs (\d+) DSP", run.stderr)
            if run.returncode == 0 or not needed:
                break
            options = [f"--dsp={needed[1]}" if o.startswith("--dsp=") else o for o in options]
        if run.returncode == 1 and self.case.may_be_refused and " error: " in run.stderr:
            raise Refusal(run.stderr.split(" error: ", 1)[1].splitlines()[0])
        if run.returncode:
            raise Failure(f"ming compile exits with {run.returncode}: {run.stderr[-300:]}")
        return json.loads((out / "report.json").read_text(encoding="utf-8"))

    def sim(self, spec, *options, design=None):
        """The figures of ming sim; a deadlock is a failure."""
        run = subprocess.run([self.tools / "ming", "sim", design or self.hls, f"--perturb={spec}",
                              "--json=-", *options], capture_output=True, text=True, check=False,
                             timeout=TIMEOUT)
        if run.returncode:
            raise Failure(f"{spec} {' '.join(options)}: {run.stderr[:300]}")
        return json.loads(run.stdout)


def check_interval(design, spec):
    found = design.sim(spec)
    slowest = max(process["cycles"] for process in found["processes"])
    if found["interval_cycles"] > LONGER * slowest:
        raise Failure(f"{spec}: interval {found['interval_cycles']}, but the slowest process takes "
                      f"{slowest}")
    if spec not in BEYOND and found["interval_cycles"] > design.bound:
        raise Failure(f"{spec}: interval {found['interval_cycles']} above the bound {design.bound}")


def check_latest(design):
    """The bound that the report has is that of the latest hardware."""
    found = design.sim(BOUND, "--frames=1")
    slowest = max(process["cycles"] for process in found["processes"])
    predicted = design.sim("+0", "--frames=1")
    longer = slowest - max(process["cycles"] for process in predicted["processes"])
    want = design.report["simulated"]["interval_cycles"] + longer
    if design.bound != want:
        raise Failure(f"bound_interval_cycles is {design.bound}, not {want}")


def check_stalls(design, rng):
    """Random pauses at the ports lengthen the interval as they like, but nothing may hang."""
    for spec in ("+0", BOUND, f"random:{rng.randrange(1000)}"):
        design.sim(spec, f"--input-rate={rng.uniform(0.1, 0.9):.2f}",
                   f"--output-rate={rng.uniform(0.1, 0.9):.2f}", f"--seed={rng.randrange(1000)}",
                   "--frames=2")


class Receivers:
    """Of the links of a design that hold no words back: what they have room for."""

    def __init__(self, design):
        self.design = design
        module, = design.hls.glob("*.mir")
        text = module.read_text(encoding="utf-8")
        self.rooms = {name: int(depth) for name, depth, _, protocol in AT_LINKS.findall(text)
                      if protocol == "udp"}
        self.unbounded = design.folder / "unbounded.mir"
        self.unbounded.write_text(
            STREAM.sub(lambda m: f"{m[1]}{UNBOUNDED if m[2] in self.rooms else m[3]})", text),
            encoding="utf-8")

    def check(self, spec, *options):
        """With room for everything, links hold no more than that, and nothing is earlier."""
        if not self.rooms:
            return
        found = self.design.sim(spec, *options, design=self.unbounded)
        for fifo in found["fifos"]:
            room = self.rooms.get(fifo["name"], UNBOUNDED)
            if fifo["max"] > room:
                raise Failure(f"{spec}: link {fifo['name']} holds {fifo['max']} words, with room for "
                              f"{room}")


# cosim with an edited schedule.

def written_arguments(text):
    """Of each function of a module, the numbers of the arguments that it writes to."""
    found = {}
    for name, arguments, body in re.findall(
            r"^  emithls\.func @(\w+)\(([^\n]*?)\) (?:attributes [^\n]*)?\{\n(.*?)^  \}", text,
            re.M | re.S):
        names = re.findall(r"(%\w+): !emithls", arguments)
        written = set(re.findall(r"emithls\.write %\S+, (%\w+)[ :{]", body))
        found[name] = {number for number, arg in enumerate(names) if arg in written}
    return found


def kind_of(process_class):
    return ("window" if process_class == "window" else
            "other" if process_class in ("converter", "fork", "reorder", "merge") else "kernel")


def deeper(spec, kind, depth):
    """Cycles that a pipeline is deeper."""
    more = 0
    for item in spec.split(","):
        match = re.fullmatch(r"(kernel|window|other)?(?:x([\d.]+))?(?:\+(\d+))?", item)
        if match and match[1] in (None, kind):
            more = int(depth * (float(match[2] or 1) - 1)) + int(match[3] or 0)
    return more


def number_of(spec, name, default):
    found = re.search(rf"{name}=(\d+)", spec)
    return int(found[1]) if found else default


def edit_schedule(design, spec):
    """The text of the schedule's header on that hardware."""
    header, = design.hls.glob("*_schedule.h")
    module, = design.hls.glob("*.mir")
    written = written_arguments(module.read_text(encoding="utf-8"))
    kinds = {process["name"]: kind_of(process["class"]) for process in design.report["processes"]}
    late = [f"{{cosim::Kind::CODE, {number_of(spec, name, 0)}, 0, 0, 0, {{}}}}"
            for name in ("start", "end")]
    lines, name = [], None
    for line in header.read_text(encoding="utf-8").split("\n"):
        comment = re.fullmatch(r"        // (\w+)", line)
        name = comment[1] if comment else name

        def edit_loop(match):
            depth = int(match[4])
            more = deeper(spec, kinds[name], depth)
            accesses = re.sub(
                r"\{(\d+), (\d+)\}",
                lambda a: f"{{{a[1]}, {int(a[2]) + (more if int(a[1]) in written[name] else 0)}}}",
                match[5])
            return (f"{{cosim::Kind::{match[1]}, {match[2]}, {match[3]}, {depth + more}, 0, "
                    f"{{{accesses}}}}}")

        if name and re.match(r" {8,9}\{", line):
            if CODE.search(line) or "Kind::ONCE" in line:
                return None
            line = LOOP.sub(edit_loop, line)
            line = re.sub(r"^        \{\{", lambda m: m[0][:-1] + late[0] + ",\n         {", line)
            line = re.sub(r"\}\},$", lambda m: "},\n         " + late[1] + "},", line) \
                if line.endswith("}},") else line
        lines.append(line)
    return "\n".join(lines)


def check_cosim(design):
    """Cosim and ming sim agree on later hardware, which neither hangs nor loses pace."""
    header, = design.hls.glob("*_schedule.h")
    original = header.read_text(encoding="utf-8")
    inputs = sorted(design.folder.glob("input*.npy"))
    arguments = []
    for number, path in enumerate(inputs):
        frames = design.folder / f"frames{number}.npy"
        np.save(frames, np.concatenate([np.load(path)] * (COSIM_FRAMES // gen_linalg.FRAMES)))
        arguments.append(f"INPUT{number + 1 if number else ''}={frames}")
    outputs = len(list(design.folder.glob("output*.npy")))
    for number in range(max(outputs, 1)):
        arguments.append(f"OUTPUT{number + 1 if number else ''}={design.folder}/cosim{number}.npy")
    for spec in IN_COSIM:
        edited = edit_schedule(design, spec)
        if edited is None:
            return
        header.write_text(edited, encoding="utf-8")
        target = "emulate" if design.case.cards else "cosim"
        run = subprocess.run(
            ["make", "-s", "-C", design.hls, target, f"CXXFLAGS={CPP_FLAGS}", *arguments],
            capture_output=True, text=True, check=False, timeout=TIMEOUT,
            env={**os.environ, "MING_FIFO_LATENCY": str(number_of(spec, "fifo-latency", 1))})
        header.write_text(original, encoding="utf-8")
        if run.returncode:
            raise Failure(f"{target} {spec}: {(run.stdout + run.stderr)[-300:]}")
        found = design.sim(spec, f"--frames={COSIM_FRAMES}")
        want = (found["latency_cycles"], found["last_interval_cycles"])
        got = tuple(map(int, TIMES.findall(run.stdout)))
        if got != want:
            raise Failure(f"{target} {spec}: {got} cycles, ming sim {want}")


# All of it.

def check_case(args, case, folder):
    """LUT and BRAM18 of the design, then of one without slack."""
    rng = random.Random(f"{args.seed}/{case.name}")
    folder.mkdir(parents=True, exist_ok=True)
    design = Design(args.tools, case, folder)
    seeds = [f"random:{rng.randrange(1 << 20)}" for _ in range(2 if args.quick else 6)]
    receivers = Receivers(design)
    for spec in (*(SPECS[::3] if args.quick else SPECS[:-1]), BOUND, *seeds):
        try:
            check_interval(design, spec)
        except Failure as failure:
            if spec not in BEYOND or not case.cards:
                raise
            print(f"BEYOND {case.name}: {str(failure).splitlines()[0]}", flush=True)
        if spec not in BEYOND:
            receivers.check(spec, f"--frames={FRAMES_OF_LINKS}")
    check_latest(design)
    check_stalls(design, rng)
    if case.is_cosimulated:
        check_cosim(design)
    exact = design.compile(folder / "exact", "--fifo-slack=exact")
    return [report["totals"][key] for report in (design.report, exact) for key in ("lut", "bram18")]


def run_case(args, case, folder):
    costs = judge(case.name, lambda: check_case(args, case, folder / case.name))
    if costs not in (None, REFUSED):
        print("{}: {} LUT and {} BRAM18, without slack {} and {}".format(case.name, *costs), flush=True)
    return costs


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True, help="folder of ming")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="few designs")
    parser.add_argument("--graphs", type=int, help="random graphs, half as many kernels; default 60")
    parser.add_argument("--cards", type=int, help="graphs on cards, default 12")
    parser.add_argument("--cosim", type=int, help="graphs in whose C++ the schedule is edited, default 4")
    parser.add_argument("--filter", default="", help="names to take")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    if args.graphs is None:
        args.graphs = 10 if args.quick else 60
    if args.cards is None:
        args.cards = 1 if args.quick else 12
    if args.cosim is None:
        args.cosim = 1 if args.quick else 4
    return args


def main():
    args = parse_args()
    args.tools = args.tools.resolve()
    print(f"seed {args.seed}", flush=True)
    cases = [case for case in all_cases(args) if re.search(args.filter, case.name)]
    with tempfile.TemporaryDirectory(prefix="ming-perturb-") as scratch:
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            results = list(pool.map(lambda case: run_case(args, case, pathlib.Path(scratch)), cases))
    failed, refused = results.count(None), results.count(REFUSED)
    if refused > max(1, len(cases) // 5):
        print("FAIL refusals: too many to say anything")
        failed += 1
    print(f"{len(results) - results.count(None)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
