#!/usr/bin/env python3
"""Small helpers for .npy files that need Python's standard library only.

    npy.py show FILE                 the values, one line per frame
    npy.py compare FILE EXPECTED     exits with 1 unless the values are equal
    npy.py write FILE TYPE SHAPE     makes FILE of integers from standard input: write x.npy i1 3,4
"""
import array
import ast
import struct
import sys

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


def write(path, descr, shape):
    write_npy(path, descr, [int(extent) for extent in shape.split(",")],
              [int(word) for word in sys.stdin.read().split()])


COMMANDS = {"show": (show, 1), "compare": (compare, 2), "write": (write, 3)}


def main(args):
    command, count = COMMANDS.get(args[0] if args else "", (None, 0))
    if not command or len(args) != count + 1:
        sys.exit(__doc__)
    command(*args[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
