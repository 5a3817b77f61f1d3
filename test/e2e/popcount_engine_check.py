#!/usr/bin/env python3
"""Compiles networks of 1 to 3 bits for engines of planes, and compares with numpy.

    popcount_engine_check.py --tools=DIR [--seed=N] [--count=N] [--hidden]

Random networks (convolutions with strides, dilations, pads and groups,
batch normalizations of both signs, pools) with weights of -1 and 1, or of 2 and 3
bits, and activations of 1 to 3 bits with a sign or without, must all compile, and
`ming engine` must give numpy's outputs, element for element (in C++:
engine_csim_check.py). What an engine of planes has not must be refused
with the layer's name. --hidden: the layers of Tincy YOLO and DoReFa-Net/PF that
FINN-R's multilayer engine runs, also in C++ (minutes).
"""
import argparse
import json
import pathlib
import random
import sys

import numpy as np

import engine_cpp
import overlay_check
from case_loop import run_cases
from network_builder import Network
from overlay_check import Failure

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import finn_networks  # noqa: E402

ENGINES = [(4, 4), (8, 16), (2, 8), (8, 2), (16, 16), (1, 4)]
ROOM = "act_pages=256,param_words=4096,w_words=65536,pe_words=2048,acc=24"
HIDDEN = "rows=32,cols=64,weight=i1,acc=16,pe_words=144,w_words=9216,param_words=512,pu_stages=1,acc_words=1,pu_kind=2"


class Planes:
    """The bits of a network."""

    def __init__(self, rng):
        self.weights, self.acts = rng.choice([1, 1, 1, 2, 3]), rng.randint(1, 3)
        self.is_signed = self.acts > 1 and rng.random() < 0.4
        self.macs = 0       # of the convolutions of a frame
        self.has_sums = False

    @property
    def types(self):
        return f"act={'' if self.is_signed else 'u'}i{self.acts},weight=i{self.weights}"


def weight_of(net, planes, shape):
    reals = net.numpy.normal(0, 1, shape).astype(np.float32)
    weight = net.constant(reals, "weight")
    if planes.weights == 1:
        return net.bipolar_by(weight, 0.25)
    return net.quant_by(weight, 0.5, planes.weights, narrow=net.rng.random() < 0.5)


def activation(net, planes, x):
    if net.rng.random() < 0.8:
        x = net.batch_norm(x)
    if not planes.is_signed:
        x = net.relu(x)
    levels = 2 ** (planes.acts - planes.is_signed)
    spread = max(float(x.array.std()), 2.0 ** -6)
    scale = 2.0 ** np.rint(np.log2(2 * spread / levels))
    return net.quant_by(x, scale, planes.acts, planes.is_signed,
                        rounding=net.rng.choice(["ROUND", "HALF_UP", "FLOOR"]))


def convolution(net, planes, x):
    rng, (height, width) = net.rng, x.array.shape[2:]
    channels = x.array.shape[1]
    group = rng.choice([g for g in range(1, channels + 1) if channels % g == 0])
    filters = group * rng.randint(1, 8 if group < 4 else 2)
    kernel = rng.choice([1, 2, 3])
    dilation, pad = rng.choice([1, 1, 2]), rng.randint(0, 1)
    if (kernel - 1) * dilation + 1 > min(height, width) + 2 * pad:
        return None
    weight = weight_of(net, planes, (filters, channels // group, kernel, kernel))
    y = net.conv(x, weight, strides=[rng.choice([1, 1, 2])] * 2, dilations=[dilation] * 2,
                 pads=[pad] * 4, group=group)
    planes.macs += y.array[0].size * channels // group * kernel ** 2
    return y


def generate(seed, index, planes=None, may_sum=True):
    """A network of random bits, or of `planes`."""
    rng = random.Random(f"{seed}/{index}/planes")
    planes = planes or Planes(rng)
    while True:
        net = Network(f"planes-{index}", rng, rng.randint(13, 17), dyadic=True)
        planes.macs, planes.has_sums = 0, False
        shape = (rng.randint(1, 20), rng.randint(3, 8), rng.randint(3, 8))
        x = net.quant_by(net.input(shape), 0.25, planes.acts, planes.is_signed)
        for _ in range(rng.randint(1, 4)):
            y = convolution(net, planes, x)
            if y is None:
                continue
            x = activation(net, planes, y)
            if min(x.array.shape[2:]) > 2 and rng.random() < 0.4:
                x = net.max_pool(x, rng.choice([2, 3]), rng.choice([1, 2]))
            if 2 <= min(x.array.shape[2:]) <= max(x.array.shape[2:]) < 5 and rng.random() < 0.5:
                x = net.upsample(x, rng.randint(2, 3))
        if may_sum and rng.random() < 0.3:      # sums that are parts of a few bits each
            flat, planes.has_sums = net.flatten(x), True
            x = net.gemm(flat, weight_of(net, planes, (rng.randint(2, 9), flat.array.shape[1])),
                         transB=1)
        net.output(x)
        if np.ptp(net.result.array) > 0 and x.array is not net.source.array:
            return net, planes


def check_random(args, index, folder):
    net, planes = generate(args.seed, index)
    rows, cols = random.Random(f"{args.seed}/{index}").choice(ENGINES)
    overlay = f"rows={rows},cols={cols},{planes.types},{ROOM},pu_stages={index % 3 + 1}"
    if not planes.is_signed and not planes.has_sums:
        overlay += f",pu_kind={index % 2 + 1}"      # thresholds alone are enough
    (folder / "m.onnx").write_bytes(net.encode())
    refused = overlay_check.compile_program(args.tools, folder / "m.onnx", folder, overlay)
    if refused:
        raise Failure(f"{overlay}: {refused}")
    overlay_check.compare(args.tools, folder, net.source.array, net.result.array, 0)
    if not planes.has_sums and planes.weights == 1:     # else groups may be dense, with zeros
        check_products(args, overlay, planes, folder)


def check_products(args, overlay, planes, folder):
    """`ming check` counts the products of groups, too."""
    done = overlay_check.run(args.tools / "ming", "check", "--architecture=overlay", folder / "m.onnx",
                             f"--overlay={overlay}", "--json")
    macs = sum(layer["macs"] for layer in json.loads(done.stdout)["layers"])
    if macs != planes.macs:
        raise Failure(f"ming check counts {macs} products of {planes.macs}")


def check_hidden(args, recipe, types, folder):
    finn_networks.write_finn_network(folder / "model", recipe(), 1)
    overlay = f"{HIDDEN},{types}"
    refused = overlay_check.compile_program(args.tools, folder / "model" / "model.onnx", folder, overlay)
    if refused:
        raise Failure(refused)
    inputs, outputs = (np.load(folder / "model" / f"{name}.npy") for name in ("input", "output"))
    overlay_check.compare(args.tools, folder, inputs, outputs, 0)
    engine = engine_cpp.Engine(args.tools, folder / "engine", overlay)
    engine_cpp.compare(engine_cpp.run_network(args.tools, engine, folder, inputs[:1]), outputs[:1])


# What an engine of planes has not.

def wide_input(net, planes):
    return net.quant_by(net.input((2, 4, 4)), 0.25, planes.acts + 1, planes.is_signed)


def wide_weight(net, planes):
    x = net.quant_by(net.input((2, 4, 4)), 0.25, planes.acts, planes.is_signed)
    return net.conv(x, net.quant_by(net.constant(net.numpy.normal(0, 2, (3, 2, 3, 3)).astype(np.float32)),
                                    0.25, 6))


def wide_map(net, planes):
    x = net.quant_by(net.input((2, 4, 4)), 0.25, planes.acts, planes.is_signed)
    y = net.quant_by(net.conv(x, weight_of(net, planes, (3, 2, 3, 3))), 0.25, 8)
    return net.conv(y, weight_of(net, planes, (3, 3, 1, 1)))


WRONG = [(wide_input, "which do not fit the overlay's activations of 2 bits"),
         (wide_weight, "is no layer of an overlay: it has the weight"),
         (wide_map, "which do not fit the overlay's activations of 2 bits")]


def check_wrong(args, case, folder):
    build, words = case
    planes, rng = Planes(random.Random(1)), random.Random(2)
    planes.weights, planes.acts, planes.is_signed = 1, 2, False
    net = Network("wrong", rng, 13, dyadic=True)
    net.output(build(net, planes))
    (folder / "m.onnx").write_bytes(net.encode())
    refused = overlay_check.compile_program(args.tools, folder / "m.onnx", folder,
                                            f"rows=4,cols=8,{planes.types},{ROOM}")
    if not refused or words not in refused:
        raise Failure(f"says '{refused}', not '{words}'")


def make_cases(args):
    for index in range(args.count):
        yield f"random-{args.seed}-{index}", lambda f, i=index: check_random(args, i, f)
    for case in WRONG:
        yield f"wrong-{case[0].__name__}", lambda f, c=case: check_wrong(args, c, f)
    hidden = [(finn_networks.tincy_yolo_hidden, "act=ui3,act_pages=6"),
              (finn_networks.dorefa_hidden, "act=ui2,act_pages=11")] if args.hidden else []
    for recipe, types in hidden:
        yield recipe.__name__, lambda f, r=recipe, t=types: check_hidden(args, r, t, f)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True, type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--hidden", action="store_true", help="Tincy YOLO and DoReFa-Net/PF, minutes")
    args = parser.parse_args()
    args.tools = args.tools.resolve()
    return run_cases(make_cases(args), [Failure])


if __name__ == "__main__":
    sys.exit(main())
