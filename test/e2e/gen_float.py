"""Random float networks with the outputs that numpy gives them: those of
gen_qdq.py without their quantizers, with floats as weights.
"""
import numpy as np

import gen_qdq


class FloatNetwork(gen_qdq.Network):
    def quantized(self, tensor, even=False):
        return tensor

    def weights(self, shape, axis):
        """A constant whose channels differ in size; its floats."""
        spread = [1] * len(shape)
        spread[axis] = shape[axis]
        fan_in = max(1, int(np.prod(shape)) // shape[axis])
        sizes = self.numpy.uniform(0.3, 1.5, spread) / np.sqrt(fan_in)
        real = (self.numpy.standard_normal(shape) * sizes).astype(np.float32)
        return self.constant(real), real


def generate(seed, frames=8):
    """(input, expected output, bytes of the model)"""
    return FloatNetwork(seed, frames).build()
