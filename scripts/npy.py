#!/usr/bin/env python3
"""Small helpers for .npy files that need Python's standard library only.

    npy.py random MODEL TOOLS FILE   one random input for MODEL, in its shape
    npy.py show FILE                 the values, one line per frame
    npy.py compare FILE EXPECTED     exits with 1 unless the values are equal
"""
import array
import ast
import math
import random
import re
import struct
import subprocess
import sys
import tempfile

SEED = 1
SHOWN = 16      # values of a frame that are printed

# Letters of Python's array module for the types of numpy.
TYPECODES = {"f4": "f", "f8": "d", "i1": "b", "i2": "h", "i4": "i", "i8": "q",
             "u1": "B", "u2": "H", "u4": "I", "u8": "Q"}


def write_npy(path, descr, shape, values):
    header = (f"{{'descr': '<{descr}', 'fortran_order': False, "
              f"'shape': ({', '.join(map(str, shape))},), }}")
    header += " " * (-(len(header) + 11) % 64) + "\n"
    data = array.array(TYPECODES[descr], values)
    if sys.byteorder == "big":
        data.byteswap()
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode("latin-1") + data.tobytes())


def read_npy(path):
    """The shape and the flat values, in row-major order."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:6] != b"\x93NUMPY":
        sys.exit(f"error: {path} is no .npy file")
    size_format = "<H" if data[6] == 1 else "<I"
    start = 8 + struct.calcsize(size_format)
    size, = struct.unpack_from(size_format, data, 8)
    header = ast.literal_eval(data[start:start + size].decode("latin-1"))
    if header["fortran_order"] or header["descr"][1:] not in TYPECODES:
        sys.exit(f"error: {path} has an unexpected layout: {header}")
    values = array.array(TYPECODES[header["descr"][1:]], data[start + size:])
    if (header["descr"][0] == ">") != (sys.byteorder == "big"):
        values.byteswap()
    return header["shape"], values


def input_type(model, tools):
    """Shape and element type of the model's input, from its imported form."""
    text = ""
    if model.endswith(".onnx"):
        with tempfile.NamedTemporaryFile("r", suffix=".mir") as file:
            command = [f"{tools}/ming-translate", "--import-onnx", model]
            subprocess.run([*command, "-o", file.name], check=True)
            text = file.read()
    else:
        with open(model, encoding="utf-8") as file:
            text = file.read()
    found = re.search(r'func\.func\b[^@]*@(?:"[^"]*"|[^("\s]+)'
                      r"\(%\w+: tensor<((?:\d+x)+)([a-z]+\d+)", text)
    if not found:
        sys.exit(f"error: cannot tell the shape of the input of {model}")
    return [int(dim) for dim in found[1].split("x")[:-1]], found[2]


def random_values(rng, element, count):
    """Reals in [-1, 1) for floats, any value for integers; and their type."""
    if element in ("f32", "f64", "f16", "bf16"):
        return "f4", [rng.random() * 2 - 1 for _ in range(count)]
    bits = int(re.search(r"\d+", element)[0])
    width = next(width for width in (8, 16, 32, 64) if width >= bits)
    if element.startswith("ui"):
        return f"u{width // 8}", [rng.getrandbits(bits) for _ in range(count)]
    half = 1 << (bits - 1)
    return f"i{width // 8}", [rng.getrandbits(bits) - half for _ in range(count)]


def make_random(model, tools, path):
    shape, element = input_type(model, tools)
    descr, values = random_values(random.Random(SEED), element, math.prod(shape))
    write_npy(path, descr, shape, values)
    print(f"Input: random {element} in the shape {'x'.join(map(str, shape))} "
          f"(seed {SEED})")


def show(path):
    shape, values = read_npy(path)
    frames = shape[0] if shape else 1
    size = len(values) // frames if frames else 0
    print(f"Output {'x'.join(map(str, shape))} in {path}:")
    for frame in range(frames):
        row = values[frame * size:(frame + 1) * size]
        more = f" ... {size - SHOWN} more" if size > SHOWN else ""
        texts = (f"{v:.9g}" if isinstance(v, float) else str(v)
                 for v in row[:SHOWN])
        print(f"  frame {frame}:", " ".join(texts) + more)


def compare(path, expected_path):
    _, values = read_npy(path)
    _, expected = read_npy(expected_path)
    if len(values) != len(expected):
        sys.exit(f"error: {len(values)} values, expected {len(expected)}")
    wrong = sum(a != b for a, b in zip(values, expected))
    if wrong:
        sys.exit(f"error: {wrong} of {len(values)} values differ from {expected_path}")
    print(f"All {len(values)} values equal {expected_path}.")


COMMANDS = {"random": (make_random, 3), "show": (show, 1), "compare": (compare, 2)}


def main(args):
    command, count = COMMANDS.get(args[0] if args else "", (None, 0))
    if not command or len(args) != count + 1:
        sys.exit(__doc__)
    command(*args[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
