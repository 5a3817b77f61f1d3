"""Builds small QONNX models node by node and serializes them.

Weights, biases and activations are quantized by Quant nodes as exporters write
them: scale, zero point and bit width are inputs of the node.
"""
import numpy as np

import onnx_file

QUANT_DOMAIN = "qonnx.custom_op.general"


def value_info(name, shape, elem_type=onnx_file.FLOAT):
    """A ValueInfo message. Dimensions are integers or names; None as the
    shape leaves the shape out."""
    tensor_type = {"elem_type": elem_type}
    if shape is not None:
        dims = [{"dim_param": dim} if isinstance(dim, str) else {"dim_value": dim}
                for dim in shape]
        tensor_type["shape"] = {"dim": dims}
    return {"name": name, "type": {"tensor_type": tensor_type}}


class QonnxBuilder:
    """A model under construction. `graph` is the Graph message and may be
    edited at will; names of values are chosen by `fresh`.

    `constants` says how constants are stored: "raw" or "typed" initializers or
    "node" for Constant nodes. `param_shape` is the shape of the parameters of
    a per-tensor Quant, () or (1,)."""

    def __init__(self, name, constants="raw", param_shape=()):
        self.graph = {"name": name, "node": [], "initializer": [],
                      "input": [], "output": []}
        self.constants, self.param_shape = constants, param_shape
        self.count = 0

    def fresh(self, hint):
        self.count += 1
        return f"{hint}_{self.count}"

    def input(self, name, shape, elem_type=onnx_file.FLOAT):
        self.graph["input"].append(value_info(name, shape, elem_type))
        return name

    def output(self, name, shape, elem_type=onnx_file.FLOAT):
        self.graph["output"].append(value_info(name, shape, elem_type))

    def constant(self, hint, array):
        """A constant; returns its name."""
        name = self.fresh(hint)
        tensor = onnx_file.tensor_from_array(name, array, self.constants != "typed")
        if self.constants == "node":
            return self.node("Constant", [], {"value": tensor}, result=name)
        self.graph["initializer"].append(tensor)
        return name

    def node(self, op_type, inputs, attrs=None, domain="", result=None):
        """Appends a node with one result and returns the result's name."""
        result = result or self.fresh(op_type.lower())
        attributes = [onnx_file.attribute(name, value)
                      for name, value in (attrs or {}).items()]
        self.graph["node"].append({
            "op_type": op_type, "domain": domain, "name": result,
            "input": list(inputs), "output": [result], "attribute": attributes})
        return result

    def quant_param(self, hint, value):
        array = np.asarray(value, np.float32)
        return self.constant(hint, array if array.ndim
                             else array.reshape(self.param_shape))

    def quant(self, x, scale, bits, signed=True, narrow=False, zero=0.0,
              rounding="ROUND", result=None):
        """A Quant node; `scale` is a float or an array that broadcasts."""
        params = [self.quant_param("scale", scale),
                  self.quant_param("zeropt", zero),
                  self.quant_param("bits", bits)]
        attrs = {"signed": int(signed), "narrow": int(narrow),
                 "rounding_mode": rounding}
        return self.node("Quant", [x] + params, attrs, QUANT_DOMAIN, result)

    def model(self, opset=14):
        """The whole Model message."""
        return {"ir_version": 7, "producer_name": "ming", "graph": self.graph,
                "opset_import": [{"domain": "", "version": opset},
                                 {"domain": QUANT_DOMAIN, "version": 1}]}

    def serialize(self):
        return onnx_file.encode("Model", self.model())
