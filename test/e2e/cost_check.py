#!/usr/bin/env python3
"""Compares the cycles that the cost model predicts for each process of a design with those of its
simulation, over networks, kernels and options; prints the processes that differ.

A process may deviate by 1 % or a few cycles, whichever is more; so may the interval of a design,
from the slowest process's prediction."""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

FEW_CYCLES = 3


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def deviates(predicted, simulated):
    return abs(predicted - simulated) > max(0.01 * simulated, FEW_CYCLES)


def read_design(tools, folder):
    """Predicted and simulated cycles of each process, the simulated interval."""
    with open(f"{folder}/report.json") as file:
        report = json.load(file)
    key = "interval_cycles" if "interval_cycles" in report["processes"][0] else "cycles"
    predicted = {p["name"]: p[key] for p in report["processes"]}
    sim = f"{folder}/sim.json"
    run(f"{tools}/ming", "sim", folder, f"--json={sim}")
    with open(sim) as file:
        simulation = json.load(file)
    simulated = {p["name"]: p["cycles"] for p in simulation["processes"] if p["kind"] == "process"}
    return predicted, simulated, simulation["interval_cycles"]


def check(tools, model, options, verbose):
    with tempfile.TemporaryDirectory() as folder:
        run(f"{tools}/ming", "compile", model, "-o", folder, *options)
        predicted, simulated, interval = read_design(tools, folder)
    bad = 0
    for name, cycles in simulated.items():
        off = name not in predicted or deviates(predicted[name], cycles)
        bad += off
        if off or verbose:
            print(f"  {name:40} {predicted.get(name, '-'):>9} predicted {cycles:>9} simulated")
    slowest = max(predicted.values())
    print(f"{model} {' '.join(options)}: {len(simulated)} processes, {bad} off; "
          f"slowest {slowest} predicted, interval {interval}", flush=True)
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", default="build/tools")
    parser.add_argument("--models", help="folder of models, each NAME/model.onnx")
    parser.add_argument("--kernels", help="folder of kernels, each NAME/model.mlir")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    models = glob.glob(os.path.dirname(__file__) + "/../../examples/*/model.onnx")
    for folder, name in ((args.models, "model.onnx"), (args.kernels, "model.mlir")):
        models += sorted(glob.glob(f"{folder}/*/{name}")) if folder else []
    bad = 0
    for model in models:
        for options in ([], ["--clock=125"], ["--dsp=40"]):
            bad += check(args.tools, os.path.relpath(model), options, args.verbose)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
