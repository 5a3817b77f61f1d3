#!/usr/bin/env python3
"""Checks that the cost model predicts the cycles of processes as their schedule has them.

    cost_check.py --tools=DIR [--seed=N] [--count=N] [--verbose]

Cases are the examples, the networks and kernels of MING_MODELS and MING_MLIR, and
random kernels and graphs, each for a few budgets and clocks. The schedule is that of
the attributes in the design that `ming compile` writes, which `ming sim` reads. A frame
takes (trips - 1) * interval + depth cycles, so a case passes if every process's
interval is predicted, and its depth to a few cycles; most depths must be predicted to
the cycle. Failures are printed as `FAIL name: why`; the last line counts.
"""
import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from design_cases import named_models, random_models

FEW_CYCLES = 3                          # that a prediction may be off
MOST_INEXACT, FEW_INEXACT = 0.03, 3     # of the processes, the larger of both
NETWORKS = ("two_layers", "resnet8_a8w8b16", "TFC_1W1A")
OPTIONS = ((), ("--clock=125", "--rewind=on"), ("--dsp=40",), ("--clock=300",),
           ("--rewind=on",))
MAX_REFUSED = 0.1


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    model: pathlib.Path
    options: tuple
    may_reject: bool = False


@dataclasses.dataclass
class Result:
    processes: int = 0
    exact: int = 0
    refused: bool = False
    failures: tuple = ()


def command(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=600)


def deviates(predicted, simulated):
    return abs(predicted - simulated) > FEW_CYCLES


def read_design(tools, folder):
    """Cycles of each process, predicted and simulated."""
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    predicted = {p["name"]: p.get("cycles", p.get("interval_cycles")) for p in report["processes"]}
    module, = folder.glob("*.mir")
    if "emithls.schedule_clock_mhz" not in module.read_text(encoding="utf-8"):
        raise ValueError("ming compile writes no schedule")
    table = folder / "sim.json"
    done = command(tools / "ming", "sim", folder, f"--json={table}")
    if done.returncode:
        raise ValueError(f"ming sim exits with {done.returncode}: {done.stderr[-300:]}")
    found = json.loads(table.read_text(encoding="utf-8"))
    return predicted, {p["name"]: p["cycles"] for p in found["processes"] if p["kind"] == "process"}


def run_case(tools, case, verbose):
    with tempfile.TemporaryDirectory(prefix="ming-cost-") as scratch:
        folder = pathlib.Path(scratch)
        done = command(tools / "ming", "compile", case.model, "-o", folder, *case.options)
        if done.returncode == 1:
            return Result(refused=True)
        if done.returncode:
            return Result(failures=(f"ming compile exits with {done.returncode}",))
        try:
            predicted, simulated = read_design(tools, folder)
        except (ValueError, KeyError, subprocess.TimeoutExpired) as failure:
            return Result(failures=(str(failure),))
    result = Result(len(simulated))
    for name, cycles in simulated.items():
        guess = predicted.get(name)
        if verbose:
            print(f"{case.name} {name}: {guess} predicted, {cycles} simulated")
        result.exact += guess == cycles
        if guess is None or deviates(guess, cycles):
            result.failures += (f"{name} is predicted to take {guess} cycles, and takes {cycles}",)
    return result


def named_cases():
    for name, model in named_models(NETWORKS).items():
        for options in OPTIONS:
            yield Case(f"{name} {' '.join(options)}".strip(), model, options)


def random_cases(args, scratch):
    for name, model, options in random_models(scratch, args.seed, args.count, OPTIONS):
        yield Case(name, model, options, True)


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True, help="folder of ming")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20, help="random kernels, and graphs")
    parser.add_argument("--verbose", action="store_true", help="print every process")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def main():
    args = parse_args()
    tools = args.tools.resolve()
    print(f"seed {args.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="ming-cost-") as scratch:
        cases = [*named_cases(), *random_cases(args, pathlib.Path(scratch))]
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            results = list(pool.map(lambda case: run_case(tools, case, args.verbose), cases))
    failed = 0
    for case, result in zip(cases, results):
        failures = result.failures
        if result.refused and not case.may_reject:
            failures = ("is refused",)
        failed += bool(failures)
        for why in failures:
            print(f"FAIL {case.name}: {why}")
    refused = sum(result.refused for result in results)
    if refused > MAX_REFUSED * len(cases):
        print(f"FAIL refusals: {refused}, more than {100 * MAX_REFUSED:.0f} %")
        failed += 1
    processes, exact = (sum(getattr(r, what) for r in results) for what in ("processes", "exact"))
    if processes - exact > max(MOST_INEXACT * processes, FEW_INEXACT):
        print(f"FAIL depths: only {exact} of {processes} are predicted to the cycle")
        failed += 1
    print(f"{processes} processes, {exact} predicted to the cycle, {refused} cases refused")
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
