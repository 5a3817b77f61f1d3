"""ONNX files without the onnx package: a protobuf reader and writer driven by
one table of the messages and fields that the tests use.

A message is a dict from field name to value; repeated fields are lists and
absent ones are left out. Fields that the table does not name are skipped when
read. Arrays go through tensor_from_array and array_from_tensor.
"""
import struct

import numpy as np

# Per message: field number, name, kind. A kind is int, float, double, str,
# bytes or the name of a message; a star in front marks a repeated field.
MESSAGES = {
    "Model": [(1, "ir_version", "int"), (2, "producer_name", "str"),
              (6, "doc_string", "str"),
              (7, "graph", "Graph"), (8, "opset_import", "*Opset"),
              (25, "functions", "*Function")],
    "Function": [(1, "name", "str"), (4, "input", "*str"),
                 (5, "output", "*str"), (6, "attribute", "*str"),
                 (7, "node", "*Node"), (9, "opset_import", "*Opset"),
                 (10, "domain", "str")],
    "Opset": [(1, "domain", "str"), (2, "version", "int")],
    "Graph": [(1, "node", "*Node"), (2, "name", "str"),
              (5, "initializer", "*Tensor"), (10, "doc_string", "str"), (11, "input", "*ValueInfo"),
              (12, "output", "*ValueInfo"), (13, "value_info", "*ValueInfo"),
              (14, "quantization_annotation", "*Annotation"),
              (15, "sparse_initializer", "*SparseTensor")],
    "Annotation": [(1, "tensor_name", "str"), (2, "quant_parameter_tensor_names", "*Entry")],
    "SparseTensor": [(1, "values", "Tensor"), (2, "indices", "Tensor"),
                     (3, "dims", "*int")],
    "Node": [(1, "input", "*str"), (2, "output", "*str"), (3, "name", "str"),
             (4, "op_type", "str"), (5, "attribute", "*Attribute"),
             (6, "doc_string", "str"), (7, "domain", "str")],
    "Attribute": [(1, "name", "str"), (2, "f", "float"), (3, "i", "int"),
                  (4, "s", "bytes"), (5, "t", "Tensor"), (6, "g", "Graph"),
                  (7, "floats", "*float"), (8, "ints", "*int"),
                  (9, "strings", "*bytes"), (20, "type", "int")],
    "Tensor": [(1, "dims", "*int"), (2, "data_type", "int"),
               (4, "float_data", "*float"), (5, "int32_data", "*int"),
               (6, "string_data", "*bytes"), (7, "int64_data", "*int"),
               (8, "name", "str"), (9, "raw_data", "bytes"),
               (10, "double_data", "*double"), (11, "uint64_data", "*int"),
               (13, "external_data", "*Entry"),
               (14, "data_location", "int")],
    "Entry": [(1, "key", "str"), (2, "value", "str")],
    "ValueInfo": [(1, "name", "str"), (2, "type", "Type"), (3, "doc_string", "str")],
    "Type": [(1, "tensor_type", "TensorType")],
    "TensorType": [(1, "elem_type", "int"), (2, "shape", "Shape")],
    "Shape": [(1, "dim", "*Dim")],
    "Dim": [(1, "dim_value", "int"), (2, "dim_param", "str")],
}

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
SCALAR_WIRE = {"int": VARINT, "double": FIXED64, "float": FIXED32}

# TensorProto.DataType, the numpy type, and the field for values that are not
# in raw_data.
TENSOR_TYPES = {
    1: (np.float32, "float_data"), 2: (np.uint8, "int32_data"),
    3: (np.int8, "int32_data"), 4: (np.uint16, "int32_data"),
    5: (np.int16, "int32_data"), 6: (np.int32, "int32_data"),
    7: (np.int64, "int64_data"), 9: (np.bool_, "int32_data"),
    11: (np.float64, "double_data"), 12: (np.uint32, "uint64_data"),
    13: (np.uint64, "uint64_data"),
}
FLOAT, INT8, INT64, STRING, DOUBLE = 1, 3, 7, 8, 11

# AttributeProto.AttributeType by the field that holds the value.
ATTRIBUTE_TYPES = {"f": 1, "i": 2, "s": 3, "t": 4, "g": 5,
                   "floats": 6, "ints": 7, "strings": 8}


class OnnxError(Exception):
    """The bytes are not a well-formed protobuf message."""


# Writing.

def varint(value):
    """`value` (negative ones as 64-bit two's complement) as a varint."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_payload(kind, value):
    if kind == "int":
        return varint(value)
    if kind == "float":
        return struct.pack("<f", value)
    if kind == "double":
        return struct.pack("<d", value)
    if kind == "str":
        data = value.encode("utf-8", "surrogateescape")
    elif kind == "bytes":
        data = value
    else:
        data = encode(kind, value)
    return varint(len(data)) + data


def encode(message, values):
    """The dict `values` as the bytes of a protobuf `message`."""
    unknown = set(values) - {name for _, name, _ in MESSAGES[message]}
    if unknown:
        raise KeyError(f"{message} has no field {sorted(unknown)}")
    out = bytearray()
    for number, name, kind in MESSAGES[message]:
        if name not in values:
            continue
        repeated, kind = kind[0] == "*", kind.lstrip("*")
        wire = SCALAR_WIRE.get(kind, LENGTH)
        for value in values[name] if repeated else [values[name]]:
            out += varint(number << 3 | wire) + encode_payload(kind, value)
    return bytes(out)


# Reading.

class Cursor:
    """A position in a byte string; reading past its end is an OnnxError."""

    def __init__(self, data):
        self.data, self.pos = data, 0

    def at_end(self):
        return self.pos >= len(self.data)

    def take(self, count):
        if count > len(self.data) - self.pos:
            raise OnnxError(f"truncated at byte {self.pos}")
        self.pos += count
        return self.data[self.pos - count:self.pos]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 63:
                raise OnnxError(f"varint too long at byte {self.pos}")

    def payload(self, wire):
        """The raw value of one field: an int, or bytes for all but varints."""
        if wire == VARINT:
            return self.varint()
        if wire == LENGTH:
            return self.take(self.varint())
        if wire in (FIXED32, FIXED64):
            return self.take(4 if wire == FIXED32 else 8)
        raise OnnxError(f"unknown wire type {wire} at byte {self.pos}")


def decode_scalar(kind, raw):
    if kind == "int":
        return raw - (1 << 64) if raw >> 63 else raw
    return struct.unpack("<f" if kind == "float" else "<d", raw)[0]


def decode_field(kind, wire, raw):
    """The values of one field occurrence; several when it is packed."""
    if kind in SCALAR_WIRE:
        if wire != LENGTH:
            return [decode_scalar(kind, raw)]
        cursor, values = Cursor(raw), []
        while not cursor.at_end():
            item = cursor.payload(SCALAR_WIRE[kind])
            values.append(decode_scalar(kind, item))
        return values
    if kind == "str":
        return [raw.decode("utf-8", "surrogateescape")]
    return [raw if kind == "bytes" else decode(kind, raw)]


def decode(message, data):
    """The protobuf `message` in the bytes `data` as a dict."""
    fields = {number: (name, kind) for number, name, kind in MESSAGES[message]}
    values, cursor = {}, Cursor(data)
    while not cursor.at_end():
        tag = cursor.varint()
        raw = cursor.payload(tag & 7)
        if tag >> 3 not in fields:
            continue
        name, kind = fields[tag >> 3]
        items = decode_field(kind.lstrip("*"), tag & 7, raw)
        if kind[0] == "*":
            values.setdefault(name, []).extend(items)
        else:
            values[name] = items[-1]
    return values


def read_model(path):
    with open(path, "rb") as file:
        return decode("Model", file.read())


# Tensors and attributes.

def tensor_from_array(name, array, raw=True):
    """A Tensor message; `raw` chooses raw_data over the typed field."""
    array = np.asarray(array)
    number, field = next((number, field)
                         for number, (dtype, field) in TENSOR_TYPES.items()
                         if array.dtype == dtype)
    tensor = {"name": name, "data_type": number, "dims": list(array.shape)}
    if raw:
        tensor["raw_data"] = array.astype(array.dtype.newbyteorder("<")).tobytes()
    else:
        tensor[field] = array.ravel().tolist()
    return tensor


def array_from_tensor(tensor):
    dtype, field = TENSOR_TYPES[tensor["data_type"]]
    if "raw_data" in tensor:
        flat = np.frombuffer(tensor["raw_data"],
                             np.dtype(dtype).newbyteorder("<"))
    else:
        flat = np.array(tensor.get(field, []), dtype)
    return flat.reshape(tensor.get("dims", []))


def attribute(name, value):
    """An Attribute message whose type follows from the Python value."""
    if isinstance(value, (list, tuple)):
        field = "floats" if any(isinstance(v, float) for v in value) else "ints"
        value = list(value)
    elif isinstance(value, str):
        field, value = "s", value.encode()
    elif isinstance(value, float):
        field = "f"
    elif isinstance(value, dict):
        field = "t"
    else:
        field = "i"
    return {"name": name, field: value, "type": ATTRIBUTE_TYPES[field]}


def attribute_value(attr):
    """The Python value of an Attribute message; strings as str."""
    for field, number in ATTRIBUTE_TYPES.items():
        if attr.get("type") == number or "type" not in attr and field in attr:
            empty = [] if field.endswith("s") and field != "s" else None
            value = attr.get(field, empty)
            return value.decode() if field == "s" else value
    raise OnnxError(f"attribute {attr.get('name')!r} has no known type")
