"""Residual networks with random weights: every scale is a power of two, weights, biases and
activations are quantized, both sides of a sum alike.

ResNet8 and ResNet20 for CIFAR-10 are those that NN2FPGA uses: ResNet8 has a block of two convolutions
for each of 16, 32 and 64 channels, ResNet20 three. ResNet-50 is the one for ImageNet: 224 x 224 pixels, 3,
4, 6 and 3 bottlenecks, strides in their 3 x 3 convolutions."""
import pathlib
import random
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "test" / "e2e"))
from network_builder import F32, Network  # noqa: E402

BIAS_BITS = 16


class Residual:
    def __init__(self, name, bits, frames):
        self.net = Network(name, random.Random(8), dyadic=True, frames=frames)
        self.bits = bits

    def constant(self, shape, deviation, bits):
        values = self.net.numpy.normal(0, deviation, shape).astype(F32)
        return self.net.quant(self.net.constant(values, "weight"), bits, narrow=True)

    def conv(self, x, filters, kernel=3, stride=1):
        channels = x.array.shape[1]
        weight = self.constant((filters, channels, kernel, kernel),
                               (channels * kernel * kernel) ** -0.5, self.bits)
        return self.net.conv(x, weight, self.constant(filters, 0.2, BIAS_BITS),
                             strides=[stride] * 2, pads=[kernel // 2] * 4)

    def classifier(self, x, classes):
        weight = self.constant((classes, x.array.shape[1]), x.array.shape[1] ** -0.5, 8)
        x = self.net.gemm(x, weight, self.constant(classes, 0.2, BIAS_BITS), transB=1)
        return self.net.quant(x, 16)

    def active(self, x):
        return self.net.quant(self.net.relu(x), self.bits, signed=False)

    def block(self, x, filters, stride):
        net, bits = self.net, self.bits
        y = self.active(self.conv(x, filters, stride=stride))
        y = net.quant(self.conv(y, filters), bits)
        short = x if stride == 1 else net.quant(self.conv(x, filters, 1, stride), bits)
        return self.active(net.binary("Add", y, short))

    def bottleneck(self, x, width, stride):
        net, bits, filters = self.net, self.bits, 4 * width
        y = self.active(self.conv(x, width, 1))
        y = self.active(self.conv(y, width, 3, stride))
        y = net.quant(self.conv(y, filters, 1), bits)
        is_same = stride == 1 and x.array.shape[1] == filters
        short = x if is_same else net.quant(self.conv(x, filters, 1, stride), bits)
        return self.active(net.binary("Add", y, short))

    def build_imagenet(self, blocks):
        net = self.net
        x = self.active(self.conv(net.quant(net.input((3, 224, 224)), 8), 64, 7, 2))
        x = net.max_pool(x, 3, 2, 1)
        for width, count in zip((64, 128, 256, 512), blocks):
            for number in range(count):
                x = self.bottleneck(x, width, 2 if width > 64 and number == 0 else 1)
        x = net.flatten(net.quant(net.global_average(x), 8, signed=False))
        net.output(self.classifier(x, 1000))

    def build(self, blocks):
        net = self.net
        x = self.active(self.conv(net.quant(net.input((3, 32, 32)), 8), 16))
        for filters in (16, 32, 64):
            for number in range(blocks):
                x = self.block(x, filters, 2 if filters > 16 and number == 0 else 1)
        x = net.flatten(net.quant(net.global_average(x), 8, signed=False))
        net.output(self.classifier(x, 10))


def write_network(folder, network):
    """model.onnx, input.npy and output.npy."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(network.net.encode())
    np.save(folder / "input.npy", network.net.source.array)
    np.save(folder / "output.npy", network.net.result.array)


def write_residual(folder, bits, blocks, frames=2):
    """ResNet8 or ResNet20; blocks: per number of channels."""
    network = Residual(folder.name, bits, frames)
    network.build(blocks)
    write_network(folder, network)


def write_resnet50(folder, bits=8, frames=1):
    network = Residual(folder.name, bits, frames)
    network.build_imagenet((3, 4, 6, 3))
    write_network(folder, network)
