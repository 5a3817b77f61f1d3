#!/usr/bin/env python3
"""The model of a layer's cycles beside the simulator, and beside all that it could have chosen.

    tiles_model.py --tools=DIR [--layers] [--count=N] [--candidates=N] [--seed=N]

Random small layers: the tiles and the order that `choose-sa-tiles` takes must have as few cycles as any
that the compiler accepts, tried one by one from outside (--candidates: so many of them). With --layers,
every layer of ResNet-18, ResNet-50, ResNet-152 (strides in the first or in the second convolution of a
block), VGG-16, VGG-16 for images of 32 x 32, MobileNetV1 and MobileNetV2 (the tables of their papers)
alone on an engine of 64 x 64, with maps on the chip and with maps outside, and pools of convolutions as
layers of their own and as a part of these: the model must be within 2 % of `ming engine`.
"""
import argparse
import itertools
import json
import pathlib
import random
import re
import sys
import tempfile

from engine_check import Failure, run

TOLERANCE = 0.02
RATE = 47719                            # bytes in 1,000 cycles: 19.2 GB/s at 85 %, 342 MHz
F2N2 = ("rows = 64, cols = 64, act = i16, weight = i16, acc = 48, act_pages = 26, w_words = 36864, "
        "pe_words = 256, fill_words = 1, acc_words = 1024, param_words = 1024, pu_stages = 4")
PU = ("sa.pu.load r0, sums, 0 sa.pu.load r1, parameter, 0 sa.pu.add r0, r0, r1 sa.pu.rshifti r0, r0, 8 "
      "floor sa.pu.store r0")


def layer_text(overlay, shape, attributes=(), spill=()):
    """A network of one layer: (kind, rows, columns, channels in and out, kernel, stride, pad), and those three
    of a pool over its results."""
    kind, height, width, c_in, c_out, kernel, stride, pad, *windows = shape
    out = [(size + 2 * pad - kernel) // stride + 1 for size in (height, width)]
    pool = []
    if windows:
        size, step, edge = windows
        pool = [f"pool_kernel = array<i64: {size}, {size}>", f"pool_map = array<i64: {out[0]}, {out[1]}>",
                f"pool_pads = array<i64: {edge}, {edge}>", f"pool_strides = array<i64: {step}, {step}>"]
        out = [(extent + 2 * edge - size) // step + 1 for extent in out]
    source, result = f"tensor<{height}x{width}x{c_in}xi16>", f"tensor<{out[0]}x{out[1]}x{c_out}xi16>"
    words = [*attributes, *pool, f"strides = array<i64: {stride}, {stride}>",
             "dilations = array<i64: 1, 1>", f"pads = array<i64: {pad}, {pad}>",
             f"parameters = [dense<1> : tensor<{c_out}xi32>]"]
    tap = ""
    if kind == "pool":
        tap = "tap { sa.pu.load r1, sums, 0 sa.pu.max r0, r0, r1 } "
        words += [f"kernel = array<i64: {kernel}, {kernel}>", "pad_value = -32768 : i64"]
    else:
        depth = 1 if kind == "depthwise" else c_in
        words.append(f"weights = dense<1> : tensor<{c_out}x{kernel}x{kernel}x{depth}xi16>")
        words += ["depthwise"] if kind == "depthwise" else []
    if "result" in spill:
        words.append("sa.spill")
    op = "pool" if kind == "pool" else "conv"
    outside = " {sa.spill}" if "input" in spill else ""
    return (f'sa.network @n overlay(#sa.overlay<{overlay}>) {{\n  %x = sa.input "x"{outside} : {source}\n'
            f"  %y = sa.{op} %x {tap}pu {{ {PU} }} {{{', '.join(words)}}} : ({source}) -> {result}\n"
            f'  sa.output %y, "y" : {result}\n}}\n')


def numbers(text, name):
    return [int(n) for n in re.search(name + r" = array<i64: ([-0-9, ]+)>", text)[1].split(",")]


def chosen(tools, path, options):
    """What choose-sa-tiles says of a file; None: it refuses."""
    done = run(tools / "ming-opt", path, f"--choose-sa-tiles={options}")
    if done.returncode not in (0, 1):
        raise Failure(f"{done.returncode} {done.stderr.decode()[:200]}")
    return None if done.returncode else done.stdout.decode()


def candidates_of(extents):
    """Sizes of tiles and orders that differ: loops of one trip may stand anywhere."""
    for sizes in itertools.product(*(range(1, extent + 1) for extent in extents)):
        looped = [letter for letter, size, extent in zip("myxn", sizes, extents) if size < extent]
        rest = "".join(letter for letter in "myxn" if letter not in looped)
        for order in itertools.permutations(looped):
            yield sizes, rest + "".join(order)


def check_choice(tools, rng, most, folder):
    """All sizes and orders of a small layer, given from outside."""
    overlay = (f"rows = 2, cols = 2, act = i16, weight = i16, acc = 48, act_pages = {rng.randint(2, 6)}, "
               f"w_words = 512, pe_words = {rng.choice([16, 32, 64])}, fill_words = 1, "
               f"acc_words = {rng.choice([4, 8, 32])}, param_words = 64, pu_stages = 2")
    shape = (rng.choice(["dense", "dense", "depthwise"]), rng.randint(2, 4), rng.randint(2, 4),
             *[rng.randint(1, 3) * 2] * 2, rng.randint(1, 2), 1, rng.randint(0, 1))
    spill = [name for name in ("input", "result") if rng.random() < 0.5]
    options = f"rate={rng.choice([3000, 64000])}"
    path = folder / "layer.mir"
    path.write_text(layer_text(overlay, shape, (), spill), encoding="ascii")
    text = chosen(tools, path, options)
    if text is None:
        return
    kind, height, width, c_in, c_out, kernel, _, pad = shape
    extents = [c_out // 2, height + 2 * pad - kernel + 1, width + 2 * pad - kernel + 1,
               1 if kind == "depthwise" else c_in // 2]
    best = numbers(text, "sa.cycles")[0]
    spilled = [name for name, word in (("input", "sa.input"), ("result", "sa.tile"))
               if "sa.spill" in next(line for line in text.splitlines() if word in line)]
    candidates = list(candidates_of(extents))
    if most:
        candidates = rng.sample(candidates, min(most, len(candidates)))
    for sizes, order in candidates:
        attributes = [f"sa.tile = array<i64: {', '.join(map(str, sizes))}>", f'sa.order = "{order}"']
        path.write_text(layer_text(overlay, shape, attributes, spilled), encoding="ascii")
        other = chosen(tools, path, options)
        if other is not None and numbers(other, "sa.cycles")[0] < best:
            raise Failure(f"{shape} takes {best} cycles, and {numbers(other, 'sa.cycles')[0]} with "
                          f"tiles {sizes} in the order {order}")


# Layers of networks.

def resnet(blocks, is_basic, is_v15=True):
    yield "dense", 112, 112, 64, 64, 7, 1, 3                    # folded, as the compiler does
    yield "dense", 112, 112, 64, 64, 7, 1, 3, 3, 2, 1           # with the pool behind it
    yield "pool", 112, 112, 64, 64, 3, 2, 1
    size, channels = 56, 64
    for stage, count in enumerate(blocks):
        middle = 64 << stage
        for block in range(count):
            stride = 2 if stage and not block else 1
            after = (size - 1) // stride + 1
            out = middle if is_basic else 4 * middle
            if is_basic:
                yield "dense", size, size, channels, middle, 3, stride, 1
                yield "dense", after, after, middle, middle, 3, 1, 1
            else:
                first, second = (1, stride) if is_v15 else (stride, 1)
                inner = (size - 1) // first + 1
                yield "dense", size, size, channels, middle, 1, first, 0
                yield "dense", inner, inner, middle, middle, 3, second, 1
                yield "dense", after, after, middle, out, 1, 1, 0
            if not block and channels != out:
                yield "dense", size, size, channels, out, 1, stride, 0
            size, channels = after, out
    yield "dense", 1, 1, channels, 1000, 1, 1, 0


def vgg(size, dense):
    channels = 64
    for stage, count in enumerate((2, 2, 3, 3, 3)):
        for _ in range(count):
            out = min(512, 64 << stage)
            yield "dense", size, size, channels, out, 3, 1, 1
            last, channels = channels, out
        yield "dense", size, size, last, channels, 3, 1, 1, 2, 2, 0
        yield "pool", size, size, channels, channels, 2, 2, 0
        size //= 2
    for c_in, c_out in zip(dense, dense[1:]):
        yield "dense", 1, 1, c_in, c_out, 1, 1, 0


def mobilenet():
    size, channels = 112, 32
    yield "dense", 224, 224, 3, 32, 3, 2, 1
    for out, stride in [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5,
                        (1024, 2), (1024, 1)]:
        yield "depthwise", size, size, channels, channels, 3, stride, 1
        size = (size - 1) // stride + 1
        yield "dense", size, size, channels, out, 1, 1, 0
        channels = out
    yield "dense", 1, 1, 1024, 1000, 1, 1, 0


def mobilenet_v2():
    size, channels = 112, 32
    for expansion, out, count, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                          (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
        for step in [stride] + [1] * (count - 1):
            inner = expansion * channels
            if expansion > 1:
                yield "dense", size, size, channels, inner, 1, 1, 0
            yield "depthwise", size, size, inner, inner, 3, step, 1
            size, channels = (size - 1) // step + 1, out
            yield "dense", size, size, inner, out, 1, 1, 0
    yield "dense", 7, 7, 320, 1280, 1, 1, 0
    yield "dense", 1, 1, 1280, 1000, 1, 1, 0


def all_layers():
    networks = [resnet((2, 2, 2, 2), True), vgg(224, (25088, 4096, 4096, 1000)), vgg(32, (512, 10)), mobilenet(),
                mobilenet_v2()]
    networks += [resnet(blocks, False, is_v15) for blocks in ((3, 4, 6, 3), (3, 8, 36, 3))
                 for is_v15 in (True, False)]
    return sorted({layer for network in networks for layer in network})


def check_layer(tools, shape, spill, folder):
    """How far the model is from the simulator."""
    path, options = folder / "layer.mir", f"rate={RATE} parts=1"
    path.write_text(layer_text(F2N2, shape, (), spill), encoding="ascii")
    text = chosen(tools, path, options)
    if text is None:
        raise Failure(f"{shape} is refused")
    (folder / "chosen.mir").write_text(text, encoding="ascii")
    done = run(tools / "ming-opt", folder / "chosen.mir", f"--lower-sa-network={options}", "-o",
               folder / "program.mir")
    if done.returncode:
        raise Failure(done.stderr.decode()[:200])
    done = run(tools / "ming", "engine", folder / "program.mir", "--cycles-only", f"--rate={RATE}",
               "--max-cycles=1000000000", f"--json={folder / 'report.json'}")
    if done.returncode:
        raise Failure(done.stderr.decode()[:200])
    cycles = json.loads((folder / "report.json").read_text(encoding="utf-8"))["cycles"]
    return numbers(text, "sa.cycles")[1] / cycles - 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True, type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2)
    parser.add_argument("--candidates", type=int, default=0, help="tiles and orders to try, default all")
    parser.add_argument("--layers", action="store_true")
    args = parser.parse_args()
    passed = failed = 0
    worst = 0.0
    cases = [(check_choice, (random.Random(f"{args.seed}/{i}/choice"), args.candidates)) for i in range(args.count)]
    layers = all_layers() if args.layers else all_layers()[::40]
    cases += [(check_layer, (shape, spill)) for shape in layers for spill in ((), ("input", "result"))]
    for function, arguments in cases:
        with tempfile.TemporaryDirectory() as name:
            try:
                error = function(args.tools, *arguments, pathlib.Path(name)) or 0.0
                worst = max(worst, abs(error))
                if abs(error) > TOLERANCE:
                    raise Failure(f"the model is off by {100 * error:.2f} %")
                passed += 1
            except Failure as why:
                print(f"{function.__name__} {arguments}: {why}")
                failed += 1
    print(f"the model is at most {100 * worst:.2f} % off the simulator")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
