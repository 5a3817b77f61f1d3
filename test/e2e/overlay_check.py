#!/usr/bin/env python3
"""Compiles networks to programs of overlays, runs them in `ming engine`, and compares with numpy.

    overlay_check.py --tools=DIR [--models=DIR] [--seed=N] [--count=N] [--families=N] [--large]

Random networks of everything that an engine has (convolutions with strides,
dilations, pads and groups, products, pools, sums, products with a pixel, parts
of channels, roundings) must all compile, and give numpy's outputs on engines of several sizes and
widths: exactly, where scales are powers of two. The families of gen_networks.py
must give numpy's outputs, or be refused with the layer's name; so many of them
must compile. So must the kernels of overlay_bodies.py. Models with stored outputs run on three engines.
"""
import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

import gen_networks
import overlay_bodies
from network_builder import Network
from numpy_ops import multi_threshold

ENGINES = ["rows=4,cols=4", "rows=8,cols=16", "rows=16,cols=16", "rows=8,cols=2", "rows=1,cols=4"]
MODEL_ENGINES = ENGINES[:3]
TYPES = ["act=i16", "act=i8,weight=i8"]     # elements of 8 bits hold bytes without sign, too
ROOM = "act_pages=256,param_words=8192,w_words=65536,pe_words=2048"
# What an overlay has not: of the families some have floats, batches, tables or interpolation.
REFUSALS = ("is no layer of an overlay", "do not fit the overlay's", "and maps are integers")
LEAST_FAMILIES = 0.2                    # share of them that compiles
COMPILE = [18, 20, 21]                 # families that must: shuffles, MultiThreshold, ArgMax and TopK


class Failure(Exception):
    """Why a case failed, in one line."""


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, timeout=600,
                          check=False)


# Random networks.

def activation(net, x):
    """Back to few bits, by a rectifier or not, with any rounding. CEIL and FLOOR take up what float32
    adds to sums that are 0 where scales are no powers of two."""
    rng, bits = net.rng, net.rng.randint(3, 8)
    kind = rng.choice(["relu", "clip", "none"])
    if kind == "relu":
        x = net.relu(x)
    elif kind == "clip":
        x = net.clip(x, 0, 6)
    rounding = rng.choice(["ROUND", "ROUND", "HALF_UP", "HALF_DOWN",
                           *(["FLOOR", "CEIL"] if net.dyadic else [])])
    return net.quant(x, bits, signed=kind == "none", rounding=rounding)


def weight_of(net, shape):
    return net.quant_weight(shape, net.rng.choice([1, 2, 4, 8]), net.rng.choice([None, 0]))


def convolution(net, x, keep=False):
    """Of one group, of several or of as many as channels."""
    rng, (height, width) = net.rng, x.array.shape[2:]
    channels = x.array.shape[1]
    group = 1 if keep and channels == 1 else rng.choice(
        [g for g in range(1, channels + 1) if channels % g == 0])
    filters = channels if keep else group * rng.randint(1, 8 if group < channels else 2)
    dilation = rng.choice([1, 1, 2])
    kernel = [rng.randint(1, 3), rng.randint(1, 3)]
    if keep:
        kernel = [rng.choice([1, 3])] * 2
        pads = [dilation * (k // 2) for k in kernel] * 2
    else:
        pads = [rng.randint(0, 2) for _ in range(4)]
    reach = [dilation * (k - 1) + 1 for k in kernel]
    if height + pads[0] + pads[2] < reach[0] or width + pads[1] + pads[3] < reach[1]:
        return None
    stride = [1, 1] if keep else [rng.randint(1, 3), rng.randint(1, 2)]
    bias = net.bias(filters) if rng.random() < 0.6 else None
    return net.conv(x, weight_of(net, (filters, channels // group, *kernel)), bias, group=group,
                    strides=stride, dilations=[dilation] * 2, pads=pads)


def pool(net, x):
    """Means with padding have divisors that change at the border."""
    rng, kernel = net.rng, net.rng.randint(2, 3)
    if min(x.array.shape[2:]) < kernel:
        return None
    if rng.random() < 0.5:
        return net.max_pool(x, kernel, rng.randint(1, 2), rng.randint(0, 1))
    pads = {"pads": [rng.randrange(kernel) for _ in range(4)]} if rng.random() < 0.5 else {}
    return net.quant(net.average_pool(x, kernel if pads else 2, rng.randint(1, 2), **pads), 8)


def placed(net, x):
    """A number for each place of a map, for each of its rows or for all of one channel."""
    shape = net.rng.choice([x.array.shape[1:], (x.array.shape[2], 1), x.array.shape[1:2] + (1, 1)])
    numbers = net.constant((net.numpy.integers(-20, 21, shape) / 8).astype(np.float32))
    return activation(net, net.binary("Add", x, numbers))


def residual(net, x):
    """A sum of the input, or a convolution of it, and another one."""
    y = convolution(net, x, keep=True)
    y = net.quant(y, 8)
    short = x if net.rng.random() < 0.5 else net.quant(convolution(net, x, keep=True), 8)
    pair = (y, short) if net.rng.random() < 0.5 else (short, y)
    return activation(net, net.binary("Add", *pair))


def side_by_side(net, x):
    """One scale for both, so that they stay integers."""
    y, z = (convolution(net, x, keep=True) for _ in range(2))
    scale = net.scale(max(np.abs(y.array).max(), np.abs(z.array).max()), 127)
    return net.concat([net.quant_by(y, scale, 8), net.quant_by(z, scale, 8)])


def nearest(net, x):
    """Whole factors, by which a map or the later sum of it and another one is read; beside what it came
    from or not."""
    rng, (height, width) = net.rng, x.array.shape[2:]
    factors = [rng.randint(1, 3), rng.randint(2, 3)]
    if height * width * factors[0] * factors[1] > 400:
        return x
    x = activation(net, convolution(net, x, keep=True)) if rng.random() < 0.5 else x
    kind = rng.choice(["alone", "add", "concat"])
    attrs = rng.choice([{"mode": "nearest"}, {"mode": "nearest", "nearest_mode": "floor",
                                              "coordinate_transformation_mode": "asymmetric"}])
    array = x.array.repeat(factors[0], 2).repeat(factors[1], 3)
    large = net.node("Resize", [x, None, net.floats(1, 1, *factors)], array, attrs)
    if kind == "alone":
        return large
    other = net.quant(convolution(net, large, keep=True), 8)
    if kind == "add":
        again = net.node("Resize", [x, None, net.floats(1, 1, *factors)], array, attrs)
        pair = (other, again) if rng.random() < 0.5 else (again, other)
        return activation(net, net.binary("Add", *pair))
    scale = net.scale(max(np.abs(large.array).max(), np.abs(other.array).max()), 127)
    return net.concat([net.quant_by(large, scale, 8), net.quant_by(other, scale, 8)])


def excitation(net, x):
    """Every pixel of a layer times a number for its channel, made of the whole map."""
    x = activation(net, convolution(net, x, keep=True))
    gate = net.quant(net.global_average(x), 8)
    channels = x.array.shape[1]
    gate = net.quant(net.conv(gate, weight_of(net, (channels, channels, 1, 1))), 4, signed=False)
    pair = (x, gate) if net.rng.random() < 0.5 else (gate, x)
    return activation(net, net.binary("Mul", *pair))


def transposed(net, x):
    """Zeros between pixels, or none; the result may end behind the last tap, or before the first one."""
    rng, (channels, height, width) = net.rng, x.array.shape[1:]
    strides = [rng.randint(1, 3), rng.randint(1, 3)]
    if height * strides[0] * width * strides[1] > 400:
        return None
    group = rng.choice([g for g in range(1, channels + 1) if channels % g == 0])
    kernel, dilations = [rng.randint(1, 4), rng.randint(1, 3)], [rng.choice([1, 1, 2])] * 2
    reach = [dilation * (k - 1) for dilation, k in zip(dilations, kernel)]
    more = [rng.randrange(max(stride, dilation)) for stride, dilation in zip(strides, dilations)]
    room = [(size - 1) * stride + far for size, stride, far in zip((height, width), strides, reach)]
    pads = [rng.randint(0, min(far, left // 2)) for far, left in zip(reach, room)] * 2
    filters = rng.randint(1, 2 if group > 1 else 6)
    bias = net.bias(filters * group) if rng.random() < 0.6 else None
    weight = net.quant_weight((channels, filters, *kernel), rng.choice([1, 2, 4, 8]), rng.choice([None, 1]))
    return net.conv_transpose(x, weight, bias, group=group,
                              strides=strides, dilations=dilations, pads=pads, output_padding=more)


def rearranged(net, x):
    """Channels that become pixels, or pixels that become channels, behind a convolution."""
    rng, (channels, height, width) = net.rng, x.array.shape[1:]
    if min(height, width) < 2:
        return x
    size = rng.randint(2, 3)
    is_deep = rng.random() < 0.4 or height * width * size * size > 400
    filters = rng.randint(1, 3) * (1 if is_deep else size * size)
    x = activation(net, net.conv(x, weight_of(net, (filters, channels, 1, 1))))
    if not is_deep:
        return net.depth_to_space(x, size, rng.choice(["DCR", "CRD"]))
    if height % size or width % size:
        x = net.pad(x, [0] * 6 + [-height % size, -width % size])
    return net.space_to_depth(x, size)


def moved(net):
    """A network's input whose channels become pixels, whose pixels become channels, or whose channels come in
    another order, in front of all layers; or as it is."""
    rng = net.rng
    kind = rng.choice(["plain"] * 4 + ["deep", "wide", "shuffled"])
    size, (height, width) = rng.randint(2, 3), (rng.choice([1, *range(3, 10), *range(3, 10)]) for _ in "hw")
    channels = rng.randint(1, 9)
    if kind == "wide":
        channels, height, width = rng.randint(1, 3) * size * size, min(height, 5), min(width, 5)
    elif kind == "deep":
        height, width = size * rng.randint(1, 4), size * rng.randint(1, 4)
    elif kind == "shuffled":
        channels = size * rng.randint(2, 4)
    x = net.quant(net.input((channels, height, width)), rng.choice([4, 8]), rounding="ROUND")
    if kind == "plain":
        return x
    if kind == "wide":
        x = net.depth_to_space(x, size, rng.choice(["DCR", "CRD"]))
    elif kind == "deep":
        x = net.space_to_depth(x, size)
    else:
        x = net.transpose(net.reshape(x, size, channels // size, height, width), 0, 2, 1, 3, 4)
        x = net.reshape(x, channels, height, width)
    return activation(net, net.conv(x, weight_of(net, (rng.randint(1, 8), x.array.shape[1], 1, 1))))


def counted(net, x):
    """Thresholds that an element reaches, as FINN's MultiThreshold counts them: of each channel or of all."""
    rng, channels = net.rng, x.array.shape[1]
    spread = max(float(x.array.std()), 0.25)
    thresholds = net.numpy.normal(x.array.mean(), spread, (rng.choice([1, channels]), rng.choice([3, 15, 40])))
    thresholds = net.constant(np.sort(np.rint(thresholds * 64) / 64).astype(np.float32), "thresholds")
    attrs = {"out_dtype": "FLOAT32", "out_scale": 0.25, "out_bias": rng.choice([0.0, -2.0]), "data_layout": "NCHW"}
    array = multi_threshold(x.array, thresholds.array, attrs)
    return net.node("MultiThreshold", [x, thresholds], array, attrs, "qonnx.custom_op.general")


def block(net, x):
    kind = net.rng.choice(["conv", "conv", "conv", "pool", "residual", "concat", "excitation",
                           "nearest", "transposed", "rearranged", "counted", "placed"])
    if kind in ("counted", "placed"):
        x = activation(net, convolution(net, x, keep=True))  # whose channels nobody else tells
        return (counted if kind == "counted" else placed)(net, x)
    if kind == "rearranged":
        x = rearranged(net, x)
        return activation(net, net.conv(x, weight_of(net, (net.rng.randint(1, 8), x.array.shape[1], 1, 1))))
    if kind == "nearest" and x.array.shape[1] < 8:
        return nearest(net, x)
    if kind == "excitation":
        return excitation(net, x)
    if kind == "residual":
        return residual(net, x)
    if kind == "concat" and x.array.shape[1] < 8:
        return side_by_side(net, x)
    y = pool(net, x) if kind == "pool" else (
        transposed(net, x) if kind == "transposed" else convolution(net, x))
    if y is None:
        return x
    return y if kind == "pool" else activation(net, y)


def scaled(net, x):
    """Numbers of the model that no quantizer takes in: floats, by a product for each channel."""
    shape = (x.array.shape[1], *[1] * (x.array.ndim - 2))
    steps = net.numpy.integers(1, 9, shape).astype(np.float32)
    return net.binary("Mul", x, net.constant(steps / (8 if net.dyadic else 7)))


def ending(net, x):
    """Quantized to few bits, or more than a map holds, or what is left to the host."""
    kind = net.rng.choice(["quantized", "quantized", "sums", "scaled", "permuted", "rearranged"])
    if kind == "rearranged" and x.array.ndim == 4:
        return rearranged(net, x)
    if kind == "quantized":
        return net.quant(x, 8)
    if kind == "scaled":
        return scaled(net, x)
    if kind == "permuted" and x.array.ndim == 4:
        return net.transpose(x, 0, 2, 3, 1) if net.rng.random() < 0.5 else net.flatten(x)
    return x


def generate(seed, index):
    rng = random.Random(f"{seed}/{index}/overlay")
    while True:
        net = Network(f"overlay-{index}", rng, rng.randint(13, 17), dyadic=rng.random() < 0.6,
                      frames=rng.choice([2, 2, 3, 4]))
        if rng.random() < 0.3:
            net.batch = net.frames if net.frames == 3 else 2
        x = moved(net)
        for _ in range(rng.randint(1, 4)):
            x = block(net, x)
        if rng.random() < 0.5:
            flat = net.flatten(x)
            x = net.gemm(flat, weight_of(net, (rng.randint(2, 9), flat.array.shape[1])), transB=1)
        net.output(ending(net, x))
        if np.ptp(net.result.array) > 0:
            return net


# Cases.

def compile_program(tools, model, folder, overlay, *flags):
    """Why it does not compile, or None."""
    done = run(tools / "ming", "compile", "--architecture=overlay", model, f"--overlay={overlay}",
               "-o", folder / "p.mir", *flags)
    if done.returncode == 0:
        return None
    if b"error: " not in done.stderr or (folder / "p.mir").exists():
        raise Failure(f"ends with {done.returncode}: {done.stderr.decode()[-300:]}")
    return next(line for line in done.stderr.decode().splitlines() if "error: " in line)


def compare(tools, folder, frames, expected, tolerance):
    np.save(folder / "x.npy", frames)
    done = run(tools / "ming", "engine", folder / "p.mir", f"--input={folder / 'x.npy'}",
               f"--output={folder / 'y.npy'}")
    if done.returncode:
        raise Failure(done.stderr.decode().splitlines()[0])
    got = np.load(folder / "y.npy")
    if got.size != expected.size:
        raise Failure(f"gives {got.shape}, not {expected.shape}")
    differ = np.abs(got.reshape(-1) - expected.reshape(-1).astype(np.float64)) > tolerance
    if differ.any():
        raise Failure(f"{differ.sum()} of {got.size} elements differ")


def check_random(tools, seed, index, folder):
    net, rng = generate(seed, index), random.Random(f"{seed}/{index}/engine")
    model = folder / "m.onnx"
    model.write_bytes(net.encode())
    for engine, types in zip(rng.sample(ENGINES, 2), rng.sample(TYPES, 2)):
        stages, batch = rng.randint(1, 4), rng.choice([1, 1, 2, 3, 5])
        refused = compile_program(tools, model, folder,
                                  f"{engine},{ROOM},pu_stages={stages},{types}", f"--batch={batch}")
        if refused:
            raise Failure(f"{engine}, batch of {batch}: {refused}")
        tolerance = 0 if net.dyadic else 1e-5 * np.abs(net.result.array).max()
        compare(tools, folder, net.source.array, net.result.array, tolerance)
        (folder / "p.mir").unlink()
    return True


def check_family(tools, seed, index, folder):
    """Whether the network compiled."""
    case, model = gen_networks.generate(seed, index), folder / "m.onnx"
    model.write_bytes(case.data)
    flags = ["--head=integers"] if case.is_integer else []
    overlay = f"{ENGINES[index % 3]},acc=64,{ROOM},{TYPES[index // len(gen_networks.FAMILIES) % 2]}"
    refused = compile_program(tools, model, folder, overlay, *flags)
    if refused and (index in COMPILE or not any(words in refused for words in REFUSALS)):
        raise Failure(refused)
    if not refused:
        tolerance = 0 if case.dyadic else 1e-5 * np.abs(case.expected).max()
        compare(tools, folder, case.frames, case.expected, tolerance)
    return not refused


def check_bodies(tools, bodies, engine, folder):
    model, inputs = folder / "m.mir", overlay_bodies.frames()
    model.write_text(overlay_bodies.module(bodies))
    refused = compile_program(tools, model, folder, engine)
    if refused:
        raise Failure(refused)
    for number, frame in enumerate(inputs):
        np.save(folder / f"x{number}.npy", frame)
    done = run(tools / "ming", "engine", folder / "p.mir",
               *(f"--input={folder}/x{number}.npy" for number in range(len(inputs))),
               *(f"--output={folder}/y{number}.npy" for number in range(len(bodies))))
    if done.returncode:
        raise Failure(done.stderr.decode().splitlines()[0])
    for number, (lines, function) in enumerate(bodies):
        wrong = np.load(folder / f"y{number}.npy") != function(*inputs).astype(np.int8)
        if wrong.any():
            where = np.argwhere(wrong)[0]
            raise Failure(f"{'; '.join(lines)}: wrong for {[int(x[tuple(where)]) for x in inputs]}")
    return True


def check_model(tools, model, engine, folder):
    overlay = f"{engine},act_pages=512,param_words=16384,w_words=65536"
    refused = compile_program(tools, model / "model.onnx", folder, overlay)
    if refused:
        raise Failure(refused)
    compare(tools, folder, np.load(model / "input.npy"), np.load(model / "output.npy"), 0)
    return True


def make_cases(args):
    tools = args.tools
    for index in range(args.count):
        yield f"random-{args.seed}-{index}", lambda f, i=index: check_random(tools, args.seed, i, f)
    for index in [*range(args.families), *(COMPILE if args.families else [])]:
        yield f"family-{args.seed}-{index}", lambda f, i=index: check_family(tools, args.seed, i, f)
    bodies, step = list(overlay_bodies.make_bodies()), 10
    for first in range(0, len(bodies), step):
        engine = f"{ENGINES[first // step % 2]},{ROOM},{TYPES[first // step % 2]}"
        yield (f"bodies-{first}",
               lambda f, k=first, e=engine: check_bodies(tools, bodies[k:k + step], e, f))
    names = ["two_layers", "resnet8_a8w8b16"] if args.models else []
    names += ["mobilenet_v2_a8w6b32"] if args.models and args.large else []
    for name in names:
        for engine in MODEL_ENGINES if args.large else MODEL_ENGINES[1:2]:
            yield f"{name}-{engine}", lambda f, n=name, e=engine: check_model(tools, args.models / n, e, f)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True, type=pathlib.Path)
    parser.add_argument("--models", type=pathlib.Path, default=os.environ.get("MING_MODELS"),
                        help="default: the folder that MING_MODELS names")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--families", type=int, default=11)
    parser.add_argument("--large", action="store_true", help="all models on three engines, minutes")
    args = parser.parse_args()
    args.models = args.models and pathlib.Path(args.models)
    passed, failed, compiled = 0, 0, 0
    for name, check in make_cases(args):
        with tempfile.TemporaryDirectory() as folder:
            try:
                compiled += check(pathlib.Path(folder)) and name.startswith("family")
                passed += 1
            except (Failure, subprocess.TimeoutExpired) as why:
                print(f"{name}: {why}")
                failed += 1
    if compiled < LEAST_FAMILIES * args.families:
        print(f"families: {compiled} of {args.families} compile, fewer than they should")
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
