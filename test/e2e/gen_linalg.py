"""Random small functions of linalg ops with inputs and exact expected outputs.

A function is a graph of windowed, reducing and element-wise kernels over
integer tensors of 2 to 16 bits, with random loop orders, strides, dilations
and padding, in either place of the channels. Expected values are computed
here in numpy, with the wrap-around of the arith dialect. A function depends
on nothing but the seed and its index.

    gen_linalg.py [--seed N] [--first N] [--count N] -o DIR
"""
import argparse
import dataclasses
import itertools
import math
import pathlib
import random

import numpy as np

FRAMES = 2
MAX_WORK = 200_000                      # innermost steps of one kernel


@dataclasses.dataclass
class LinalgModel:
    """`inputs` and `expected` hold one array for each argument and result, the
    first axis being FRAMES times the tensor's first dimension. `may_reject`
    allows the compiler a clear error in place of the exact outputs."""
    name: str
    text: str
    inputs: list
    expected: list
    may_reject: bool = False


@dataclasses.dataclass
class Tensor:
    """An SSA value and what it holds: signed integers, one axis for the frames
    in front of the tensor's own."""
    name: str
    bits: int
    array: np.ndarray

    @property
    def shape(self):
        return self.array.shape[1:]

    @property
    def type(self):
        return tensor_type(self.shape, self.bits)


def tensor_type(shape, bits):
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}i{bits}>"


def wrap(array, bits):
    """What of the integers stays in `bits` signed bits."""
    half = 1 << (bits - 1)
    return ((array + half) & ((1 << bits) - 1)) - half


def dense(array):
    """Elements as MLIR writes them."""
    if array.ndim == 0:
        return str(int(array))
    return "[" + ", ".join(dense(part) for part in array) + "]"


# Indices: lists of (loop, factor), to be added.

def bare(*loops):
    """The indices of a tensor that the loops walk element by element."""
    return [[(loop, 1)] for loop in loops]


def affine_map(order, indices):
    dims = {loop: f"d{number}" for number, loop in enumerate(order)}

    def term(loop, factor):
        return dims[loop] if factor == 1 else f"{dims[loop]} * {factor}"

    results = [" + ".join(term(*part) for part in index) or "0"
               for index in indices]
    return f"affine_map<({', '.join(dims.values())}) -> ({', '.join(results)})>"


def parallel(loop):
    """Loops are named n, g, c, o (of the output), x (space); k and i reduce."""
    return loop[0] in "ngcox"


class FunctionGenerator:
    """One function under construction."""

    def __init__(self, rng):
        self.rng = rng
        self.lines, self.args, self.count = [], [], 0
        self.channels_last = rng.random() < 0.6
        self.rank = rng.choice([1, 2, 2, 2, 2, 3])      # spatial dimensions
        self.may_reject = False

    # Text.

    def fresh(self):
        self.count += 1
        return f"%{self.count}"

    def emit(self, text):
        """`text` as the definition of a new value, whose name it returns."""
        name = self.fresh()
        self.lines.append(f"{name} = {text}")
        return name

    def chance(self, probability):
        return self.rng.random() < probability

    def integers(self, shape, bits):
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        values = [self.rng.randint(low, high) for _ in range(math.prod(shape))]
        return np.array(values, np.int64).reshape(shape)

    def scalar(self, value, bits):
        return self.emit(f"arith.constant {value} : i{bits}")

    def constant(self, array, bits):
        """A constant tensor; its values are the same in every frame."""
        kind = tensor_type(array.shape, bits)
        name = self.emit(f"arith.constant dense<{dense(array)}> : {kind}")
        return Tensor(name, bits, array[None])

    def argument(self, shape, bits):
        array = self.integers((FRAMES, *shape), bits)
        tensor = Tensor(f"%arg{len(self.args)}", bits, array)
        self.args.append(tensor)
        return tensor

    def generic(self, inputs, init, loops, body):
        """A linalg.generic. `inputs` and `init` are pairs of a tensor and its
        indices; `body` holds the lines after the block's arguments, which are
        %a, %b, … and %acc. Returns the result's name."""
        order = list(loops)
        if self.chance(0.3):
            self.rng.shuffle(order)
        operands = [*inputs, init]
        maps = ", ".join(affine_map(order, indices) for _, indices in operands)
        kinds = ", ".join('"parallel"' if parallel(loop) else '"reduction"'
                          for loop in order)
        args = [f"%{letter}: i{tensor.bits}"
                for letter, (tensor, _) in zip("abcdefgh", inputs)]
        args.append(f"%acc: i{init[0].bits}")
        names = ", ".join(tensor.name for tensor, _ in inputs)
        types = ", ".join(tensor.type for tensor, _ in inputs)
        lines = [f"linalg.generic {{indexing_maps = [{maps}], "
                 f"iterator_types = [{kinds}]}} ins({names} : {types}) "
                 f"outs({init[0].name} : {init[0].type}) {{",
                 f"^bb0({', '.join(args)}):", *body, f"}} -> {init[0].type}"]
        return self.emit("\n    ".join(lines))

    # Shapes. Space is in order, the channels behind or before it.

    def place(self, batch, space, channels):
        space = list(space)
        order = [*space, channels] if self.channels_last else [channels, *space]
        return [batch, *order]

    def to_last(self, array):
        """An array (with frames) as frames, batch, space, channels."""
        return array if self.channels_last else np.moveaxis(array, 2, -1)

    def from_last(self, array):
        return array if self.channels_last else np.moveaxis(array, -1, 2)

    def space_of(self, tensor):
        return self.to_last(tensor.array).shape[2:-1]

    def channels_of(self, tensor):
        return self.to_last(tensor.array).shape[-1]

    # Padding.

    def pad(self, tensor, widths, value):
        """tensor.pad of the spatial dimensions; always emitted if called."""
        low = self.place(0, [w[0] for w in widths], 0)
        high = self.place(0, [w[1] for w in widths], 0)
        array = np.pad(tensor.array, [(0, 0), *zip(low, high)],
                       constant_values=value)
        filler = self.scalar(value, tensor.bits)
        indices = ", ".join(f"%p{i}: index" for i in range(len(low)))
        kind = tensor_type(array.shape[1:], tensor.bits)
        name = self.emit(
            f"tensor.pad {tensor.name} low{low} high{high} {{\n"
            f"    ^bb0({indices}):\n    tensor.yield {filler} : i{tensor.bits}\n"
            f"    }} : {tensor.type} to {kind}")
        return Tensor(name, tensor.bits, array)

    # Windows.

    def pick_window(self, size):
        """Kernel, stride, dilation, padding and window count of a dimension."""
        rng = self.rng
        kernel = rng.choice([1, 1, 2, 3, 3, 4])
        dilation = rng.choice([1, 1, 1, 2, 3]) if kernel > 1 else 1
        stride = rng.choice([1, 1, 1, 2, 2, 3])
        span = (kernel - 1) * dilation + 1
        pads = [0, 0]
        if self.chance(0.5):
            pads = [rng.randint(0, span), rng.randint(0, span)]
        if size + sum(pads) < span:
            pads = [span - 1, span - 1]
        count = (size + sum(pads) - span) // stride + 1
        if count > 1 and self.chance(0.15):
            count -= 1                              # the kernel stops early
        return kernel, stride, dilation, pads, count

    def pick_windows(self, tensor):
        space = self.space_of(tensor)
        return [self.pick_window(size) for size in space]

    def padded(self, tensor, windows):
        widths = [window[3] for window in windows]
        if not any(map(any, widths)) and self.chance(0.8):
            return tensor
        value = self.rng.choice([0, 0, 0, -1, 1])
        return self.pad(tensor, widths, value)

    @staticmethod
    def taps(tensor_last, windows):
        """For each tap of the kernel, the part of the input that it meets: its
        position and an array of frames, batch, output positions, channels."""
        for tap in itertools.product(*(range(w[0]) for w in windows)):
            parts = [slice(t * dilation, t * dilation + (count - 1) * stride + 1,
                           stride)
                     for t, (_, stride, dilation, _, count) in zip(tap, windows)]
            yield tap, tensor_last[(slice(None), slice(None), *parts)]

    def space_loops(self):
        return [f"x{i}" for i in range(self.rank)]

    def tap_loops(self):
        return [f"k{i}" for i in range(self.rank)]

    def window_indices(self, windows, channel):
        """Indices of the input; a window of one tap needs no loop for it."""
        space = [[(x, window[1]), (k, window[2])] for x, k, window in
                 zip(self.space_loops(), self.tap_loops(), windows)]
        return self.place([("n", 1)], space, [(channel, 1)])

    def start_value(self, shape, bits, values=(0,)):
        """An initial tensor: mostly filled, at times any constant."""
        value = self.rng.choice(values)
        kind = tensor_type(shape, bits)
        if self.chance(0.1):
            return self.constant(np.full(shape, value), bits)
        if self.chance(0.1) and len(values) > 1:
            return self.constant(self.integers(shape, min(bits, 8)), bits)
        filler = self.scalar(value, bits)
        empty = self.emit(f"tensor.empty() : {kind}")
        name = self.emit(f"linalg.fill ins({filler} : i{bits}) "
                         f"outs({empty} : {kind}) -> {kind}")
        return Tensor(name, bits, np.full((1, *shape), value))

    def sum_of(self, init):
        """A copy of an initial tensor's values for all frames, channels last."""
        return np.repeat(self.to_last(init.array), FRAMES, axis=0)

    def product_body(self, a_bits, b_bits, bits):
        """acc + a * b in `bits` bits; the operands are extended."""
        lines, names = [], []
        for name, width in (("a", a_bits), ("b", b_bits)):
            if width < bits:
                lines.append(f"%{name}x = arith.extsi %{name} : i{width} to i{bits}")
                name += "x"
            names.append(f"%{name}")
        lines += [f"%m = arith.muli {', '.join(names)} : i{bits}",
                  f"%s = arith.addi %acc, %m : i{bits}",
                  f"linalg.yield %s : i{bits}"]
        return lines

    def conv(self, tensor, filters=None, windows=None):
        """A convolution with constant weights; wraps where it overflows."""
        rng = self.rng
        windows = windows or self.pick_windows(tensor)
        tensor = self.padded(tensor, windows)
        last = self.to_last(tensor.array)
        channels = last.shape[-1]
        filters = filters or rng.randint(1, 6)
        kernel = [window[0] for window in windows]
        w_bits = rng.randint(2, 8)
        bits = max(tensor.bits, w_bits,
                   rng.choice([12, 16, 20, 24, 32, 32, 40]))
        weight = self.integers((*kernel, channels, filters), w_bits)
        shape = self.place(last.shape[1], [w[4] for w in windows], filters)
        init = self.start_value(shape, bits, (0, 0, 0, -5, 3))
        total = self.sum_of(init)
        for tap, part in self.taps(last, windows):
            total += part @ weight[tap]
        w_axes = ["i" if axis == "c" else axis for axis in
                  rng.choice(["okc", "kco", "ock"])]
        order = [loop for axis in w_axes for loop in
                 (self.tap_loops() if axis == "k" else [axis])]
        source = self.tap_loops() + ["i", "o"]
        w_array = np.transpose(weight, [source.index(loop) for loop in order])
        w_tensor = self.constant(w_array, w_bits)
        out_loops = self.place("n", self.space_loops(), "o")
        name = self.generic(
            [(tensor, self.window_indices(windows, "i")),
             (w_tensor, bare(*order))],
            (init, bare(*out_loops)), [*out_loops, *self.tap_loops(), "i"],
            self.product_body(tensor.bits, w_bits, bits))
        return Tensor(name, bits, self.from_last(wrap(total, bits)))

    def depthwise(self, tensor):
        windows = self.pick_windows(tensor)
        tensor = self.padded(tensor, windows)
        last = self.to_last(tensor.array)
        channels = last.shape[-1]
        kernel = [window[0] for window in windows]
        w_bits = self.rng.randint(2, 8)
        bits = max(tensor.bits, w_bits, self.rng.choice([16, 24, 32]))
        weight = self.integers((*kernel, channels), w_bits)
        shape = self.place(last.shape[1], [w[4] for w in windows], channels)
        init = self.start_value(shape, bits)
        total = self.sum_of(init)
        for tap, part in self.taps(last, windows):
            total += part * weight[tap]
        order = self.tap_loops() + ["c"]
        if self.chance(0.5):
            order, weight = ["c"] + order[:-1], np.moveaxis(weight, -1, 0)
        out_loops = self.place("n", self.space_loops(), "c")
        name = self.generic(
            [(tensor, self.window_indices(windows, "c")),
             (self.constant(weight, w_bits), bare(*order))],
            (init, bare(*out_loops)), [*out_loops, *self.tap_loops()],
            self.product_body(tensor.bits, w_bits, bits))
        return Tensor(name, bits, self.from_last(wrap(total, bits)))

    def reshape(self, tensor, groups, shape):
        """The same elements in another shape; `groups` lists the dimensions of
        the longer shape that make up each of the shorter one."""
        kind, bits = tensor_type(shape, tensor.bits), tensor.bits
        expands = len(shape) > len(tensor.shape)
        op, rest = ("expand", f" output_shape {shape}") if expands else ("collapse", "")
        name = self.emit(f"tensor.{op}_shape {tensor.name} {groups}{rest} : "
                         f"{tensor.type} into {kind}")
        return Tensor(name, bits, tensor.array.reshape(-1, *shape))

    def grouped(self, tensor):
        """A convolution in groups of channels. Between an expand_shape and a
        collapse_shape they are a dimension of their own, before the channels."""
        rng = self.rng
        windows = self.pick_windows(tensor)
        tensor = self.padded(tensor, windows)
        last = self.to_last(tensor.array)
        channels = last.shape[-1]
        groups = rng.choice([n for n in range(1, channels + 1) if channels % n == 0])
        channel = 1 + self.rank if self.channels_last else 1
        merged_dims = [[i + (i > channel)] for i in range(2 + self.rank)]
        merged_dims[channel].append(channel + 1)

        def with_groups(group, batch, space, each):
            dims = self.place(batch, space, each)
            return dims[:channel] + [group] + dims[channel:]

        parts, filters = channels // groups, rng.randint(1, 4)
        split = self.reshape(tensor, merged_dims, with_groups(
            groups, last.shape[1], last.shape[2:-1], parts))
        w_bits = rng.randint(2, 8)
        bits = max(tensor.bits, w_bits, rng.choice([16, 24, 32]))
        kernel, space = [w[0] for w in windows], [w[4] for w in windows]
        weight = self.integers((*kernel, groups, parts, filters), w_bits)
        init = self.start_value(with_groups(groups, last.shape[1], space, filters), bits)
        total = np.zeros((FRAMES, last.shape[1], *space, groups, filters), np.int64)
        for tap, part in self.taps(last.reshape(*last.shape[:-1], groups, parts), windows):
            total += np.einsum("...gi,gio->...go", part, weight[tap])
        indices = self.window_indices(windows, "i")
        out_loops = with_groups("g", "n", self.space_loops(), "o")
        name = self.generic(
            [(split, indices[:channel] + [[("g", 1)]] + indices[channel:]),
             (self.constant(weight, w_bits), bare(*self.tap_loops(), "g", "i", "o"))],
            (init, bare(*out_loops)), [*out_loops, *self.tap_loops(), "i"],
            self.product_body(tensor.bits, w_bits, bits))
        shape = self.place(last.shape[1], space, groups * filters)
        result = self.reshape(Tensor(name, bits, init.array), merged_dims, shape)
        total = wrap(total, bits).reshape(*total.shape[:-2], groups * filters)
        return Tensor(result.name, bits, self.from_last(total))

    def flattened(self, tensor):
        """All dimensions but the batch as one, in the tensor's own order."""
        rank = len(tensor.shape)
        return self.reshape(tensor, [[0], list(range(1, rank))],
                            [tensor.shape[0], math.prod(tensor.shape[1:])])

    def pool(self, tensor):
        """Sum, maximum or minimum of windows; their shape is an empty tensor's."""
        windows = self.pick_windows(tensor)
        tensor = self.padded(tensor, windows)
        last, bits = self.to_last(tensor.array), tensor.bits
        kind = self.rng.choice(["addi", "maxsi", "minsi"])
        starts = {"addi": 0, "maxsi": -(1 << (bits - 1)), "minsi": (1 << (bits - 1)) - 1}
        shape = self.place(last.shape[1], [w[4] for w in windows], last.shape[-1])
        init = self.start_value(shape, bits, (starts[kind],))
        combine = {"addi": np.add, "maxsi": np.maximum, "minsi": np.minimum}[kind]
        total = self.sum_of(init)
        for _, part in self.taps(last, windows):
            total = combine(total, part)
        extents = [window[0] for window in windows]
        window = Tensor(self.emit(f"tensor.empty() : {tensor_type(extents, bits)}"),
                        bits, np.zeros((1, *extents), np.int64))
        inputs = [(tensor, self.window_indices(windows, "c")),
                  (window, bare(*self.tap_loops()))]
        value = "%a"
        if self.chance(0.2):
            inputs.reverse()
            value = "%b"
        out_loops = self.place("n", self.space_loops(), "c")
        name = self.generic(
            inputs, (init, bare(*out_loops)), [*out_loops, *self.tap_loops()],
            [f"%s = arith.{kind} %acc, {value} : i{bits}",
             f"linalg.yield %s : i{bits}"])
        return Tensor(name, bits, self.from_last(wrap(total, bits)))

    # Reductions without windows.

    def global_sum(self, tensor):
        """Over all positions; they stay as dimensions of extent 1."""
        last = self.to_last(tensor.array)
        bits = max(tensor.bits, self.rng.choice([12, 16, 24]))
        shape = self.place(last.shape[1], [1] * self.rank, last.shape[-1])
        init = self.start_value(shape, bits)
        space = tuple(range(2, 2 + self.rank))
        total = last.sum(axis=space, keepdims=True) + self.sum_of(init)
        indices = bare(*self.place("n", self.tap_loops(), "c"))
        out_loops = self.place("n", self.space_loops(), "c")
        body, value = [], "%a"
        if tensor.bits < bits:
            body, value = [f"%x = arith.extsi %a : i{tensor.bits} to i{bits}"], "%x"
        body += [f"%s = arith.addi %acc, {value} : i{bits}",
                 f"linalg.yield %s : i{bits}"]
        name = self.generic([(tensor, indices)], (init, bare(*out_loops)),
                            [*out_loops, *self.tap_loops()], body)
        return Tensor(name, bits, self.from_last(wrap(total, bits)))

    def channel_sum(self, tensor):
        """Over the channels of each position; they stay with extent 1."""
        last = self.to_last(tensor.array)
        bits = tensor.bits + self.rng.randint(0, 6)
        shape = self.place(last.shape[1], last.shape[2:-1], 1)
        init = self.start_value(shape, bits, (0, 2))
        total = last.sum(axis=-1, keepdims=True) + self.sum_of(init)
        loops = self.place("n", self.space_loops(), "i")
        out_loops = self.place("n", self.space_loops(), "o")
        lines = []
        value = self.extend(lines, "%a", tensor.bits, bits)
        lines += [f"%s = arith.addi %acc, {value} : i{bits}",
                  f"linalg.yield %s : i{bits}"]
        name = self.generic([(tensor, bare(*loops))], (init, bare(*out_loops)),
                            [*out_loops, "i"], lines)
        return Tensor(name, bits, self.from_last(wrap(total, bits)))

    def subsample(self, tensor):
        """Every second or third position, from the first on."""
        last = self.to_last(tensor.array)
        strides = [self.rng.randint(1, min(3, size)) for size in last.shape[2:-1]]
        last = last[(slice(None), slice(None), *(slice(0, None, s) for s in strides))]
        array = self.from_last(last)
        space = [[(x, s)] for x, s in zip(self.space_loops(), strides)]
        index = self.place([("n", 1)], space, [("c", 1)])
        kind = tensor_type(array.shape[1:], tensor.bits)
        init = Tensor(self.emit(f"tensor.empty() : {kind}"), tensor.bits, array[:1])
        loops = self.place("n", self.space_loops(), "c")
        name = self.generic([(tensor, index)], (init, bare(*loops)), loops,
                            [f"linalg.yield %a : i{tensor.bits}"])
        return Tensor(name, tensor.bits, array)

    def matmul(self, tensor):
        """rows x k by constant k x columns, in either order of the weights."""
        rng = self.rng
        depth, columns = tensor.shape[-1], rng.randint(1, 8)
        w_bits = rng.randint(2, 8)
        bits = max(tensor.bits, w_bits, rng.choice([16, 24, 32]))
        weight = self.integers((depth, columns), w_bits)
        init = self.start_value((*tensor.shape[:-1], columns), bits, (0, 7))
        total = tensor.array @ weight + init.array
        order = ["k", "o"]
        if self.chance(0.5):
            order, weight = ["o", "k"], weight.T
        rows = [f"x{i}" for i in range(len(tensor.shape) - 1)]
        name = self.generic(
            [(tensor, bare(*rows, "k")), (self.constant(weight, w_bits), bare(*order))],
            (init, bare(*rows, "o")), [*rows, "o", "k"],
            self.product_body(tensor.bits, w_bits, bits))
        return Tensor(name, bits, wrap(total, bits))

    # Element-wise kernels.

    def scalar_step(self, lines, name, array, bits, params):
        """One scalar op on %name; returns the new name, array and width."""
        rng = self.rng
        kind = rng.choice(["const", "const", "param", "shift", "clamp", "widen",
                           "narrow", "select", "unsigned"])
        out = f"%t{len(lines)}"

        def constant(value, width=bits):
            text = f"%k{len(lines)}"
            if self.chance(0.3):
                return self.scalar(value, width)        # from outside
            lines.append(f"{text} = arith.constant {value} : i{width}")
            return text

        if kind == "const":
            value = int(self.integers((), min(bits, 8)))
            op, apply = rng.choice([
                ("addi", np.add), ("subi", np.subtract), ("muli", np.multiply),
                ("maxsi", np.maximum), ("minsi", np.minimum),
                ("andi", np.bitwise_and), ("xori", np.bitwise_xor)])
            other = constant(value)
            pair = (name, other) if self.chance(0.7) else (other, name)
            values = (array, value) if pair[0] == name else (value, array)
            lines.append(f"{out} = arith.{op} {pair[0]}, {pair[1]} : i{bits}")
            return out, wrap(apply(*values), bits), bits
        if kind == "param" and params:
            param, p_bits, p_array = params.pop()
            wide = max(bits, p_bits)
            name = self.extend(lines, name, bits, wide)
            param = self.extend(lines, param, p_bits, wide)
            out = f"%t{len(lines)}"
            op, apply = rng.choice([("addi", np.add), ("muli", np.multiply)])
            lines.append(f"{out} = arith.{op} {name}, {param} : i{wide}")
            return out, wrap(apply(array, p_array), wide), wide
        if kind == "shift" and bits > 2:
            amount = rng.randint(1, bits - 1)
            other = constant(amount)
            op = rng.choice(["shrsi", "shli", "shrui"])
            lines.append(f"{out} = arith.{op} {name}, {other} : i{bits}")
            unsigned = array & ((1 << bits) - 1)
            shifted = {"shrsi": array >> amount, "shli": array << amount,
                       "shrui": unsigned >> amount}[op]
            return out, wrap(shifted, bits), bits
        if kind == "clamp":
            low, high = sorted(int(v) for v in self.integers((2,), min(bits, 10)))
            below, above = constant(low), constant(high)
            middle = f"%t{len(lines)}"
            lines.append(f"{middle} = arith.maxsi {name}, {below} : i{bits}")
            if above.startswith("%k") and above == below:
                above = constant(high)
            out = f"%t{len(lines)}"
            lines.append(f"{out} = arith.minsi {middle}, {above} : i{bits}")
            return out, np.clip(array, low, high), bits
        if kind in ("widen", "unsigned") and bits < 32:
            wide = bits + rng.randint(1, 8)
            op = "extsi" if kind == "widen" else "extui"
            lines.append(f"{out} = arith.{op} {name} : i{bits} to i{wide}")
            if kind == "unsigned":
                array = array & ((1 << bits) - 1)
            return out, array, wide
        if kind == "narrow" and bits > 4:
            narrow = rng.randint(2, bits - 1)
            lines.append(f"{out} = arith.trunci {name} : i{bits} to i{narrow}")
            return out, wrap(array, narrow), narrow
        if kind == "select":
            value = int(self.integers((), min(bits, 8)))
            other = constant(value)
            test, compare = rng.choice([("slt", np.less), ("sge", np.greater_equal),
                                        ("eq", np.equal)])
            flag = f"%f{len(lines)}"
            lines.append(f"{flag} = arith.cmpi {test}, {name}, {other} : i{bits}")
            out = f"%t{len(lines)}"
            lines.append(f"{out} = arith.select {flag}, {name}, {other} : i{bits}")
            return out, np.where(compare(array, value), array, value), bits
        return name, array, bits

    @staticmethod
    def extend(lines, name, bits, wide):
        if bits == wide:
            return name
        out = f"%w{len(lines)}"
        lines.append(f"{out} = arith.extsi {name} : i{bits} to i{wide}")
        return out

    def loops_of(self, tensor):
        return ["n"] + [f"x{i}" for i in range(len(tensor.shape) - 1)]

    def param_inputs(self, tensor, loops):
        """Constants beside the tensor: for each channel, each position, or one
        for all. Operands with indices, and (name, bits, array) of each."""
        inputs, params = [], []
        channel = len(loops) - 1 if self.channels_last else min(1, len(loops) - 1)
        for letter in "bc"[:self.rng.choice([0, 0, 1, 1, 2])]:
            bits = self.rng.randint(2, 10)
            axes = self.rng.choice([[channel], [channel], [], list(range(len(loops)))])
            array = self.integers([tensor.shape[axis] for axis in axes], bits)
            spread = [tensor.shape[axis] if axis in axes else 1
                      for axis in range(len(loops))]
            inputs.append((self.constant(array, bits), bare(*(loops[a] for a in axes))))
            params.append((f"%{letter}", bits, array.reshape(spread)))
        return inputs, params

    def elementwise(self, tensor, last_bits=None):
        """A chain of scalar ops; with `last_bits` it ends in that width. One
        that gives the same for all frames is drawn again: it may fold to
        constants, which no kernel computes."""
        for _ in range(20):
            result = self.scalar_chain(tensor, last_bits)
            if not np.array_equal(*result.array):
                return result
        self.may_reject = True
        return result

    def scalar_chain(self, tensor, last_bits):
        loops = self.loops_of(tensor)
        inputs, params = self.param_inputs(tensor, loops)
        name, array, bits, lines = "%a", tensor.array, tensor.bits, []
        for _ in range(self.rng.randint(1, 4)):
            name, array, bits = self.scalar_step(lines, name, array, bits, params)
        if last_bits and bits > last_bits:
            amount = self.rng.randint(0, bits - last_bits)
            lines.append(f"%by = arith.constant {amount} : i{bits}")
            lines.append(f"%down = arith.shrsi {name}, %by : i{bits}")
            lines.append(f"%cut = arith.trunci %down : i{bits} to i{last_bits}")
            name, array, bits = "%cut", wrap(array >> amount, last_bits), last_bits
        lines.append(f"linalg.yield {name} : i{bits}")
        array = np.broadcast_to(array, tensor.array.shape)
        empty = self.emit(f"tensor.empty() : {tensor_type(tensor.shape, bits)}")
        init = Tensor(empty, bits, array[:1])
        index = bare(*loops)
        result = self.generic([(tensor, index), *inputs], (init, index), loops, lines)
        return Tensor(result, bits, array)

    def join(self, a, b):
        """The sum or maximum of two tensors of equal shape."""
        bits = max(a.bits, b.bits) + self.rng.randint(0, 1)
        loops, lines = self.loops_of(a), []
        left = self.extend(lines, "%a", a.bits, bits)
        right = self.extend(lines, "%b", b.bits, bits)
        op, apply = self.rng.choice([("addi", np.add), ("maxsi", np.maximum),
                                     ("subi", np.subtract)])
        lines += [f"%s = arith.{op} {left}, {right} : i{bits}",
                  f"linalg.yield %s : i{bits}"]
        array = wrap(apply(a.array, b.array), bits)
        init = Tensor(self.emit(f"tensor.empty() : {tensor_type(a.shape, bits)}"),
                      bits, array[:1])
        index = bare(*loops)
        name = self.generic([(a, index), (b, index)], (init, index), loops, lines)
        return Tensor(name, bits, array)

    # Whole functions.

    def make_input(self):
        longest = {1: 16, 2: 8, 3: 5}[self.rank]
        space = [self.rng.randint(1, longest) for _ in range(self.rank)]
        batch = 2 if self.chance(0.1) else 1
        channels = self.rng.choice([1, 2, 3, 4, 4, 6, 8])
        shape = self.place(batch, space, channels)
        return self.argument(shape, self.rng.randint(2, 16))

    def layer(self, tensor):
        kinds = [self.conv] * 6 + [self.depthwise, self.grouped, self.pool, self.diamond] * 2
        kinds += [self.elementwise] * 4 + [self.channel_sum, self.subsample, self.join_input]
        return self.rng.choice(kinds)(tensor)

    def join_input(self, tensor):
        other = self.argument(tensor.shape, self.rng.randint(2, 8))
        if self.chance(0.3):
            other = self.elementwise(other)
        return self.join(*self.rng.sample([tensor, other], 2))

    def same_windows(self, tensor):
        """Windows whose positions are the input's own."""
        windows = []
        for size in self.space_of(tensor):
            kernel = self.rng.choice([1, 2, 3])
            dilation = self.rng.choice([1, 1, 2])
            room = (kernel - 1) * dilation
            low = self.rng.randint(0, room)
            windows.append((kernel, 1, dilation, [low, room - low], size))
        return windows

    def diamond(self, tensor):
        """Two branches of the same shape, joined; one may be the input itself."""
        channels = self.channels_of(tensor)
        left = self.narrow(self.conv(tensor, channels, self.same_windows(tensor)))
        right = tensor
        if self.chance(0.5):
            right = self.narrow(self.conv(tensor, channels, self.same_windows(tensor)))
        elif self.chance(0.4):
            right = self.elementwise(tensor)
        return self.join(left, right)

    def narrow(self, tensor):
        """Back to few bits, as a quantizer does."""
        if tensor.bits <= 8 and self.chance(0.5):
            return tensor
        return self.elementwise(tensor, self.rng.randint(2, 10))

    def too_big(self, tensor):
        return tensor.array.size > MAX_WORK // 100

    def build(self):
        if self.chance(0.12):
            rows, depth = self.rng.randint(1, 4), self.rng.randint(1, 12)
            self.channels_last = True
            tensor = self.argument((rows, depth), self.rng.randint(2, 12))
            for _ in range(self.rng.randint(1, 3)):
                tensor = self.narrow(self.matmul(tensor))
            return [tensor]
        tensor, results = self.make_input(), []
        for _ in range(self.rng.randint(1, 4)):
            tensor = self.layer(tensor)
            if self.too_big(tensor):
                break
            if self.chance(0.7):
                tensor = self.narrow(tensor)
            if self.chance(0.08):
                results.append(tensor)
        if self.chance(0.2):
            tensor = self.narrow(self.global_sum(tensor))
        if self.chance(0.15):
            tensor = self.narrow(self.matmul(self.flattened(tensor)))
        if not results or results[-1] is not tensor:
            results.append(tensor)
        return results

    def model(self, name):
        results = self.build()
        args = ", ".join(f"{arg.name}: {arg.type}" for arg in self.args)
        kinds = ", ".join(tensor.type for tensor in results)
        names = ", ".join(tensor.name for tensor in results)
        text = "\n  ".join([f"func.func @net({args}) -> ({kinds}) {{", *self.lines,
                            f"return {names} : {kinds}"]) + "\n}\n"
        return LinalgModel(name, text, [merged(arg) for arg in self.args],
                           [merged(tensor) for tensor in results], self.may_reject)


def merged(tensor):
    """The values with frames and first dimension as one axis; i1 is 0 or 1."""
    array = np.ascontiguousarray(np.broadcast_to(
        tensor.array, (FRAMES, *tensor.array.shape[1:])))
    if tensor.bits == 1:
        array = array & 1
    return array.reshape((-1, *array.shape[2:]))


def generate(seed, index):
    """The LinalgModel number `index` of `seed`."""
    return FunctionGenerator(random.Random(f"{seed}/{index}")).model(f"linalg-{index}")


def write_model(model, folder):
    """Writes model.mlir, input0.npy, … and output0.npy, …."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.mlir").write_text(model.text)
    for kind, arrays in (("input", model.inputs), ("output", model.expected)):
        for number, array in enumerate(arrays):
            np.save(folder / f"{kind}{number}.npy", array)


def write_all(description, generate_one, describe):
    """The command line of a generator: writes models and prints a line for each."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    args = parser.parse_args()
    print(f"seed {args.seed}")
    for index in range(args.first, args.first + args.count):
        model = generate_one(args.seed, index)
        write_model(model, args.output / model.name)
        print(f"{model.name}: {describe(model)}")


def describe_shapes(model):
    return (f"{[array.shape for array in model.inputs]} -> "
            f"{[array.shape for array in model.expected]}")


def main():
    write_all("Write random linalg functions.", generate, describe_shapes)


if __name__ == "__main__":
    main()
