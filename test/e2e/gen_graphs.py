"""Random graphs of a few linalg kernels with inputs and exact expected outputs.

Chains, diamonds, residual blocks in residual blocks, branches that are split
off and concatenated, several inputs and outputs. The kernels and their values
are those of gen_linalg.py. A graph depends on nothing but the seed and its
index.

    gen_graphs.py [--seed N] [--first N] [--count N] -o DIR
"""
import dataclasses
import random

import numpy as np

from gen_linalg import (FunctionGenerator, Tensor, describe_shapes, tensor_type,
                        write_all)

MAX_ELEMENTS = 1500                     # of a tensor


class GraphGenerator(FunctionGenerator):
    """One graph under construction."""

    def small(self, tensor):
        return tensor.array[0].size <= MAX_ELEMENTS

    def same_conv(self, tensor, channels=None):
        """A convolution that keeps the positions, quantized."""
        channels = channels or self.channels_of(tensor)
        return self.narrow(self.conv(tensor, channels, self.same_windows(tensor)))

    def branch(self, tensor, depth):
        """Kernels that keep the shape; with some depth left, a block inside."""
        for _ in range(self.rng.randint(1, 2)):
            if depth and self.chance(0.5):
                tensor = self.residual(tensor, depth - 1)
            else:
                tensor = self.same_conv(tensor)
        return tensor

    def residual(self, tensor, depth):
        """Two branches joined; the second may be the input itself."""
        left = self.branch(tensor, depth)
        right = tensor
        if self.chance(0.4):
            right = self.branch(tensor, depth)
        elif self.chance(0.3):
            right = self.elementwise(tensor)
        if self.chance(0.3):            # sums that no quantizer has narrowed
            left = self.conv(left, self.channels_of(left), self.same_windows(left))
        pair = [left, right]
        self.rng.shuffle(pair)
        return self.narrow(self.join(*pair))

    # Parts of the channels.

    def channel_axis(self):
        return 1 + self.rank if self.channels_last else 1

    def take(self, tensor, first, count):
        """tensor.extract_slice of `count` channels from `first` on."""
        axis = self.channel_axis()
        sizes = list(tensor.shape)
        sizes[axis] = count
        offsets = [first if i == axis else 0 for i in range(len(sizes))]
        array = np.take(tensor.array, range(first, first + count), axis=axis + 1)
        name = self.emit(f"tensor.extract_slice {tensor.name}{offsets} {sizes} "
                         f"{[1] * len(sizes)} : {tensor.type} to "
                         f"{tensor_type(sizes, tensor.bits)}")
        return Tensor(name, tensor.bits, array)

    def concat(self, tensors):
        axis = self.channel_axis()
        array = np.concatenate([tensor.array for tensor in tensors], axis=axis + 1)
        kind = tensor_type(array.shape[1:], tensors[0].bits)
        names = ", ".join(tensor.name for tensor in tensors)
        types = ", ".join(tensor.type for tensor in tensors)
        name = self.emit(f"tensor.concat dim({axis}) {names} : ({types}) -> {kind}")
        return Tensor(name, tensors[0].bits, array)

    def as_wide(self, tensor, bits):
        """The same values in `bits` bits: a kernel of its own if they differ."""
        return tensor if tensor.bits == bits else self.elementwise_to(tensor, bits)

    def elementwise_to(self, tensor, bits):
        loops = self.loops_of(tensor)
        lines = []
        name = self.extend(lines, "%a", tensor.bits, bits)
        lines.append(f"linalg.yield {name} : i{bits}")
        init = Tensor(self.emit(f"tensor.empty() : {tensor_type(tensor.shape, bits)}"), bits,
                      tensor.array[:1])
        index = [[(loop, 1)] for loop in loops]
        result = self.generic([(tensor, index)], (init, index), loops, lines)
        return Tensor(result, bits, tensor.array)

    def joined_channels(self, tensors):
        bits = max(tensor.bits for tensor in tensors)
        return self.concat([self.as_wide(tensor, bits) for tensor in tensors])

    def inception(self, tensor, _depth):
        """Branches of the same input, their channels behind each other."""
        branches = [self.same_conv(tensor, self.rng.randint(1, 4))
                    for _ in range(self.rng.randint(2, 3))]
        if self.chance(0.3):
            branches.append(tensor)
        return self.joined_channels(branches)

    def split(self, tensor, _depth):
        """Some channels take a way of their own and come back."""
        channels = self.channels_of(tensor)
        if channels < 2:
            return self.same_conv(tensor)
        first = self.rng.randint(1, channels - 1)
        parts = [self.take(tensor, 0, first), self.take(tensor, first, channels - first)]
        parts = [self.same_conv(part) if self.chance(0.7) else part for part in parts]
        if self.chance(0.4):
            parts.reverse()
        return self.joined_channels(parts)

    # Graphs.

    def chain(self, tensor, _depth):
        for _ in range(self.rng.randint(1, 3)):
            tensor = self.narrow(self.rng.choice(
                [self.conv, self.conv, self.depthwise, self.grouped, self.pool,
                 self.elementwise])(tensor))
            if not self.small(tensor):
                break
        return tensor

    def second_input(self, tensor, _depth):
        """Another argument, or two, that come in beside the first."""
        other = self.argument(tensor.shape, self.rng.randint(2, 8))
        return self.narrow(self.join(*self.rng.sample([self.branch(other, 0), tensor], 2)))

    def build(self):
        tensor, results = self.make_input(), []
        pieces = self.rng.sample(list(KINDS), self.rng.randint(1, 2))
        self.kind = pieces[0]
        for piece in pieces:
            tensor = KINDS[piece](self, tensor, 2)
            if self.chance(0.25):
                results.append(tensor)
            if not self.small(tensor):
                break
        if self.chance(0.3) or not results or results[-1] is not tensor:
            tensor = self.narrow(self.rng.choice([self.conv, self.global_sum])(tensor))
            results.append(tensor)
        return results


KINDS = {
    "chain": GraphGenerator.chain,
    "residual": GraphGenerator.residual,
    "inception": GraphGenerator.inception,
    "split": GraphGenerator.split,
    "inputs": GraphGenerator.second_input,
}


def generate(seed, index):
    """The LinalgModel number `index` of `seed`."""
    generator = GraphGenerator(random.Random(f"graph/{seed}/{index}"))
    model = generator.model("")
    return dataclasses.replace(model, name=f"{generator.kind}-graph-{index}")


def main():
    write_all("Write random graphs.", generate, describe_shapes)


if __name__ == "__main__":
    main()
