"""References of ONNX tensors to data in other files: as they should be, and as somebody writes them who
wants to read another file, to crash the compiler, or to make it wait.

Whether a reference is good is decided here, from what the specification says of location, offset and
length, and from the files: a regular one in the model's folder or below it, reached without links, that
holds the range.
"""
import dataclasses
import os
import random

import numpy as np

import onnx_file
from qonnx_builder import QonnxBuilder

COUNT = 40
SHAPE = [3, 2, 3, 3]
VALUES = (np.arange(54, dtype=np.float32) % 5 - 2).reshape(SHAPE) / 2
SIZE = VALUES.nbytes
PAD = 24                        # bytes before and behind the tensor in good.bin


@dataclasses.dataclass
class Reference:
    """Why it is bad: empty if it is good."""
    entries: list
    why: str = ""


def make_files(folder):
    """What references point to; a file of the same contents stands outside, one folder above."""
    data = bytes(PAD) + VALUES.tobytes() + bytes(PAD)
    (folder / "model" / "data").mkdir(parents=True)
    inside = folder / "model"
    for path in (folder / "good.bin", inside / "good.bin", inside / "data" / "good.bin"):
        path.write_bytes(data)
    (inside / "exact.bin").write_bytes(VALUES.tobytes())
    (inside / "empty.bin").write_bytes(b"")
    os.symlink("good.bin", inside / "link.bin")
    os.symlink(folder, inside / "up")
    os.symlink("loop.bin", inside / "loop.bin")
    os.mkfifo(inside / "pipe.bin")
    with open(inside / "sparse.bin", "wb") as file:
        file.truncate(1 << 42)


PLACES = {
    "good.bin": "", "data/good.bin": "", "exact.bin": "",
    "./good.bin": "", "data/./good.bin": "", "data/.": "folder", "./": "empty name",
    "../good.bin": "escapes", "./../good.bin": "escapes", "data/../../good.bin": "escapes", "data/../good.bin": "dots",
    "data//good.bin": "empty name", "good.bin/": "slash", "/good.bin": "absolute", "/etc/passwd": "absolute",
    "/dev/zero": "device", "/dev/stdin": "device", "/proc/self/mem": "device", "link.bin": "link",
    "up/good.bin": "link", "loop.bin": "link", "pipe.bin": "pipe", "data": "folder", ".": "folder", "": "empty",
    "none.bin": "missing", "good.bin/x": "no folder", "x" * 300: "long", "d/" * 3000 + "x": "deep",
    "empty.bin": "too short", "good.bin\0x": "zero", "file:good.bin": "URL", "GOOD.BIN": "case", "..": "folder",
    "good.bin ": "blank", "%2e%2e/good.bin": "missing", "..\\good.bin": "missing", "\x1b[2J\n": "missing",
}

# None leaves the entry out. True: those of the tensor in good.bin.
OFFSETS = {str(PAD): True, None: False, "0": False, str(PAD + PAD + 1): False, str(2 * PAD + SIZE): False,
           "-1": False, "-24": False, "+24": False, " 24": False, "24.0": False, "0x18": False, "": False,
           "18446744073709551615": False, "9223372036854775807": False, "18446744073709551640": False,
           "1" * 5000: False, "nan": False, "24\n": False}
LENGTHS = {str(SIZE): True, None: False, "0": False, str(SIZE - 1): False, str(SIZE + 4): False, "-1": False,
           "18446744073709551615": False, "4611686018427387904": False, "2e2": False, "": False, "9" * 400: False}


def draw(rng):
    """Mostly with one thing wrong, as a check that comes first would hide the others."""
    wrong = rng.choice(("place", "offset", "length", "nothing", "all"))

    def pick(table, is_free, good):
        return rng.choice(list(table)) if is_free else good

    place = pick(PLACES, wrong in ("place", "all"), rng.choice(("good.bin", "data/good.bin", "./good.bin")))
    is_exact = place == "exact.bin"
    offset = pick(OFFSETS, wrong in ("offset", "all"), "0" if is_exact else str(PAD))
    length = pick(LENGTHS, wrong in ("length", "all"), str(SIZE))
    whys = [PLACES[place]] if PLACES[place] else []
    if is_exact:
        whys += [] if offset in ("0", None) and length in (str(SIZE), None) else ["range"]
    elif not (OFFSETS[offset] and LENGTHS[length]):
        # Elsewhere in the file is a good range of other numbers.
        is_range = offset in (None, "0") and LENGTHS[length]
        whys += [] if is_range else ["range"]
    entries = [("location", place), ("offset", offset), ("length", length)]
    rng.shuffle(entries)
    why = "zero" if "\0" in place else ", ".join(whys)     # the whole file is refused
    return Reference([entry for entry in entries if entry[1] is not None], why)


def references(seed):
    rng = random.Random(f"{seed}/external")
    yield Reference([("location", "exact.bin")])
    yield Reference([("location", "sparse.bin"), ("offset", str(1 << 41)), ("length", str(SIZE))])
    yield Reference([("location", "sparse.bin")], "range")
    yield Reference([], "no location")
    yield Reference([("offset", str(PAD)), ("length", str(SIZE))], "no location")
    yield Reference([("location", "good.bin\0x"), ("offset", str(PAD)), ("length", str(SIZE))], "zero")
    for _ in range(COUNT):
        yield draw(rng)


def numbers_of(reference):
    """What a good reference refers to."""
    entries = dict(reference.entries)
    if entries["location"] == "exact.bin":
        return VALUES
    if entries["location"] == "sparse.bin":
        return np.zeros_like(VALUES)
    data = bytes(PAD) + VALUES.tobytes() + bytes(PAD)
    begin = int(entries.get("offset", 0))
    return np.frombuffer(data[begin:begin + SIZE], np.float32).reshape(SHAPE)


def model(values, references_of_two=()):
    """A sum of two weights, whose data is in the model or where the references say: two that are equal
    overlap."""
    net = QonnxBuilder("external")
    x = net.input("x", SHAPE)
    for name in ("first", "second"):
        x = net.node("Add", [x, net.constant(name, values)], {})
    net.output(x, SHAPE)
    made = net.model()
    for tensor, reference in zip(made["graph"]["initializer"], references_of_two):
        del tensor["raw_data"]
        tensor["data_location"] = 1
        tensor["external_data"] = [{"key": key, "value": value} for key, value in reference.entries]
    return onnx_file.encode("Model", made)
