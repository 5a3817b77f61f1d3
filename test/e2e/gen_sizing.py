"""Random graphs whose FIFOs matter: chains, diamonds with a long branch, residual
blocks in residual blocks, branches at another rate (pooled and enlarged again,
beside one that is not), windows in windows, concatenations, several inputs and outputs. Inputs and
exact outputs come with them; a graph depends on nothing but the seed and its
index.

    gen_sizing.py [--seed N] [--first N] [--count N] -o DIR
"""
import dataclasses
import random

import numpy as np

from gen_graphs import GraphGenerator
from gen_linalg import Tensor, affine_map, describe_shapes, parallel, tensor_type, write_all


class SizingGenerator(GraphGenerator):
    """One graph under construction."""

    def __init__(self, rng):
        super().__init__(rng)
        self.rank = rng.choice([1, 2, 2])
        self.channels_last = True
        self.windows = None             # of the next pooling

    def make_input(self):
        space = [self.rng.choice({1: [8, 12, 24], 2: [4, 6, 8]}[self.rank])
                 for _ in range(self.rank)]
        return self.argument(self.place(1, space, self.rng.choice([1, 2, 3, 4])),
                             self.rng.randint(2, 8))

    def pick_windows(self, tensor):
        return self.windows or super().pick_windows(tensor)

    def narrow(self, tensor):
        return self.elementwise(tensor, self.rng.randint(2, 8))

    # Rates.

    def pool_by(self, tensor, factor):
        self.windows = [(factor, factor, 1, [0, 0], size // factor)
                        for size in self.space_of(tensor)]
        result = self.pool(tensor)
        self.windows = None
        return result

    def enlarge(self, tensor, factor):
        """Each position `factor` times in each dimension."""
        array = tensor.array
        for axis in range(self.rank):
            array = np.repeat(array, factor, axis=2 + axis)
        loops = self.loops_of(tensor)
        source = affine_map(loops, [[(loop, 1)] for loop in loops])
        dims = source[source.index("->") + 4:-2].split(", ")
        parts = [f"{dim} floordiv {factor}" if 1 <= i <= self.rank else dim
                 for i, dim in enumerate(dims)]
        target = affine_map(loops, [[(loop, 1)] for loop in loops])
        kind = tensor_type(array.shape[1:], tensor.bits)
        kinds = ", ".join('"parallel"' for loop in loops if parallel(loop))
        empty = self.emit(f"tensor.empty() : {kind}")
        name = self.emit(
            f"linalg.generic {{indexing_maps = [affine_map<({', '.join(dims)}) -> "
            f"({', '.join(parts)})>, {target}], iterator_types = [{kinds}]}} "
            f"ins({tensor.name} : {tensor.type}) outs({empty} : {kind}) {{\n"
            f"    ^bb0(%a: i{tensor.bits}, %acc: i{tensor.bits}):\n"
            f"    linalg.yield %a : i{tensor.bits}\n    }} -> {kind}")
        return Tensor(name, tensor.bits, array)

    def slower(self, tensor, _depth):
        """A branch at a lower rate, joined with what it came from."""
        factors = [f for f in (2, 3, 4) if all(n % f == 0 for n in self.space_of(tensor))]
        if not factors:
            return self.long_skip(tensor, 0)
        factor = self.rng.choice(factors)
        low = self.narrow(self.pool_by(tensor, factor))
        if self.chance(0.5):
            low = self.same_conv(low)
        right = self.same_conv(tensor) if self.chance(0.3) else tensor
        return self.narrow(self.join(self.enlarge(low, factor), right))

    # Skips.

    def long_skip(self, tensor, _depth):
        """Windows behind each other, joined with their input."""
        left = tensor
        for _ in range(self.rng.randint(2, 4)):
            left = self.same_conv(left)
        return self.narrow(self.join(left, tensor))

    def centred(self, tensor, kernel, stride):
        """Windows of `kernel` taps around each position."""
        border = (kernel - 1) // 2
        return [(kernel, stride, 1, [border, border], (size - 1) // stride + 1)
                for size in self.space_of(tensor)]

    def shared(self, tensor, _depth):
        """Windows that lie in windows, joined; with the input, where that is as large."""
        stride, channels = self.rng.choice([1, 1, 2]), self.channels_of(tensor)
        joined = tensor if stride == 1 and self.chance(0.5) else None
        for kernel in self.rng.sample([1, 3, 5], self.rng.randint(2, 3)):
            part = self.narrow(self.conv(tensor, channels, self.centred(tensor, kernel, stride)))
            joined = self.narrow(self.join(joined, part)) if joined else part
        return joined

    def build(self):
        tensor, results = self.make_input(), []
        pieces = self.rng.sample(list(KINDS), self.rng.randint(1, 2))
        self.kind = "-".join(pieces)
        for piece in pieces:
            tensor = KINDS[piece](self, tensor, 2)
            if self.chance(0.3):
                results.append(tensor)
        if not results or results[-1] is not tensor:
            results.append(tensor)
        return results


KINDS = {
    "chain": GraphGenerator.chain,
    "skip": SizingGenerator.long_skip,
    "residual": GraphGenerator.residual,
    "shared": SizingGenerator.shared,
    "rates": SizingGenerator.slower,
    "concat": GraphGenerator.inception,
    "split": GraphGenerator.split,
    "inputs": GraphGenerator.second_input,
}


def generate(seed, index):
    """The LinalgModel number `index` of `seed`."""
    generator = SizingGenerator(random.Random(f"sizing/{seed}/{index}"))
    model = generator.model("")
    return dataclasses.replace(model, name=f"{generator.kind}-{index}")


def main():
    write_all("Write random graphs.", generate, describe_shapes)


if __name__ == "__main__":
    main()
