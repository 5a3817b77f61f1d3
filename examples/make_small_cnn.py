#!/usr/bin/env python3
"""Writes examples/small_cnn: a quantized CNN, four frames of input, and the
exact output as test/e2e/reference.py computes it.

    3x32x32 -> conv 3x3, ReLU -> conv 3x3 stride 2, ReLU -> average pool
            -> 1x1 convolution -> 10 scores

Every scale is a power of two. The weights come from a fixed seed, so that a
second run writes the same bytes. Needs numpy; takes the target folder as an
optional argument.
"""
import pathlib
import random
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "e2e"))

import onnx_file                            # noqa: E402
import reference                            # noqa: E402
from qonnx_builder import QonnxBuilder      # noqa: E402

SEED = 20
IMAGE = (3, 32, 32)
FRAMES = 4
CLASSES = 10
INPUT_SCALE = 2.0 ** -7


def random_integers(rng, shape, limit):
    """Integers in [-limit, limit], as float32."""
    count = int(np.prod(shape))
    values = [rng.randint(-limit, limit) for _ in range(count)]
    return np.array(values, np.float32).reshape(shape)


def quantized_conv(net, rng, name, x, x_scale, shape, bits, w_scale, attrs):
    """The Conv `name` with weights of `bits` bits and a 16-bit bias in units
    of x_scale * w_scale; returns the name of the result."""
    limit = 2 ** (bits - 1) - 1
    weight = net.constant("weight", random_integers(rng, shape, limit) * w_scale)
    weight = net.quant(weight, w_scale, bits, narrow=True)
    bias_scale = x_scale * w_scale
    bias = random_integers(rng, shape[:1], 2 ** 9) * np.float32(bias_scale)
    bias = net.quant(net.constant("bias", bias), bias_scale, 16)
    attrs = {"kernel_shape": list(shape[2:]), **attrs}
    return net.node("Conv", [x, weight, bias], attrs, result=name)


def build_model():
    rng = random.Random(SEED)
    net = QonnxBuilder("small_cnn")
    x = net.input("image", [1, *IMAGE])
    x = net.quant(x, INPUT_SCALE, 8)

    x = quantized_conv(net, rng, "conv1", x, INPUT_SCALE, (8, 3, 3, 3),
                       8, 2.0 ** -8, {"pads": [1, 1, 1, 1]})
    x = net.node("Relu", [x], result="relu1")
    x = net.quant(x, 2.0 ** -6, 8, signed=False)

    x = quantized_conv(net, rng, "conv2", x, 2.0 ** -6, (16, 8, 3, 3),
                       4, 2.0 ** -4, {"pads": [0, 0, 1, 1], "strides": [2, 2]})
    x = net.node("Relu", [x], result="relu2")
    x = net.quant(x, 2.0 ** -4, 8, signed=False)

    x = net.node("GlobalAveragePool", [x], result="pool")
    x = net.quant(x, 2.0 ** -5, 8)
    x = quantized_conv(net, rng, "classifier", x, 2.0 ** -5,
                       (CLASSES, 16, 1, 1), 8, 2.0 ** -8, {})
    net.quant(x, 2.0 ** -5, 8, result="scores")
    net.output("scores", [1, CLASSES, 1, 1])
    return net.serialize()


def make_images():
    """Frames of a slanted wave each, with its own direction and period per
    frame and channel, and a little noise; float32 in about [-1, 1]."""
    rng = random.Random(SEED + 1)
    rows, columns = np.mgrid[0:IMAGE[1], 0:IMAGE[2]]
    images = np.empty((FRAMES, *IMAGE), np.float32)
    for plane in images.reshape(-1, *IMAGE[1:]):
        down, right = rng.randint(-5, 5), rng.randint(-5, 5)
        phase = (rows * down + columns * right) % IMAGE[1]
        noise = random_integers(rng, plane.shape, 16) / 128
        plane[:] = np.abs(phase - 16) / 8 - 1 + noise
    return images


def main(args):
    folder = pathlib.Path(args[0] if args else ROOT / "examples" / "small_cnn")
    folder.mkdir(parents=True, exist_ok=True)
    model, images = build_model(), make_images()
    scores = reference.evaluate(onnx_file.decode("Model", model), images)
    (folder / "model.onnx").write_bytes(model)
    np.save(folder / "input.npy", images)
    np.save(folder / "output.npy", scores.reshape(FRAMES, CLASSES))


if __name__ == "__main__":
    main(sys.argv[1:])
