"""Random float networks with the outputs that numpy gives them: those of
gen_qdq.py without their quantizers and with floats as weights, and layers with
products of tensors.
"""
import numpy as np

import gen_qdq
from gen_qdq import F32, Tensor


class FloatNetwork(gen_qdq.Network):
    def quantized(self, tensor, even=False):
        return tensor

    def branch(self, tensor):
        return self.pointwise(tensor)

    def weights(self, shape, axis):
        """A constant whose channels differ in size; its floats."""
        spread = [1] * len(shape)
        spread[axis] = shape[axis]
        fan_in = max(1, int(np.prod(shape)) // shape[axis])
        sizes = self.numpy.uniform(0.3, 1.5, spread) / np.sqrt(fan_in)
        real = (self.numpy.standard_normal(shape) * sizes).astype(F32)
        return self.constant(real), real

    def sigmoid(self, tensor):
        y = 1 / (1 + np.exp(-tensor.value.astype(np.float64)))
        return Tensor(self.node("Sigmoid", [tensor.name]), y.astype(F32))

    def product(self, a, b):
        return Tensor(self.node("Mul", [a.name, b.name]), a.value * b.value)

    def swish(self, tensor):
        return self.product(tensor, self.sigmoid(tensor))

    def squeeze_and_excite(self, tensor):
        return self.product(tensor, self.sigmoid(self.pointwise(self.average(tensor))))

    def shifted(self, tensor):
        """Less a mean and over a deviation, as networks treat images."""
        mean, deviation = F32(self.rng.uniform(-1, 1)), F32(self.rng.uniform(0.5, 2))
        name = self.node("Sub", [tensor.name, self.constant(np.array(mean))])
        name = self.node("Div", [name, self.constant(np.array(deviation))])
        return Tensor(name, ((tensor.value - mean) / deviation).astype(F32))

    def layer(self, tensor):
        kind = self.rng.choice([None, None, None, self.swish, self.squeeze_and_excite,
                                self.shifted])
        return kind(tensor) if kind else super().layer(tensor)


def generate(seed, frames=8):
    """(input, expected output, bytes of the model)"""
    return FloatNetwork(seed, frames).build()
