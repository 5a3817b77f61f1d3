"""A driver that is written from report.json alone, as docs/emitted-code.md explains its ports: numbers one
by one in Python's decimals and integers, nothing like the C++ or the driver that a project comes with.
It runs libcsim.so on the packed bytes."""
import ctypes
import decimal

import numpy as np

ROUNDINGS = {"ROUND": decimal.ROUND_HALF_EVEN, "HALF_EVEN": decimal.ROUND_HALF_EVEN, "CEIL": decimal.ROUND_CEILING,
             "FLOOR": decimal.ROUND_FLOOR, "UP": decimal.ROUND_UP, "DOWN": decimal.ROUND_DOWN,
             "HALF_UP": decimal.ROUND_HALF_UP, "HALF_DOWN": decimal.ROUND_HALF_DOWN}


def words_of(port, frame):
    """The elements of a frame as they follow each other."""
    stream = np.transpose(frame.reshape(port["shape"]), port["order"])
    split, outer, inner = [], [], []
    for d, (extent, word) in enumerate(zip(stream.shape, port["word"], strict=True)):
        split += [extent // word, word]
        outer.append(2 * d)
        inner.append(2 * d + 1)
    return stream.reshape(split).transpose(outer + inner).reshape(port["words_per_frame"], -1)


def pack(port, integers):
    """Frames of integers as bytes."""
    data = bytearray()
    for frame in integers.reshape(-1, *port["shape"]):
        for word in words_of(port, frame):
            number = 0
            for lane, element in enumerate(word):
                stride = port["element_bits"]
                number |= (int(element) & (2 ** stride - 1)) << lane * stride
            data += number.to_bytes(port["padded_bits"] // 8, "little")
    return bytes(data)


def unpack(port, data):
    """Integers of frames."""
    places = np.arange(np.prod(port["shape"])).reshape(port["shape"])
    order = words_of(port, places).ravel()
    frames = []
    for begin in range(0, len(data), port["frame_bytes"]):
        frame = np.zeros(len(order), np.int64)
        frame[order] = list(elements_of(port, data[begin:begin + port["frame_bytes"]]))
        frames.append(frame.reshape(port["shape"]))
    return np.concatenate(frames)


def elements_of(port, frame):
    size, bits = port["padded_bits"] // 8, port["bits"]
    for begin in range(0, len(frame), size):
        word = int.from_bytes(frame[begin:begin + size], "little")
        for lane in range(int(np.prod(port["word"]))):
            element = word >> lane * port["element_bits"] & (1 << bits) - 1
            yield element - (1 << bits) if port["signed"] and element >> bits - 1 else element


def to_integers(port, array):
    """What stands for each number of an array; integers are real numbers, and floats their bits."""
    q = port["quantizer"]
    if port["kind"] == "float":
        return bit_patterns(port, array)
    if q is None:
        return array
    if array.dtype.kind != "f":
        array = array.astype(np.float32)
    if q["bipolar"]:
        return np.where(array >= 0, 1, 0 if port["bits"] == 1 else -1)
    quotients = (array / array.dtype.type(q["scale"]) + array.dtype.type(q["zero_point"])).ravel()
    rounded = [int(decimal.Decimal(float(x)).to_integral_value(ROUNDINGS[q["rounding"]])) for x in quotients]
    return np.clip(rounded, q["low"], q["high"]).reshape(array.shape)


def bit_patterns(port, array):
    size = port["bits"] // 8
    return array.astype(f"<f{size}").view(f"<u{size}")


def to_numbers(port, integers):
    q = port["quantizer"]
    if port["kind"] == "float":
        size = port["bits"] // 8
        return (integers & (1 << port["bits"]) - 1).astype(f"<u{size}").view(f"<f{size}")
    return integers if q is None else (integers - q["zero_point"]) * q["scale"] / q["divisor"]


def drive(folder, report, arrays, weights=()):
    """The outputs of a project's design, whose libcsim.so is built: inputs and outputs in the order of
    the report, then weights."""
    library = ctypes.CDLL(str(folder / "libcsim.so"))
    ports = report["ports"]
    loaded = [p for p in ports if p.get("weights")]
    inputs = [p for p in ports if p["direction"] == "in" and not p.get("weights")]
    outputs = [p for p in ports if p["direction"] == "out"]
    frames = len(arrays[0]) // inputs[0]["shape"][0]
    given = [pack(p, to_integers(p, a)) for p, a in zip(inputs, arrays, strict=True)]
    tables = [pack(p, w) for p, w in zip(loaded, weights, strict=True)]
    sizes = [frames * p["frame_bytes"] for p in outputs]
    buffers = [ctypes.create_string_buffer(data, len(data)) for data in given]
    buffers += [ctypes.create_string_buffer(size) for size in sizes]
    buffers += [ctypes.create_string_buffer(data, len(data)) for data in tables]
    pointers = (ctypes.c_void_p * len(buffers))(*map(ctypes.addressof, buffers))
    status = library.ming_csim_run(ctypes.c_size_t(frames), pointers, None, ctypes.c_size_t(0))
    if status != 0:
        raise ValueError(f"libcsim.so ended with {status}")
    results = buffers[len(given):len(given) + len(outputs)]
    return [to_numbers(p, unpack(p, buffer.raw)) for p, buffer in zip(outputs, results)]
