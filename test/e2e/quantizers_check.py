#!/usr/bin/env python3
"""Quantizers, options and folding files that make no sense, and some that look like it.

    quantizers_check.py --tools=DIR [--filter=REGEX]

Each entry of BAD is a network of one matrix product with one thing wrong. `ming compile`
must say what, once, at the node's name or at the place in the file, exit with 1 and leave
no project. Each of GOOD looks wrong and has a meaning, which `ming run` and `ming sim` must give:
that of numpy.
"""
import argparse
import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from qonnx_builder import QUANT_DOMAIN, QonnxBuilder

F32 = np.float32
REALS = np.array([[1, -2, 3], [-1, 1, 2], [2, -3, 1], [-2, 1, -1]], F32)
NAN, INF = float("nan"), float("inf")


class Model:
    """x of 1x4 -> quantizer 'act' -> product with 'weights' of 4x3 -> quantizer 'out' -> y. What is
    given replaces a quantizer by a function of the network, the value in front and the name."""

    def __init__(self, act=None, weights=None, out=None, reals=None):
        self.net = net = QonnxBuilder("bad")
        reals = np.array(REALS if reals is None else reals, F32)
        x = (act or quant())(net, net.input("x", [1, 4]), "act")
        w = (weights or quant(narrow=1))(net, net.constant("reals", reals), "weights")
        y = net.node("MatMul", [x, w], {}, result="product")
        net.node("Identity", [(out or quant(bits=8))(net, y, "out")], {}, result="y")
        net.output("y", [1, 3])


def quant(scale=1.0, bits=4.0, zero=0.0, signed=1, narrow=0, rounding="ROUND", **attributes):
    def build(net, x, name):
        params = [net.constant(f"{name}_{what}", np.asarray(value, F32))
                  for what, value in (("scale", scale), ("zero", zero), ("bits", bits))]
        return net.node("Quant", [x, *params], {"signed": signed, "narrow": narrow,
                                                "rounding_mode": rounding, **attributes},
                        QUANT_DOMAIN, name)
    return build


def bipolar(scale):
    def build(net, x, name):
        return net.node("BipolarQuant", [x, net.constant(f"{name}_scale", np.asarray(scale, F32))],
                        {}, QUANT_DOMAIN, name)
    return build


def behind(second, first):
    return lambda net, x, name: second(net, first(net, x, name + "_first"), name)


def thresholds(rows, **attributes):
    def build(net, x, name):
        return net.node("MultiThreshold", [x, net.constant(f"{name}_rows", np.asarray(rows, F32))],
                        attributes, QUANT_DOMAIN, name)
    return build


@dataclasses.dataclass
class Case:
    name: str
    model: Model
    error: str = ""                 # regular expression of the message
    options: tuple = ()
    folding: str | None = None
    want: object = None             # of GOOD: function of x


BAD = [
    *(Case(f"scale {scale} of {where}", Model(**{where: quant(scale=scale)}), f"'?{where}.*scale")
      for scale, where in ((0.0, "act"), (-1.0, "act"), (INF, "act"), (NAN, "act"),
                           (0.0, "weights"), (NAN, "weights"), (0.0, "out"), (NAN, "out"))),
    *(Case(f"scale {scale} of bipolars", Model(act=bipolar(scale)), "scale")
      for scale in (0.0, -1.0, NAN)),
    *(Case(f"{bits} bits", Model(act=quant(bits=bits)), "bits?")
      for bits in (0.0, -1.0, 2.5, NAN, INF)),
    *(Case(f"zero point {zero}", Model(act=quant(zero=zero)), "zero") for zero in (0.5, NAN, INF)),
    Case("unknown rounding", Model(act=quant(rounding="SIDEWAYS")), "round"),
    Case("scales of another length", Model(weights=quant(scale=[1.0, 2.0])), "weights"),
    Case("thresholds of no channel", Model(out=thresholds([[0.0], [1.0]])), "out"),
    Case("thresholds of rank 1", Model(out=thresholds([0.0, 1.0])), "out"),
    Case("input type of no input", Model(), "nowhere", ("--input-type=nowhere=uint8",)),
    Case("input type of no type", Model(), "integer|type", ("--input-type=x=banana",)),
    Case("input type of scale 0", Model(), "scale", ("--input-type=x=uint8:0",)),
    Case("input type that a quantizer contradicts", Model(), "x.*act", ("--input-type=x=uint8",)),
    Case("input type of another scale", Model(act=quant(scale=0.5, bits=8.0)), "x.*act",
         ("--input-type=x=int8:0.25",)),
    Case("two input types", Model(), "x", ("--input-type=x=uint8", "--input-type=x=int8")),
    Case("weights from nowhere", Model(), "weights", ("--weights=torrent",)),
    Case("unknown residual", Model(), "residual", ("--residual=banana",)),
    Case("unknown head", Model(), "head", ("--head=banana",)),
    Case("free running with memory ports", Model(), "control",
         ("--control=none", "--interface=m_axi")),
    Case("counts of 8 bits", Model(act=quant(bits=8.0), weights=quant(bits=8.0)),
         r"fold\.json:1:\d+: error: .*popcount", (),
         '{"layers": {"product": {"multiplier": "popcount"}}}'),
    Case("a form of no requantizer", Model(), r"fold\.json:1:\d+: error: .*requantizer", (),
         '{"layers": {"product": {"requantizer": "abacus"}}}'),
    Case("a multiplier of folding that is none", Model(), r"fold\.json:1:\d+: error: .*multiplier",
         (), '{"layers": {"product": {"multiplier": "abacus"}}}'),
]

def sums(x, low=-8, high=7, weights=REALS):
    return np.clip(x, low, high) @ weights


def count(*rows):
    """How many thresholds the sums reach, of one row for all channels or of one for each."""
    return lambda x: (sums(x)[:, :, None] >= np.array(rows, F32)[None]).sum(2).astype(F32)


def signs(x):
    return np.where(x >= 0, 1, -1).astype(F32)


GOOD = [
    Case("thresholds out of order", Model(out=thresholds([[5.0, -3.0, 0.0]])),
         want=count([5.0, -3.0, 0.0])),
    Case("two thresholds for two bits", Model(out=thresholds([[-3.0, 4.0]])),
         want=count([-3.0, 4.0])),
    Case("equal thresholds", Model(out=thresholds([[2.0, 2.0, 2.0]] * 3)),
         want=count(*[[2.0, 2.0, 2.0]] * 3)),
    Case("thresholds that no sum reaches", Model(out=thresholds([[-1e6, 0.0, 1e6]])),
         want=count([-1e6, 0.0, 1e6])),
    Case("a threshold that is nan", Model(out=thresholds([[NAN, 1.0]])), want=count([NAN, 1.0])),
    Case("signed, one bit, narrow", Model(act=quant(bits=1.0, narrow=1)),
         want=lambda x: signs(x) @ REALS),
    Case("unsigned, one bit, narrow", Model(act=quant(bits=1.0, signed=0, narrow=1)),
         want=lambda x: sums(x, 0, 0)),
    Case("a zero point that leaves every number below the least",
         Model(act=behind(quant(bits=8.0, zero=-8.0, signed=0), quant(bits=3.0, signed=0))),
         want=lambda x: np.full_like(x, 8.0) @ REALS),
    Case("a zero point that leaves every number above the most",
         Model(act=behind(quant(bits=2.0, zero=9.0), quant(bits=3.0, signed=0))),
         want=lambda x: np.full_like(x, -8.0) @ REALS),
    Case("bipolar weights that are all 1", Model(weights=bipolar(1.0), reals=np.abs(REALS)),
         want=lambda x: sums(x, weights=np.ones((4, 3), F32))),
    Case("bipolar weights of zeros", Model(weights=bipolar(1.0), reals=REALS * 0),
         want=lambda x: sums(x, weights=np.ones((4, 3), F32))),
    Case("bipolar activations, a constant channel", Model(weights=bipolar(2.0), act=bipolar(1.0),
                                                          reals=[[1, -1, 1]] * 4),
         want=lambda x: signs(x) @ np.array([[2, -2, 2]] * 4, F32)),
]


def write(case, work):
    path = work / "bad.onnx"
    path.write_bytes(case.model.net.serialize())
    options = list(case.options)
    if case.folding is not None:
        (work / "fold.json").write_text(case.folding, encoding="utf-8")
        options.append(f"--folding={work / 'fold.json'}")
    return path, options


def execute(tools, *command):
    return subprocess.run([tools / "ming", *command], capture_output=True, text=True, check=False,
                          timeout=60)


def refusal(tools, case, work):
    """What is wrong with how the case is refused; None: nothing."""
    project = work / "project"
    shutil.rmtree(project, ignore_errors=True)
    path, options = write(case, work)
    done = execute(tools, "compile", path, "-o", project, *options)
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    if done.returncode != 1:
        return f"exits with {done.returncode}: {done.stderr[-500:]}"
    if len(errors) != 1:
        return f"has {len(errors)} errors: {errors}"
    if not re.search(case.error, errors[0]):
        return f"says something else: {errors[0]}"
    if project.exists():
        return "leaves a project"
    return None


def meaning(tools, case, work):
    """What is wrong with what the case computes; None: nothing."""
    path, options = write(case, work)
    x = np.random.default_rng(1).integers(-9, 10, (50, 4)).astype(F32)
    np.save(work / "x.npy", x)
    frames = (f"--input={work / 'x.npy'}", f"--output={work / 'y.npy'}")
    for command in (("run", path, *frames, *options),
                    ("compile", path, "-o", work / "design", *options),
                    ("sim", work / "design", *frames)):
        done = execute(tools, *command)
        if done.returncode != 0:
            return f"{command[0]} exits with {done.returncode}: {done.stderr[-500:]}"
        if command[0] == "compile":
            continue
        got, want = np.load(work / "y.npy").reshape(-1, 3), case.want(x)
        if not np.array_equal(got, want):
            return f"{command[0]} gives {got[:2]}, not {want[:2]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--filter", default="")
    args = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="ming-quantizers-") as name:
        for case in BAD + GOOD:
            if not re.search(args.filter, case.name):
                continue
            check = meaning if case.want else refusal
            why = check(args.tools.resolve(), case, pathlib.Path(name))
            print(f"FAIL {case.name}: {why}" if why else f"PASS {case.name}", flush=True)
            failed += why is not None
            passed += why is None
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
