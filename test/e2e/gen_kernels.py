"""Random functions of one linalg kernel with inputs and exact expected outputs.

A kernel is drawn from the kinds in KINDS: windows with any stride, dilation,
padding, grouping and layout, reductions over any dimensions, element-wise ops
with broadcast constants or several streams, matrix products. Its result is
computed here from the affine maps alone: each operand is gathered over the
whole iteration space, the body applied, the reduction loops folded. A function
depends on nothing but the seed and its index.

    gen_kernels.py [--seed N] [--first N] [--count N] -o DIR
"""
import dataclasses
import random
import re

import numpy as np

from gen_linalg import (FRAMES, FunctionGenerator, LinalgModel, Tensor, describe_shapes, merged,
                        tensor_type, wrap, write_all)

MAX_POINTS = 6000                       # of an iteration space


@dataclasses.dataclass(frozen=True)
class Loop:
    name: str
    extent: int
    reduces: bool = False


@dataclasses.dataclass(frozen=True)
class Index:
    """A sum of loops times factors, plus a constant, over a divisor."""
    terms: tuple = ()
    offset: int = 0
    divisor: int = 1

    def text(self, dims):
        parts = [dims[name] if factor == 1 else f"{dims[name]} * {factor}"
                 for name, factor in self.terms]
        if self.offset or not parts:
            parts.append(str(self.offset))
        total = " + ".join(parts)
        return total if self.divisor == 1 else f"({total}) floordiv {self.divisor}"


def bare(*names):
    return [Index(((name, 1),)) for name in names]


def unsigned(array, bits):
    return array & ((1 << bits) - 1)


class Body:
    """The scalar ops of a kernel as text, with their values beside it. A value
    is a name, an array that broadcasts over the iteration space, and a width."""

    def __init__(self, rng):
        self.rng, self.lines = rng, []

    def emit(self, text, array, bits):
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name, wrap(array, bits), bits

    def constant(self, value, bits):
        value = int(wrap(np.int64(value), bits))
        return self.emit(f"arith.constant {value} : i{bits}", np.int64(value), bits)

    def extend(self, value, bits, signed=True):
        name, array, narrow = value
        if narrow == bits:
            return value
        if signed:
            return self.emit(f"arith.extsi {name} : i{narrow} to i{bits}", array, bits)
        return self.emit(f"arith.extui {name} : i{narrow} to i{bits}",
                         unsigned(array, narrow), bits)

    def truncate(self, value, bits):
        name, array, wide = value
        if wide == bits:
            return value
        return self.emit(f"arith.trunci {name} : i{wide} to i{bits}", array, bits)

    def fit(self, value, bits):
        if value[2] > bits:
            return self.truncate(value, bits)
        return self.extend(value, bits, self.rng.random() < 0.7)

    def binary(self, op, a, b):
        """One of BINARY on two values of the same width."""
        (left, x, bits), (right, y, _) = a, b
        if op in UNSIGNED:
            x, y = unsigned(x, bits), unsigned(y, bits)
        return self.emit(f"arith.{op} {left}, {right} : i{bits}", BINARY[op](x, y), bits)

    def select(self, test, a, b, yes, no):
        flag, truth, _ = self.emit(f"arith.cmpi {test}, {a[0]}, {b[0]} : i{a[2]}",
                                   np.zeros((), np.int64), 1)
        truth = COMPARE[test](a[1], b[1])
        return self.emit(f"arith.select {flag}, {yes[0]}, {no[0]} : i{yes[2]}",
                         np.where(truth, yes[1], no[1]), yes[2])

    def shift(self, op, value, amount):
        name, array, bits = value
        by, _, _ = self.constant(amount, bits)
        array = unsigned(array, bits) if op == "shrui" else array
        array = array << amount if op == "shli" else array >> amount
        return self.emit(f"arith.{op} {name}, {by} : i{bits}", array, bits)


BINARY = {"addi": np.add, "subi": np.subtract, "muli": np.multiply,
          "maxsi": np.maximum, "minsi": np.minimum,
          "maxui": np.maximum, "minui": np.minimum,
          "andi": np.bitwise_and, "ori": np.bitwise_or, "xori": np.bitwise_xor}
UNSIGNED = ("maxui", "minui")
COMPARE = {"slt": np.less, "sge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
           "sgt": np.greater, "sle": np.less_equal}
FOLDS = ("addi", "addi", "addi", "maxsi", "minsi", "maxui", "minui", "muli",
         "andi", "ori", "xori")


def neutral(op, bits):
    """The value that leaves another as it is."""
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return {"muli": wrap(np.int64(1), bits), "andi": -1, "minui": -1, "maxsi": low,
            "minsi": high}.get(op, 0)


FLOAT_BITS = 32
FLOAT_OPS = {"addi": "addf", "subi": "subf", "muli": "mulf", "maxsi": "maximumf",
             "minsi": "minimumf"}
FLOAT_FOLDS = ("addi", "addi", "maxsi", "minsi")


def as_float(model):
    """The same kernel on f32. Its integers are so small that floats hold them."""
    def numbers(found):
        return re.sub(r"-?\d+", lambda number: number.group() + ".0", found.group(1))

    text = re.sub(r"(arith\.constant -?\d+)(?= : i32)", numbers_of_constant, model.text)
    text = re.sub(r"(dense<.*?>)(?= : tensor<[0-9x]*i32>)", numbers, text)
    for integer, real in FLOAT_OPS.items():
        text = text.replace(f"arith.{integer}", f"arith.{real}")
    return dataclasses.replace(
        model, text=re.sub(r"\bi32\b|(?<=x)i32\b", "f32", text),
        inputs=[array.astype(np.float32) for array in model.inputs],
        expected=[array.astype(np.float32) for array in model.expected])


def numbers_of_constant(found):
    return found.group() + ".0"


class KernelGenerator(FunctionGenerator):
    """One kernel under construction."""

    is_float = False

    # The kernel as text and as values.

    def kernel(self, loops, inputs, out, fold, body, kept=None):
        """A linalg.generic. `inputs` are pairs of a tensor and its indices;
        `out` names the loops of the output; `fold` is an op of BINARY or None;
        `body(scalars, values)` gives the value to be folded or yielded. With
        `kept` reduced dimensions stay: positions of indices that are 0."""
        indices = bare(*out)
        for position in kept or ():
            indices.insert(position, Index())
        scalars, axes = Body(self.rng), {loop.name: i for i, loop in enumerate(loops)}
        values = [(f"%{letter}", gather(tensor.array, index, loops, axes), tensor.bits)
                  for letter, (tensor, index) in zip("abcdefgh", inputs)]
        name, array, bits = body(scalars, values)
        array = np.broadcast_to(array, (FRAMES, *(loop.extent for loop in loops)))
        extents = {loop.name: loop.extent for loop in loops}
        shape = [1 if not index.terms else extents[index.terms[0][0]] for index in indices]
        init = self.start(shape, bits, fold)
        if fold:
            name, _, _ = scalars.emit(f"arith.{fold} %acc, {name} : i{bits}",
                                      np.int64(0), bits)
        array = reduce(array, loops, axes, out, fold, bits).reshape(FRAMES, *shape)
        if fold:
            array = combine(fold, np.broadcast_to(init.array, array.shape), array, bits)
        text = self.generic_text(loops, inputs, (init, indices),
                                 [*scalars.lines, f"linalg.yield {name} : i{bits}"])
        return Tensor(self.emit(text), bits, array)

    def generic_text(self, loops, inputs, out, lines):
        dims = {loop.name: f"d{i}" for i, loop in enumerate(loops)}
        maps = ", ".join(f"affine_map<({', '.join(dims.values())}) -> "
                         f"({', '.join(index.text(dims) for index in indices)})>"
                         for _, indices in [*inputs, out])
        kinds = ", ".join('"reduction"' if loop.reduces else '"parallel"' for loop in loops)
        args = [f"%{letter}: i{tensor.bits}"
                for letter, (tensor, _) in zip("abcdefgh", inputs)]
        args.append(f"%acc: i{out[0].bits}")
        names = ", ".join(tensor.name for tensor, _ in inputs)
        types = ", ".join(tensor.type for tensor, _ in inputs)
        return "\n    ".join([
            f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
            f"ins({names} : {types}) outs({out[0].name} : {out[0].type}) {{",
            f"^bb0({', '.join(args)}):", *lines, f"}} -> {out[0].type}"])

    def start(self, shape, bits, fold):
        """What the output holds before: nothing, or a reduction's first value."""
        kind = tensor_type(shape, bits)
        empty = self.emit(f"tensor.empty() : {kind}")
        if not fold:
            return Tensor(empty, bits, np.zeros((1, *shape), np.int64))
        if fold == "addi" and self.chance(0.15):
            return self.constant(self.integers(shape, min(bits, 12)), bits)
        value = int(neutral(fold, bits))
        if fold == "addi" and self.chance(0.3):
            value = int(self.integers((), min(bits, 8)))
        filler = self.scalar(value, bits)
        name = self.emit(f"linalg.fill ins({filler} : i{bits}) "
                         f"outs({empty} : {kind}) -> {kind}")
        return Tensor(name, bits, np.full((1, *shape), value))

    def in_order(self, loops):
        """Parallel loops in the output's order, or now and then any order."""
        if self.chance(0.25):
            loops = self.rng.sample(loops, len(loops))
        return loops

    def widths(self, most=32):
        if self.is_float:
            return FLOAT_BITS
        if most < 32:
            return self.rng.randint(1, most)
        return self.rng.choice([1, 2, 3, 4, 4, 6, 8, 8, 8, 9, 12, 16, 18, 24, 31, 32])

    def integers(self, shape, bits):
        return super().integers(shape, 4 if self.is_float else bits)

    def operation(self):
        return self.rng.choice(list(FLOAT_OPS if self.is_float else BINARY))

    def fold(self):
        return self.rng.choice(FLOAT_FOLDS if self.is_float else FOLDS)

    # Windows.

    def place(self, batch, space, channels):
        """Dimensions in the layout of this function."""
        order = [*space, *channels] if self.channels_last else [*channels, *space]
        return [batch, *order]

    def spread(self, tensor):
        """A weight's layout: any order of its dimensions."""
        return self.rng.sample(range(len(tensor)), len(tensor))

    def window_input(self, channels, batch):
        longest = {1: 16, 2: 8, 3: 4}[self.rank]
        space = [self.rng.randint(1, longest) for _ in range(self.rank)]
        tensor = self.argument(self.place(batch, space, channels), self.widths(16))
        windows = [self.pick_window(size) for size in space]
        pads = [window[3] for window in windows]
        if any(map(any, pads)):
            value = self.rng.choice([0, 0, 0, -1])
            none = [0] * len(channels)
            tensor = self.pad_by(tensor, self.place(0, [p[0] for p in pads], none),
                                 self.place(0, [p[1] for p in pads], none), value)
        return tensor, windows

    def pad_by(self, tensor, low, high, value):
        """tensor.pad by these widths."""
        filler = self.scalar(value, tensor.bits)
        array = np.pad(tensor.array, [(0, 0), *zip(low, high)], constant_values=value)
        args = ", ".join(f"%p{i}: index" for i in range(len(low)))
        kind = tensor_type(array.shape[1:], tensor.bits)
        name = self.emit(f"tensor.pad {tensor.name} low{low} high{high} {{\n    ^bb0({args}):\n"
                         f"    tensor.yield {filler} : i{tensor.bits}\n"
                         f"    }} : {tensor.type} to {kind}")
        return Tensor(name, tensor.bits, array)

    def window_loops(self, windows):
        space = [Loop(f"x{i}", window[4]) for i, window in enumerate(windows)]
        taps = [Loop(f"k{i}", window[0], True) for i, window in enumerate(windows)]
        indices = [Index(((x.name, window[1]), (k.name, window[2])))
                   for x, k, window in zip(space, taps, windows)]
        return space, taps, indices

    def product(self, bits):
        """Body of a * b in `bits` bits, either one extended by sign or zeros."""
        def body(scalars, values):
            a, b = (scalars.extend(value, bits, self.chance(0.75)) for value in values[:2])
            return scalars.binary("muli", *self.rng.sample([a, b], 2))
        return body

    def wide(self, *least):
        if self.is_float:
            return FLOAT_BITS
        return max(*least, self.rng.choice([8, 12, 16, 20, 24, 32, 32]))

    def convolution(self):
        """Groups are a dimension of their own, before the channels."""
        rng = self.rng
        groups = rng.choice([0, 0, 0, 1, 2, 3])
        channels, filters = rng.randint(1, 6), rng.randint(1, 6)
        lead = [groups] if groups else []
        tensor, windows = self.window_input([*lead, channels], rng.choice([1, 1, 1, 2]))
        space, taps, indices = self.window_loops(windows)
        group = [Loop("g", groups)] if groups else []
        batch = Loop("n", tensor.shape[0])
        reduced = [*taps, Loop("c", channels, True)]
        filter_loop = Loop("o", filters)
        weight_loops = rng.sample([*group, filter_loop, *reduced], len(group) + len(reduced) + 1)
        w_bits = self.widths(8)
        weight = self.constant(self.integers([loop.extent for loop in weight_loops], w_bits),
                               w_bits)
        names = [loop.name for loop in group]
        out = self.place("n", [loop.name for loop in space], [*names, "o"])
        if self.chance(0.1):
            rng.shuffle(out)
        loops = self.in_order([batch, *self.place(None, space, [*group, filter_loop])[1:],
                               *reduced])
        return self.kernel(
            loops, [(tensor, self.place(*bare("n"), indices, bare(*names, "c"))),
                    (weight, bare(*(loop.name for loop in weight_loops)))],
            out, "addi", self.product(self.wide(tensor.bits, w_bits)))

    def depthwise(self):
        channels = self.rng.randint(1, 8)
        tensor, windows = self.window_input([channels], 1)
        space, taps, indices = self.window_loops(windows)
        channel = Loop("c", channels)
        weight_loops = self.rng.sample([*taps, channel], len(taps) + 1)
        w_bits = self.widths(8)
        weight = self.constant(self.integers([loop.extent for loop in weight_loops], w_bits),
                               w_bits)
        out = self.place("n", [loop.name for loop in space], ["c"])
        loops = [Loop("n", 1), *self.place(None, space, [channel])[1:], *taps]
        return self.kernel(
            self.in_order(loops),
            [(tensor, self.place(*bare("n"), indices, bare("c"))),
             (weight, bare(*(loop.name for loop in weight_loops)))],
            out, "addi", self.product(self.wide(tensor.bits, w_bits)))

    def pool(self):
        """Its window's extents come from a tensor without contents."""
        tensor, windows = self.window_input([self.rng.randint(1, 8)], 1)
        space, taps, indices = self.window_loops(windows)
        channel = Loop("c", tensor.shape[-1] if self.channels_last else tensor.shape[1])
        extents = [tap.extent for tap in taps]
        window = Tensor(self.emit(f"tensor.empty() : {tensor_type(extents, 8)}"), 8,
                        np.zeros((1, *extents), np.int64))
        out = self.place("n", [loop.name for loop in space], ["c"])
        fold = self.fold()
        bits = self.rng.choice([tensor.bits, self.wide(tensor.bits)])
        return self.kernel(
            self.in_order([Loop("n", 1), *self.place(None, space, [channel])[1:], *taps]),
            [(tensor, self.place(*bare("n"), indices, bare("c"))),
             (window, bare(*(tap.name for tap in taps)))],
            out, fold, lambda scalars, values: scalars.extend(values[0], bits, self.chance(0.7)))

    # Reductions.

    def shape(self, least, most, points):
        rank = self.rng.randint(least, most)
        longest = max(2, min(12, int(points ** (1 / rank))))
        return [self.rng.randint(1, longest) for _ in range(rank)]

    def reduction(self):
        """Over any dimensions, which may stay with extent 1."""
        shape = self.shape(1, 5, MAX_POINTS)
        rank = len(shape)
        count = self.rng.randint(1, rank)
        reduced = set(self.rng.sample(range(rank), count))
        loops = [Loop(f"d{i}", extent, i in reduced) for i, extent in enumerate(shape)]
        tensor = self.argument(shape, self.widths())
        out = [loop.name for loop in loops if not loop.reduces]
        kept = sorted(reduced) if self.chance(0.5) or not out else None
        fold = self.fold()
        bits = self.rng.choice([tensor.bits, self.wide(tensor.bits)])

        def body(scalars, values):
            value = scalars.extend(values[0], bits, self.chance(0.7))
            if fold == "addi" and self.chance(0.3):
                value = scalars.binary("muli", value, value)
            return value
        return self.kernel(self.in_order(loops),
                           [(tensor, bare(*(loop.name for loop in loops)))], out, fold, body, kept)

    # Products of matrices.

    def matrix_product(self):
        """Rows times a constant matrix, with or without batch dimensions."""
        batch = [Loop(f"b{i}", self.rng.randint(1, 3)) for i in range(self.rng.choice([0, 0, 1, 2]))]
        rows, columns, depth = (Loop(name, self.rng.randint(1, 9), name == "k") for name in "mok")
        names = [loop.name for loop in batch]
        tensor = self.argument([loop.extent for loop in (*batch, rows, depth)], self.widths(16))
        own = batch if self.chance(0.5) else []
        weight_loops = [*own, *self.rng.sample([depth, columns], 2)]
        w_bits = self.widths(8)
        weight = self.constant(self.integers([loop.extent for loop in weight_loops], w_bits),
                               w_bits)
        return self.kernel(
            self.in_order([*batch, rows, columns, depth]),
            [(tensor, bare(*names, "m", "k")),
             (weight, bare(*(loop.name for loop in weight_loops)))],
            [*names, "m", "o"], "addi", self.product(self.wide(tensor.bits, w_bits)))

    # Element-wise.

    def scalar_step(self, scalars, value, others):
        """One or a few ops on a value; `others` are operands not used yet."""
        rng, bits = self.rng, value[2]
        kinds = ["other", "other", "constant"]
        if not self.is_float:
            kinds += ["shift", "clamp", "fit", "select"]
        kind = rng.choice(kinds)
        if kind == "other" and others:
            other = others.pop()
            width = max(bits, other[2])
            value, other = scalars.fit(value, width), scalars.fit(other, width)
            return scalars.binary(self.operation(), value, other)
        if kind == "constant":
            constant = scalars.constant(int(self.integers((), bits)), bits)
            return scalars.binary(self.operation(), *rng.sample([value, constant], 2))
        if kind == "shift" and bits > 1:
            return scalars.shift(rng.choice(["shli", "shrsi", "shrui"]), value,
                                 rng.randint(0, bits - 1))
        if kind == "clamp":
            low, high = sorted(int(v) for v in self.integers((2,), bits))
            value = scalars.binary("maxsi", value, scalars.constant(low, bits))
            return scalars.binary("minsi", value, scalars.constant(high, bits))
        if kind == "select":
            constant = scalars.constant(int(self.integers((), bits)), bits)
            pair = rng.sample([value, constant], 2)
            return scalars.select(rng.choice(list(COMPARE)), value, constant, *pair)
        return scalars.fit(value, self.widths())

    def chain(self, steps):
        def body(scalars, values):
            value, others = values[0], list(values[1:])
            for _ in range(steps):
                value = self.scalar_step(scalars, value, others)
            return value
        return body

    def operands(self, shape, loops):
        """Constants with any of the dimensions, and perhaps a second stream."""
        inputs = []
        for _ in range(self.rng.choice([0, 1, 1, 2])):
            axes = sorted(self.rng.sample(range(len(shape)), self.rng.randint(0, len(shape))))
            bits = self.widths(12)
            constant = self.constant(self.integers([shape[axis] for axis in axes], bits), bits)
            inputs.append((constant, bare(*(loops[axis].name for axis in axes))))
        if self.chance(0.3):
            inputs.append((self.argument(shape, self.widths()),
                           bare(*(loop.name for loop in loops))))
        return self.rng.sample(inputs, len(inputs))

    def elementwise(self, _tensor=None, _last_bits=None):
        shape = self.shape(1, 5, MAX_POINTS // 4)
        loops = [Loop(f"d{i}", extent) for i, extent in enumerate(shape)]
        names = [loop.name for loop in loops]
        tensor = self.argument(shape, self.widths())
        inputs = [(tensor, bare(*names)), *self.operands(shape, loops)]
        return self.kernel(self.in_order(loops), inputs, names, None,
                           self.chain(self.rng.randint(1, 5)))

    def subsample(self, _tensor=None):
        """Every so many positions of some dimensions, from an offset on."""
        shape = self.shape(1, 4, MAX_POINTS // 4)
        loops, indices = [], []
        for axis, extent in enumerate(shape):
            stride = self.rng.choice([1, 2, 3])
            offset = self.rng.randrange(min(extent, 3))
            if axis == 0 and self.chance(0.5):
                stride, offset = 1, 0
            loops.append(Loop(f"d{axis}", (extent - 1 - offset) // stride + 1))
            indices.append(Index(((f"d{axis}", stride),), offset))
        tensor = self.argument(shape, self.widths())
        return self.kernel(loops, [(tensor, indices)], [loop.name for loop in loops], None,
                           self.chain(self.rng.randint(0, 2)))

    def neighbours(self):
        """Positions that follow a line in the input, as those of resized images."""
        shape = self.shape(1, 4, MAX_POINTS // 8)
        loops, indices = [], []
        for axis, extent in enumerate(shape):
            divisor = self.rng.choice([1, 2, 3, 4, 5, 8])
            factor = self.rng.randint(1, 9) if divisor > 1 else 1
            offset = self.rng.randrange(divisor)
            last = extent * divisor - 1 - offset            # of the loop times the factor
            if extent == 1 or last < factor:
                divisor, factor, offset, last = 1, 1, 0, extent - 1
            loops.append(Loop(f"d{axis}", min(last // factor + 1, 3 * extent)))
            indices.append(Index(((f"d{axis}", factor),), offset, divisor))
        tensor = self.argument(shape, self.widths())
        return self.kernel(loops, [(tensor, indices)], [loop.name for loop in loops], None,
                           self.chain(self.rng.randint(0, 2)))

    # Data that only moves, and streams that meet in other orders.

    def transpose(self):
        """Another order of the dimensions, in the input's map or the output's."""
        shape = self.shape(2, 4, MAX_POINTS // 8)
        loops = [Loop(f"d{i}", extent) for i, extent in enumerate(shape)]
        names = [loop.name for loop in loops]
        order = self.rng.sample(names, len(names))
        tensor = self.argument(shape, self.widths())
        return self.kernel(self.in_order(loops), [(tensor, bare(*names))], order, None,
                           self.chain(self.rng.randint(0, 2)))

    def broadcast(self):
        """A stream without some of the dimensions, and perhaps one with all."""
        shape = self.shape(2, 4, MAX_POINTS // 8)
        loops = [Loop(f"d{i}", extent) for i, extent in enumerate(shape)]
        names = [loop.name for loop in loops]
        axes = sorted(self.rng.sample(range(len(shape)), self.rng.randint(1, len(shape) - 1)))
        if self.chance(0.3):
            self.rng.shuffle(axes)
        narrow = self.argument([shape[axis] for axis in axes], self.widths(16))
        inputs = [(narrow, bare(*(names[axis] for axis in axes)))]
        if self.chance(0.6):
            inputs.append((self.argument(shape, self.widths(16)), bare(*names)))
        return self.kernel(loops, self.rng.sample(inputs, len(inputs)), names, None,
                           self.chain(self.rng.randint(1, 3)))

    def stream_product(self):
        """The product of two matrices or vectors that both arrive, each in any order; either may
        lack the batch, and several dimensions may be summed."""
        rng = self.rng
        batch = [Loop(f"b{i}", rng.randint(1, 3)) for i in range(rng.choice([0, 0, 1, 2]))]
        rows, columns = ([Loop(name, rng.randint(1, 12))] * rng.choice([1, 1, 1, 0])
                         for name in "mo")
        depth = [Loop(f"k{i}", rng.randint(1, 12 // count), True)
                 for count in [rng.choice([1, 1, 1, 2])] for i in range(count)]

        def matrix(own):
            loops = [*(batch if self.chance(0.8) else []), *own]
            if self.chance(0.3):
                rng.shuffle(loops)
            elif self.chance(0.4):
                loops = [loop for loop in loops if loop not in own] + own[::-1]
            return (self.argument([loop.extent for loop in loops], self.widths(12)),
                    bare(*(loop.name for loop in loops)))
        left, right = matrix(rows + depth), matrix(depth + columns)
        used_loops = {term[0] for _, indices in (left, right) for index in indices
                      for term in index.terms}
        out = [loop.name for loop in (*batch, *rows, *columns) if loop.name in used_loops]
        if self.chance(0.15):
            rng.shuffle(out)
        loops = [loop for loop in (*batch, *rows, *columns, *depth) if loop.name in used_loops]
        bits = self.wide(left[0].bits, right[0].bits)
        return self.kernel(self.in_order(loops), [left, right], out, "addi", self.product(bits),
                           None if out else [0])

    def cut(self, tensor):
        """tensor.extract_slice with any offsets and strides."""
        offsets, sizes, strides = [], [], []
        for extent in tensor.shape:
            stride = self.rng.choice([1, 1, 1, 2])
            offset = self.rng.randrange(min(extent, 3))
            most = (extent - 1 - offset) // stride + 1
            offsets.append(offset)
            strides.append(stride)
            sizes.append(self.rng.randint(max(1, most - 2), most))
        parts = [slice(offset, offset + (size - 1) * stride + 1, stride)
                 for offset, size, stride in zip(offsets, sizes, strides)]
        name = self.emit(f"tensor.extract_slice {tensor.name}{offsets} {sizes} {strides} : "
                         f"{tensor.type} to {tensor_type(sizes, tensor.bits)}")
        return Tensor(name, tensor.bits, tensor.array[(slice(None), *parts)])

    def padded_anywhere(self, tensor):
        low, high = ([self.rng.choice([0, 0, 1, 2]) for _ in tensor.shape] for _ in range(2))
        return self.pad_by(tensor, low, high, self.rng.choice([0, -1]))

    def concat(self, tensor):
        axis = self.rng.randrange(len(tensor.shape))
        parts = [tensor]
        for _ in range(self.rng.randint(1, 2)):
            shape = list(tensor.shape)
            shape[axis] = self.rng.randint(1, 4)
            parts.append(self.argument(shape, tensor.bits))
        self.rng.shuffle(parts)
        array = np.concatenate([part.array for part in parts], axis=axis + 1)
        kind = tensor_type(array.shape[1:], tensor.bits)
        name = self.emit(f"tensor.concat dim({axis}) {', '.join(part.name for part in parts)} : "
                         f"({', '.join(part.type for part in parts)}) -> {kind}")
        return Tensor(name, tensor.bits, array)

    def move(self):
        """A slice, padding or concatenation of any dimension, then a kernel."""
        tensor = self.argument(self.shape(1, 4, MAX_POINTS // 16), self.widths())
        for _ in range(self.rng.randint(1, 2)):
            tensor = self.rng.choice([KernelGenerator.cut, KernelGenerator.padded_anywhere,
                                      KernelGenerator.concat])(self, tensor)
        loops = [Loop(f"d{i}", extent) for i, extent in enumerate(tensor.shape)]
        names = [loop.name for loop in loops]
        return self.kernel(loops, [(tensor, bare(*names))], names, None,
                           self.chain(self.rng.randint(1, 2)))

    def float_kernel(self):
        """One of the other kinds, on f32."""
        self.is_float = True
        return self.rng.choice([
            KernelGenerator.convolution, KernelGenerator.depthwise, KernelGenerator.pool,
            KernelGenerator.reduction, KernelGenerator.matrix_product,
            KernelGenerator.stream_product, KernelGenerator.elementwise])(self)

    def build(self):
        """One kernel, drawn again while its result is the same in all frames:
        it might fold to a constant."""
        kind = self.rng.choice(list(KINDS))
        for _ in range(50):
            self.lines, self.args, self.count = [], [], 0
            self.rank = self.rng.choice([1, 2, 2, 2, 3])
            self.channels_last = self.rng.random() < 0.6
            result = KINDS[kind](self)
            if not np.array_equal(*result.array) and used(self.args, self.lines):
                break
        self.kind = kind
        return [result]


KINDS = {
    "convolution": KernelGenerator.convolution,
    "depthwise": KernelGenerator.depthwise,
    "pool": KernelGenerator.pool,
    "reduction": KernelGenerator.reduction,
    "matrix-product": KernelGenerator.matrix_product,
    "elementwise": KernelGenerator.elementwise,
    "subsample": KernelGenerator.subsample,
    "neighbours": KernelGenerator.neighbours,
    "transpose": KernelGenerator.transpose,
    "broadcast": KernelGenerator.broadcast,
    "stream-product": KernelGenerator.stream_product,
    "move": KernelGenerator.move,
    "float": KernelGenerator.float_kernel,
}


def used(args, lines):
    """Whether the body reads each argument: one that nothing needs is dropped."""
    return all(any(arg.name in line for line in lines) for arg in args)


def gather(array, indices, loops, axes):
    """The elements an operand contributes, over frames and all loops."""
    shape = [1] * len(loops)
    picks = []
    for index in indices:
        pick = np.full(shape, index.offset, np.int64)
        for name, factor in index.terms:
            extent = loops[axes[name]].extent
            along = [extent if i == axes[name] else 1 for i in range(len(loops))]
            pick = pick + factor * np.arange(extent).reshape(along)
        picks.append(pick // index.divisor)
    if not picks:
        return array.reshape(len(array), *shape)
    return array[(slice(None), *np.broadcast_arrays(*picks))]


def reduce(array, loops, axes, out, fold, bits):
    """Folds the reduction loops and orders the others as the output."""
    for axis in reversed([1 + axes[loop.name] for loop in loops if loop.reduces]):
        parts = np.moveaxis(array, axis, 0)
        array = parts[0]
        for part in parts[1:]:
            array = combine(fold, array, part, bits)
    rest = [loop.name for loop in loops if not loop.reduces]
    return array.transpose(0, *(1 + rest.index(name) for name in out))


def combine(fold, a, b, bits):
    if fold in UNSIGNED:
        a, b = unsigned(a, bits), unsigned(b, bits)
    return wrap(BINARY[fold](a, b), bits)


def generate(seed, index):
    """The LinalgModel number `index` of `seed`."""
    generator = KernelGenerator(random.Random(f"kernel/{seed}/{index}"))
    model = generator.model("")
    if generator.is_float:
        model = as_float(model)
    return dataclasses.replace(model, name=f"{generator.kind}-{index}")


def main():
    write_all("Write random kernels.", generate, describe_shapes)


if __name__ == "__main__":
    main()
