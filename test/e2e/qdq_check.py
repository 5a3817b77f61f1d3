#!/usr/bin/env python3
"""Runs random networks in QDQ form as exported and as integers.

    test/e2e/qdq_check.py --tools=build/tools [--seed=N] [--count=N]

Each must give numpy's output (gen_qdq.py) at the onnx level, and as linalg the
very output of that level once it is rounded to float32. The linalg may hold no
floating-point arithmetic: all of such a network can be integers.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

import gen_qdq

LOWERING = ("builtin.module(func.func(onnx-fold-constants,onnx-decompose,onnx-fold-constants,"
            "onnx-infer-shapes,convert-onnx-to-linalg))")
FLOAT_OP = re.compile(r"\b(arith\.\w+f|math\.\w+|arith\.[su]itofp) ")
TIMEOUT = 120                                           # seconds per run


class Failure(Exception):
    """Why a case failed, in one line."""


def run(command):
    """What is printed on (stdout, stderr)."""
    done = subprocess.run([str(part) for part in command], capture_output=True,
                          timeout=TIMEOUT, check=False)
    messages = done.stderr.decode(errors="replace")
    if done.returncode:
        raise Failure(messages.strip().split("\n")[0])
    return done.stdout.decode(), messages


def execute(tools, work, *flags):
    """The output of the model in a folder for the input in it, and messages."""
    _, messages = run([tools / "ming", "run", work / "model.onnx", f"--input={work / 'x.npy'}",
                       f"--output={work / 'y.npy'}", *flags])
    return np.load(work / "y.npy"), messages


def compare(what, want, got):
    if want.shape != got.shape:
        raise Failure(f"{what}: shape {got.shape}, not {want.shape}")
    wrong = got.astype(np.float64) != want.astype(np.float64)
    if wrong.any():
        where = np.argmax(wrong)
        raise Failure(f"{what}: {wrong.sum()} of {want.size} elements differ, {where} is "
                      f"{got.flat[where]}, not {want.flat[where]}")


def check(tools, seed):
    frames, want, model = gen_qdq.generate(seed)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "model.onnx").write_bytes(model)
        np.save(work / "x.npy", frames)
        reference, _ = execute(tools, work)
        compare("as exported", want, reference)
        integers, _ = execute(tools, work, f"--pass-pipeline={LOWERING}")
        compare("as integers", reference, integers.astype(np.float32))
        run([tools / "ming-translate", "--import-onnx", work / "model.onnx",
             "-o", work / "model.mir"])
        module, _ = run([tools / "ming-opt", work / "model.mir", f"--pass-pipeline={LOWERING}"])
        floats = FLOAT_OP.findall(module)
        if floats:
            raise Failure(f"linalg has {len(floats)} floating-point ops, first {floats[0]}")


def check_seeds(description, name, check_seed):
    """A command line that calls check_seed(tools, seed) for many seeds."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--tools", type=pathlib.Path, default="build/tools")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    args = parser.parse_args()
    failed = 0
    for seed in range(args.seed, args.seed + args.count):
        try:
            check_seed(args.tools, seed)
        except (Failure, subprocess.TimeoutExpired) as why:
            failed += 1
            print(f"FAIL {name}-{seed}: {why}")
    print(f"{args.count - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    check_seeds(__doc__.split("\n\n", 1)[0], "qdq", check)
