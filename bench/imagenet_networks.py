"""Networks for ImageNet with random weights, as Elastic-DF and F2N2 place and run them: MobileNetV1
(4-bit weights and activations), ResNet-50 of 1-bit weights and 2-bit activations with residual paths
of 4 bits, with its strides in the first (v1) or the second (v1.5) convolution of a block, ResNet-18
and VGG-16. First layers have weights of 8 bits, and last ones but MobileNetV1's.

Scales are powers of two, one per tensor, without batch normalization, so that float32 is exact; or
("bn") one per output channel, of any size, with a batch normalization behind each sum. Weights are
stored as small integers: VGG-16 has 138 million."""
import pathlib
import random
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "test" / "e2e"))
from network_builder import F32, Integers, Network  # noqa: E402
from residual_networks import write_network  # noqa: E402

INPUT_SCALE = 1 / 64
RESNET_BLOCKS = {18: (2, 2, 2, 2), 50: (3, 4, 6, 3), 152: (3, 8, 36, 3)}
VGG_GROUPS = {16: ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)),
              19: ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))}
# Outputs and stride of the depthwise convolution, per pair of MobileNetV1.
MOBILENET_PAIRS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5,
                   (1024, 2), (1024, 1))


class ImageNet:
    """A network under construction: `weights` and `bits` are those of the inner layers' weights and
    activations, `size` the pixels of a side."""

    def __init__(self, name, weights, bits, has_norm=False, frames=1, size=224):
        self.net = Network(name, random.Random(8), dyadic=not has_norm, frames=frames)
        self.net.file.constants = "raw"
        self.weights, self.bits, self.has_norm, self.size = weights, bits, has_norm, size

    def source(self):
        x = self.net.input((3, self.size, self.size), low=-2.0, high=1.9375)
        return self.net.quant_by(x, INPUT_SCALE, 8)

    def weight(self, shape, bits, has_scales=False):
        """Normal integers of so many bits, or signs, with a scale, or one for each output."""
        net, fan_in = self.net, np.prod(shape[1:])
        if bits == 1:
            signs = net.numpy.choice(np.array([-1, 1], np.int8), shape)
            return net.bipolar_by(net.constant(signs, "weight"), 2.0 ** np.rint(-np.log2(fan_in) / 2))
        most = 2 ** (bits - 1) - 1
        spread = net.numpy.standard_normal(shape, F32) * F32(most / 2.5)
        integers = np.clip(np.rint(spread), -most, most).astype(np.int8)
        scale, zero = fan_in ** -0.5 * 2.5 / most, np.int8(0)
        if has_scales:
            scale, zero = net.numpy.uniform(0.6, 1.4, shape[0]) * scale, np.zeros(shape[0], np.int8)
        else:
            scale = 2.0 ** np.rint(np.log2(scale))
        return net.dequantize(Integers(net.constant(integers, "weight").name, integers,
                                       net.constant(F32(scale), "scale"),
                                       net.constant(zero, "zero")), 0)

    def conv(self, x, filters, kernel, stride=1, groups=1, weights=None):
        shape = (filters, x.array.shape[1] // groups, kernel, kernel)
        return self.norm(self.net.conv(x, self.weight(shape, weights or self.weights,
                                                     self.has_norm),
                                       strides=[stride] * 2, pads=[kernel // 2] * 4, group=groups))

    def dense(self, x, filters):
        weight = self.weight((filters, x.array.shape[1]), self.weights, self.has_norm)
        return self.active(self.norm(self.net.gemm(x, weight, transB=1)))

    def output(self, x, classes, weights=8):
        """Sums of few scales, which are integers before the last quantizer."""
        weight = self.weight((classes, x.array.shape[1]), weights)
        sums = self.net.gemm(x, weight, transB=1)
        self.net.output(self.net.quant_by(sums, 2.0 ** (np.rint(np.log2(sums.array.std())) - 12), 16))

    def norm(self, x):
        return self.net.batch_norm(x) if self.has_norm else x

    def quant(self, x, bits, signed=False, scale=None):
        """By a scale that spreads the values over the levels rather than one for the largest."""
        if scale is None:
            scale = x.array.std() * 4 / 2 ** bits
            scale = scale if self.has_norm else 2.0 ** np.rint(np.log2(scale))
        return self.net.quant_by(x, scale, bits, signed, signed)

    def active(self, x, bits=None):
        return self.quant(self.net.relu(x), bits or self.bits)

    def classifier(self, x, classes, weights=8):
        x = self.net.global_average(x)
        scale = 2.0 ** np.rint(np.log2(x.array.max() / 256))
        self.output(self.net.flatten(self.net.quant_by(x, scale, 8, False)), classes, weights)

    def build_mobilenet(self):
        x = self.active(self.conv(self.source(), 32, 3, 2, weights=8))
        for filters, stride in MOBILENET_PAIRS:
            x = self.active(self.conv(x, x.array.shape[1], 3, stride, groups=x.array.shape[1]))
            x = self.active(self.conv(x, filters, 1))
        self.classifier(x, 1000, self.weights)

    # Residual networks: x has the residual path's 4 bits, what enters a block `bits`.

    def block(self, x, width, stride, depth, is_v15):
        """`depth` convolutions, beside what came in or its projection."""
        y = start = self.quant(x, self.bits) if self.bits < 4 else x
        filters = width * (4 if depth == 3 else 1)
        if depth == 3:
            strides = (1, stride, 1) if is_v15 else (stride, 1, 1)
            shapes = ((width, 1), (width, 3), (filters, 1))
        else:
            strides, shapes = (stride, 1), ((width, 3), (width, 3))
        for (count, kernel), step in zip(shapes[:-1], strides):
            y = self.active(self.conv(y, count, kernel, step))
        y = self.conv(y, *shapes[-1], strides[-1])
        scale = None
        if stride == 1 and x.array.shape[1] == filters:
            short, scale = x, self.scale_of(x)
        else:
            short = self.quant(self.conv(start, filters, 1, stride), 4, True)
            scale = self.scale_of(short)
        y = self.quant(y, 4, True, scale)
        return self.active(self.net.binary("Add", y, short), 4)

    @staticmethod
    def scale_of(x):
        """The least distance of its values: those of a quantizer are its multiples."""
        return np.diff(np.unique(x.array)).min()

    def build_resnet(self, layers, is_v15=True):
        x = self.active(self.conv(self.source(), 64, 7, 2, weights=8))
        x = self.net.max_pool(x, 3, 2, 1)
        depth = 2 if layers < 50 else 3
        for width, count in zip((64, 128, 256, 512), RESNET_BLOCKS[layers]):
            for number in range(count):
                stride = 2 if width > 64 and number == 0 else 1
                x = self.block(x, width, stride, depth, is_v15)
        self.classifier(x, 1000)

    def build_vgg(self, layers, dense=(4096, 4096), classes=1000):
        """Without `dense` the convolutions and a classifier on the average."""
        x, is_first = self.source(), True
        for filters, count in VGG_GROUPS[layers]:
            for _ in range(count):
                x = self.active(self.conv(x, filters, 3, weights=8 if is_first else None))
                is_first = False
            x = self.net.max_pool(x)
        if not dense:
            return self.classifier(x, classes)
        x = self.net.flatten(x)
        for filters in dense:
            x = self.dense(x, filters)
        return self.output(x, classes)


def mobilenet_v1(name, **options):
    network = ImageNet(name, 4, 4, **options)
    network.build_mobilenet()
    return network


def resnet(name, layers=50, weights=1, bits=2, is_v15=True, **options):
    network = ImageNet(name, weights, bits, **options)
    network.build_resnet(layers, is_v15)
    return network


def vgg(name, layers=16, weights=1, bits=2, dense=(4096, 4096), classes=1000, **options):
    network = ImageNet(name, weights, bits, **options)
    network.build_vgg(layers, dense, classes)
    return network


NETWORKS = {
    "mobilenet_v1": mobilenet_v1,
    "mobilenet_v1_bn": lambda name, **o: mobilenet_v1(name, has_norm=True, **o),
    "resnet50_v1": lambda name, **o: resnet(name, is_v15=False, **o),
    "resnet50_v15": resnet,
    "resnet50_v1_bn": lambda name, **o: resnet(name, is_v15=False, has_norm=True, **o),
    "resnet18": lambda name, **o: resnet(name, 18, 4, 4, **o),
    "vgg16": vgg,
    "vgg16_convolutions": lambda name, **o: vgg(name, dense=(), **o),
    "vgg16_cifar": lambda name, **o: vgg(name, dense=(512,), classes=10, size=32, **o),
}


def write_imagenet(folder, kind, **options):
    """model.onnx, input.npy and output.npy; the network has learnt its number of products."""
    network = NETWORKS[kind](folder.name, **options)
    write_network(folder, network)
    return network


def main():
    for kind in sys.argv[2:] or NETWORKS:
        write_imagenet(pathlib.Path(sys.argv[1]) / kind, kind)


if __name__ == "__main__":
    main()
