"""Random small QONNX models with inputs and exact expected outputs.

A model is a chain of convolutions with quantizers between them, built around
the values that its own input produces: scales are chosen so that quantizers
neither collapse nor always saturate. A model depends on nothing but the seed
and its index.

    gen_models.py [--seed N] [--count N] -o DIR     one folder for each model
"""
import argparse
import dataclasses
import math
import pathlib
import random

import numpy as np

import onnx_file
import reference
from qonnx_builder import QonnxBuilder


@dataclasses.dataclass
class TestModel:
    """`frames` holds one or more batches. `may_reject` allows the compiler a
    clear error in place of the exact output."""
    name: str
    data: bytes
    frames: np.ndarray
    expected: np.ndarray
    may_reject: bool = False


@dataclasses.dataclass
class Family:
    """What the models of one kind have in common."""
    rank: int = 2                   # spatial dimensions
    grouping: str = "none"          # none, grouped or depthwise
    layers: tuple = (1, 2)          # fewest and most convolutions
    pool: bool = False              # ends in average pooling and a classifier
    batch: int = 1
    per_channel: bool = False       # a scale for each weight filter
    zero_points: bool = False       # activations with a zero point
    roundings: tuple = ("ROUND",)
    final_quant: bool = True
    may_reject: bool = False


FAMILIES = {
    "conv2d": Family(),
    "conv1d": Family(rank=1, layers=(1, 3)),
    "depthwise": Family(grouping="depthwise"),
    "pool": Family(pool=True),
    "grouped": Family(grouping="grouped"),
    "batch": Family(batch=2, layers=(1, 1)),
    "perchannel": Family(per_channel=True, may_reject=True),
    "rounding": Family(roundings=tuple(reference.ROUNDINGS), may_reject=True),
    "zeropoint": Family(zero_points=True, may_reject=True),
    "conv3d": Family(rank=3, layers=(1, 1), may_reject=True),
    "rawoutput": Family(final_quant=False, may_reject=True),
}


class ModelGenerator:
    """One model under construction. `x` names the current value, `array` holds
    it for the whole input, and `scale` is its unit, a power of two."""

    def __init__(self, rng, name, family):
        self.rng, self.family = rng, family
        self.net = QonnxBuilder(name, rng.choice(["raw", "typed", "node"]),
                                rng.choice([(), (1,)]))
        self.make_input()

    def random_array(self, shape, low, high):
        """Random integers in [low, high] as float64."""
        count = math.prod(shape)
        values = [self.rng.randint(low, high) for _ in range(count)]
        return np.array(values, np.float64).reshape(shape)

    def chance(self, probability):
        return self.rng.random() < probability

    def make_input(self):
        """Two batches in quarters of the quantizer's unit: exact values, ties
        and values out of range all occur."""
        rng, family = self.rng, self.family
        longest = {1: 20, 2: 9, 3: 6}[family.rank]
        spatial = [rng.randint(4, longest) for _ in range(family.rank)]
        channels = rng.randint(1, 4)
        bits, self.scale = rng.randint(2, 8), 2.0 ** rng.randint(-8, 0)
        limit = 5 * 2 ** (bits - 1)
        shape = (2 * family.batch, channels, *spatial)
        quarters = self.random_array(shape, -limit, limit)
        self.frames = (quarters * self.scale / 4).astype(np.float32)
        self.array = self.frames
        batch = "N" if family.batch == 1 and self.chance(0.3) else family.batch
        self.x = self.net.input("x", [batch, *shape[1:]])
        self.quant(self.scale, bits)

    def quant(self, scale, bits, result=None):
        """A Quant of the current value with otherwise random parameters."""
        rng, family = self.rng, self.family
        signed, narrow = self.chance(0.5), self.chance(0.2)
        params = {"bits": bits, "signed": signed, "narrow": narrow,
                  "rounding": rng.choice(family.roundings)}
        if family.zero_points:
            low, high = reference.int_range(bits, signed, narrow)
            params["zero"] = float(rng.randint(int(low), int(high)))
        self.array = reference.quant(self.array, scale, **params)
        self.x = self.net.quant(self.x, scale, result=result, **params)
        self.scale = scale

    def relu(self):
        self.x = self.net.node("Relu", [self.x])
        self.array = np.maximum(self.array, 0.0)

    def fitting_scale(self, bits):
        """A power of two for which the current value about fills the range of
        `bits` bits, at most two bits too small."""
        largest = float(np.max(np.abs(self.array))) or 1.0
        exponent = math.ceil(math.log2(largest / 2 ** bits))
        return 2.0 ** (exponent - self.rng.randint(-1, 2))

    def activation(self, result=None):
        if self.chance(0.6):
            self.relu()
        bits = self.rng.randint(2, 8)
        if self.chance(0.25):
            self.quant(self.fitting_scale(8), 8)
        self.quant(self.fitting_scale(bits), bits, result)

    def pick_groups(self, channels):
        if self.family.grouping == "none":
            return 1
        if self.family.grouping == "depthwise":
            return channels
        return self.rng.choice([d for d in range(1, channels + 1)
                                if channels % d == 0])

    def pick_geometry(self, size):
        """Kernel, dilation, stride and padding of one spatial dimension such
        that at least one window fits."""
        rng = self.rng
        kernel = rng.randint(1, 4)
        dilation = rng.randint(1, 2) if kernel > 1 else 1
        window = (kernel - 1) * dilation + 1
        pads = [rng.randint(0, window - 1), rng.randint(0, window - 1)]
        if size + sum(pads) < window:
            pads = [window - 1, window - 1]
        return kernel, dilation, rng.randint(1, 3), pads

    def pick_attributes(self, channels, pointwise):
        """The attributes of a Conv on the current value."""
        spatial = self.array.shape[2:]
        picks = [(1, 1, 1, [0, 0]) if pointwise else self.pick_geometry(size)
                 for size in spatial]
        kernel, dilations, strides, pads = zip(*picks)
        attrs = {"kernel_shape": list(kernel), "dilations": list(dilations),
                 "strides": list(strides), "group": self.pick_groups(channels)}
        if self.chance(0.2):
            attrs["auto_pad"] = self.rng.choice(["SAME_UPPER", "SAME_LOWER"])
        else:
            attrs["pads"] = [low for low, _ in pads] + [high for _, high in pads]
        return attrs

    def constant_quant(self, hint, array, scale, bits, narrow):
        """A quantized constant: its name and its values."""
        name = self.net.constant(hint, array.astype(np.float32))
        name = self.net.quant(name, scale, bits, narrow=narrow)
        return name, reference.quant(array, scale, bits=bits, narrow=narrow)

    def make_weight(self, shape):
        """A weight in quarters of its unit, some of it out of range: the name,
        the values and the scale, which broadcasts over the filters."""
        bits = self.rng.randint(2, 8)
        exponent = -bits + self.rng.randint(-2, 2)
        scale = 2.0 ** exponent
        if self.family.per_channel:
            steps = self.random_array(shape[:1], 0, 3)
            scale = 2.0 ** (exponent + steps.reshape(-1, *[1] * (len(shape) - 1)))
        limit = 4 * 2 ** (bits - 1) + 2
        array = self.random_array(shape, -limit, limit) / 4 * scale
        name, array = self.constant_quant("weight", array, scale, bits,
                                          self.chance(0.7))
        return name, array, scale

    def make_bias(self, count, scale):
        bits = self.rng.choice([6, 8, 16, 32])
        limit = min(2 ** (bits - 1) + 1, 1000)
        array = self.random_array((count,), -limit, limit) * scale
        return self.constant_quant("bias", array, scale, bits, False)

    def conv(self, filters=None):
        """A Conv of random geometry; with `filters`, a 1x1 one of so many."""
        channels = self.array.shape[1]
        attrs = self.pick_attributes(channels, filters is not None)
        groups = attrs["group"]
        filters = (filters or self.rng.randint(1, max(1, 6 // groups))) * groups
        shape = (filters, channels // groups, *attrs["kernel_shape"])
        weight, w_array, w_scale = self.make_weight(shape)
        inputs, bias = [self.x, weight], None
        unit = self.scale * w_scale
        if self.chance(0.6):
            name, bias = self.make_bias(filters, np.broadcast_to(
                np.ravel(unit), (filters,)) if np.ndim(unit) else unit)
            inputs.append(name)
        self.x = self.net.node("Conv", inputs, attrs)
        self.array = reference.conv(self.array, w_array, bias, attrs)
        self.scale = float(np.min(unit))

    def pool(self):
        self.x = self.net.node("GlobalAveragePool", [self.x])
        self.array = reference.eval_pool([self.array], {})
        bits = self.rng.randint(4, 8)
        self.quant(self.fitting_scale(bits), bits)
        self.conv(filters=self.rng.randint(2, 5))

    def finish(self, name):
        """The last quantizer and the declared output; the TestModel."""
        family = self.family
        if family.final_quant:
            self.activation(result="y")
        else:
            self.net.graph["node"][-1]["output"] = ["y"]
        shape = [family.batch, *self.array.shape[1:]]
        if self.chance(0.3):
            shape = [f"y_dim_{i}" for i in range(len(shape))]
        self.net.output("y", shape)
        model = self.net.model()
        expected = reference.evaluate(model, self.frames)
        assert np.array_equal(expected, self.array)
        return TestModel(name, onnx_file.encode("Model", model), self.frames,
                         expected, family.may_reject)


def generate_once(rng, kind, name):
    gen = ModelGenerator(rng, kind, FAMILIES[kind])
    for layer in range(rng.randint(*gen.family.layers)):
        if layer:
            gen.activation()
        gen.conv()
    if gen.family.pool:
        gen.activation()
        gen.pool()
    return gen.finish(name)


def generate(seed, index):
    """The TestModel number `index` of `seed`; families take turns. Models
    whose output is the same everywhere prove little and are drawn again."""
    kind = list(FAMILIES)[index % len(FAMILIES)]
    rng = random.Random(f"{seed}/{index}")
    while True:
        model = generate_once(rng, kind, f"{kind}-{index}")
        if np.ptp(model.expected) > 0:
            return model


# Names that must not reach C++, Tcl, make or a shell as they are.

HOSTILE_NAMES = [
    'quote"', "quote'", "line\nbreak", "$(touch pwned_marker)",
    "`touch pwned_marker`", "*/ #error pwned /*", "// comment", "back\\slash",
    "a;touch pwned_marker;", "%s%n%d", "<&>", "tab\there", "caf\u00e9 \u6f22",
    "${HOME}", "[exec touch pwned_marker]", "../../escaped", "#define x", "a|b",
    "]]>", "?" "?/", "ends in \\", "\u202edesrever\u202c", "zero\u200bwidth", "\ufeff",
    "$(shell touch pwned_marker)", "%:include <x>", "nul\x01\x7f", "'; exit 1 #",
]
CLASHING_NAMES = [
    "int", "main", "class", "std", "hls", "ap_int", "template", "a.b", "a_b",
    "a b", "a/b", "a::b", "0", "0x1", "_", "__", "_A", "i", "x", "y", "top",
    "switch", "and", "NULL", "EOF", "errno", "printf", "stdin", "UINT8_MAX",
    "frame", "frames", "each_frame", "loaded", "packed", "weights", "weights in",
    "weights_in", "weights_out", "memory", "bus_word", "word", "in", "out", "run",
    "tb", "ming", "MAX_FRAMES", "read_x", "write_y", "i8x3_t", "value", "result",
]


def rename(model, names, graph_name):
    """`model` with every value and node renamed to an entry of `names`, made
    distinct by a number once the list is used up. Without a graph name the
    nodes lose theirs, too."""
    chosen = {}

    def new_name(old):
        if old and old not in chosen:
            index = len(chosen)
            again = index // len(names)
            chosen[old] = names[index % len(names)] + (str(again) if again else "")
        return chosen.get(old, "")

    graph = model["graph"]
    for node in graph["node"]:
        node["input"] = [new_name(name) for name in node.get("input", [])]
        node["output"] = [new_name(name) for name in node["output"]]
        node["name"] = new_name(node["name"]) if graph_name else ""
    for info in graph["input"] + graph["output"] + graph.get("initializer", []):
        info["name"] = new_name(info["name"])
    for holder in [model, graph, *graph["node"], *graph["input"], *graph["output"]]:
        holder["doc_string"] = names[len(chosen) % len(names)]
    graph["name"] = graph_name
    model["producer_name"] = names[0]
    return model


def generate_named(seed):
    """Valid models with names that are an attack, a clash, or too long."""
    variants = {
        "names-special": (HOSTILE_NAMES, '../escaped $(touch pwned_marker)\n"*/'),
        "names-clashing": (CLASHING_NAMES, "int"),
        "names-long": (["n" * 300], "g" * 300),
        "names-empty": (["v"], ""),
    }
    for index, (name, (names, graph_name)) in enumerate(variants.items()):
        base = generate(seed, index * len(FAMILIES))
        model = rename(onnx_file.decode("Model", base.data), names, graph_name)
        yield dataclasses.replace(base, name=name,
                                  data=onnx_file.encode("Model", model))


def write_model(model, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.data)
    np.save(folder / "input.npy", model.frames)
    np.save(folder / "output.npy", model.expected)


def main():
    parser = argparse.ArgumentParser(description="Write random QONNX models.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=len(FAMILIES))
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    args = parser.parse_args()
    print(f"seed {args.seed}")
    models = [generate(args.seed, index) for index in range(args.count)]
    for model in models + list(generate_named(args.seed)):
        write_model(model, args.output / model.name)
        print(f"{model.name}: {list(model.frames.shape)} -> "
              f"{list(model.expected.shape)}")


if __name__ == "__main__":
    main()
