#!/usr/bin/env python3
"""Runs the C++ of a compiled design and shows its outputs.

    run_design.py DIR [INPUT.npy [EXPECTED.npy]]

DIR is what `ming compile -o DIR` wrote; its report.json names the ports. INPUT
is the array of the first one; every other input is random, always the same, in
the port's shape. Outputs are compared with EXPECTED, if it is given, in the
first one. Needs Python's standard library only.
"""
import json
import math
import os
import random
import re
import subprocess
import sys

import npy

SEED = 1


def random_values(rng, element, count):
    """Reals in [-1, 1) for floats, any value for integers; and their type."""
    if element == "float" or element in ("f16", "bf16", "f32", "f64"):
        return "f4", [rng.random() * 2 - 1 for _ in range(count)]
    bits = int(re.search(r"\d+", element)[0])
    width = next(width for width in (8, 16, 32, 64) if width >= bits)
    if element.startswith("u") or bits == 1:
        return f"u{width // 8}", [rng.getrandbits(bits) for _ in range(count)]
    half = 1 << (bits - 1)
    return f"i{width // 8}", [rng.getrandbits(bits) - half for _ in range(count)]


def make_input(rng, port, path):
    shape, element = port["shape"], port["dtype"]
    kind, values = random_values(rng, element, math.prod(shape))
    npy.write_npy(path, kind, shape, values)
    print(f"Input {port['name']}: random {element}, {'x'.join(map(str, shape))} (seed {SEED})")


def numbered(stem, number):
    """INPUT, INPUT2, …: what the Makefile calls the arrays."""
    return stem + (str(number) if number > 1 else "")


def main(args):
    if not 1 <= len(args) <= 3:
        sys.exit(__doc__)
    folder = os.path.abspath(args[0])
    with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
        ports = [port for port in json.load(file)["ports"] if not port.get("weights")]
    rng = random.Random(SEED)
    command, outputs = ["make", "-C", folder, "csim"], []
    inputs = [port for port in ports if port["direction"] == "in"]
    for number, port in enumerate(inputs, 1):
        path = os.path.join(folder, numbered("input", number) + ".npy")
        if number == 1 and len(args) > 1:
            path = os.path.abspath(args[1])
        else:
            make_input(rng, port, path)
        command.append(f"{numbered('INPUT', number)}={path}")
    for number in range(1, len(ports) - len(inputs) + 1):
        outputs.append(os.path.join(folder, numbered("output", number) + ".npy"))
        command.append(f"{numbered('OUTPUT', number)}={outputs[-1]}")
    if subprocess.run(command, check=False).returncode != 0:
        sys.exit(1)
    for path in outputs:
        npy.show(path)
    if len(args) == 3:
        npy.compare(outputs[0], args[2])


if __name__ == "__main__":
    main(sys.argv[1:])
