"""The emitted C++ of a project, by its libcsim.so: builds it, packs frames as report.json says, runs.

docs/emitted-code.md, "Ports in report.json" and "libcsim.so"."""
import ctypes
import pathlib
import shutil
import subprocess
import tempfile

MESSAGE = 1024


def _round(values, mode):
    """Integers by QONNX's names of rounding modes."""
    import numpy
    size, sign = numpy.abs(values), numpy.sign(values)
    modes = {
        "ROUND": lambda: numpy.rint(values),
        "HALF_EVEN": lambda: numpy.rint(values),
        "CEIL": lambda: numpy.ceil(values),
        "FLOOR": lambda: numpy.floor(values),
        "UP": lambda: sign * numpy.ceil(size),
        "DOWN": lambda: sign * numpy.floor(size),
        "ROUND_TO_ZERO": lambda: sign * numpy.floor(size),
        "HALF_UP": lambda: sign * numpy.where(size - numpy.floor(size) >= 0.5, numpy.ceil(size),
                                              numpy.floor(size)),
        "HALF_DOWN": lambda: sign * numpy.where(size - numpy.floor(size) > 0.5, numpy.ceil(size),
                                                numpy.floor(size)),
    }
    return modes[mode]()


def _quantize(array, port):
    """The integers that stand for real numbers at an input."""
    import numpy
    quantizer = port["quantizer"]
    if not quantizer:
        return array
    if quantizer["bipolar"]:
        return numpy.where(array >= 0, 1, 0 if port["bits"] == 1 else -1)
    if array.dtype != numpy.float64:
        array = array.astype(numpy.float32)
    steps = (array / array.dtype.type(quantizer["scale"])).astype(numpy.float64)
    steps = numpy.clip(steps + quantizer["zero_point"], quantizer["low"], quantizer["high"])
    return _round(steps, quantizer["rounding"]).astype(numpy.int64)


def _dequantize(values, port):
    import numpy
    quantizer = port["quantizer"]
    if not quantizer:
        return values
    if quantizer["bipolar"] and port["bits"] == 1:
        values = numpy.where(values != 0, 1, -1)
    reals = (values - quantizer["zero_point"]) * quantizer["scale"] / quantizer["divisor"]
    return reals.astype(numpy.float32 if port["bits"] <= 24 else numpy.float64)


class Packing:
    """How frames of a port lie in memory."""

    def __init__(self, port):
        self.port = port
        self.shape = tuple(port["shape"])
        self.order = port["order"]
        streamed = [self.shape[dim] for dim in self.order]
        self.tiled = [part for extent, word in zip(streamed, port["word"]) for part in (extent // word, word)]
        rank = len(streamed)
        self.by_word = [*range(0, 2 * rank, 2), *range(1, 2 * rank, 2)]
        self.words = port["words_per_frame"]
        self.bits, self.stride, self.padded = port["bits"], port["element_bits"], port["padded_bits"]

    def frames(self, array):
        """The array as frames of the port's shape."""
        import numpy
        array = numpy.asarray(array)
        count = array.size // max(1, int(numpy.prod(self.shape, dtype=numpy.int64)))
        first = self.shape[0] if self.shape else 1
        fits = array.shape[1:] == self.shape[1:] and array.ndim and array.shape[0] % first == 0
        if array.shape != self.shape and not fits:
            raise ValueError(f"shape {array.shape} is not {self.shape} nor several of them in a row")
        return array.reshape(count, *self.shape)

    def _to_integers(self, frames):
        """Bits of the elements as unsigned integers."""
        import numpy
        if self.port["kind"] == "float":
            kind = {16: numpy.float16, 32: numpy.float32, 64: numpy.float64}[self.bits]
            return frames.astype(kind).view(f"<u{self.bits // 8}").astype(numpy.uint64)
        return _quantize(frames, self.port).astype(numpy.int64).view(numpy.uint64)

    def pack(self, array):
        """Bytes of all frames, and their number."""
        import numpy
        frames = self.frames(array)
        count = len(frames)
        values = self._to_integers(frames).transpose(0, *(dim + 1 for dim in self.order))
        values = values.reshape(count, *self.tiled).transpose(0, *(dim + 1 for dim in self.by_word))
        values = values.reshape(count, self.words, -1)
        bits = numpy.zeros((count, self.words, self.padded), numpy.uint8)
        elements = numpy.arange(values.shape[2]) * self.stride
        for bit in range(self.bits):
            bits[:, :, elements + bit] = (values >> numpy.uint64(bit)) & numpy.uint64(1)
        return numpy.packbits(bits.reshape(count, -1), axis=1, bitorder="little").tobytes(), count

    def _from_integers(self, values):
        import numpy
        if self.port["kind"] == "float":
            kind = f"<u{self.bits // 8}"
            return values.astype(kind).view({16: "<f2", 32: "<f4", 64: "<f8"}[self.bits])
        if self.port["signed"] and self.bits < 64:
            sign = numpy.uint64(1 << (self.bits - 1))
            values = ((values ^ sign) - sign).astype(numpy.uint64)
        return _dequantize(values.view(numpy.int64), self.port)

    def unpack(self, data, count):
        """The array of so many frames."""
        import numpy
        raw = numpy.frombuffer(data, numpy.uint8).reshape(count, -1)
        bits = numpy.unpackbits(raw, axis=1, bitorder="little")[:, :self.words * self.padded]
        bits = bits.reshape(count, self.words, self.padded).astype(numpy.uint64)
        elements = numpy.arange(int(numpy.prod(self.port["word"]))) * self.stride
        values = numpy.zeros((count, self.words, len(elements)), numpy.uint64)
        for bit in range(self.bits):
            values |= bits[:, :, elements + bit] << numpy.uint64(bit)
        rank = len(self.order)
        parts = [self.tiled[2 * dim] for dim in range(rank)] + list(self.port["word"])
        back = numpy.argsort(self.by_word)
        values = values.reshape(count, *parts).transpose(0, *(int(dim) + 1 for dim in back))
        values = values.reshape(count, *(self.shape[dim] for dim in self.order))
        values = values.transpose(0, *(int(dim) + 1 for dim in numpy.argsort(self.order)))
        values = self._from_integers(numpy.ascontiguousarray(values))
        first = self.shape[0] if self.shape else 1
        return values.reshape(count * first, *self.shape[1:])


def _build(folder):
    """libcsim.so of the project as a library of its own, however often it is built anew."""
    made = subprocess.run(["make", "-s", "-C", folder, "libcsim.so"], capture_output=True, text=True)
    if made.returncode != 0:
        raise RuntimeError(f"make libcsim.so failed:\n{made.stderr or made.stdout}")
    with tempfile.TemporaryDirectory() as copy:
        path = pathlib.Path(copy) / "libcsim.so"
        shutil.copy(pathlib.Path(folder) / "libcsim.so", path)
        return ctypes.CDLL(str(path))


class Csim:
    def __init__(self, folder, report):
        self._library = _build(folder)
        self._library.ming_csim_run.argtypes = [ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p),
                                                ctypes.c_char_p, ctypes.c_size_t]
        rows = report["ports"]
        is_weights = [bool(row.get("weights")) for row in rows]
        self.inputs = [Packing(row) for row, other in zip(rows, is_weights)
                       if row["direction"] == "in" and not other]
        self.outputs = [Packing(row) for row in rows if row["direction"] == "out"]
        self.weights = [Packing(row) for row, other in zip(rows, is_weights) if other]
        self.folder, self.top = pathlib.Path(folder), report["top"]

    def _file(self, port):
        """Of the weights of a port: by its name, which a lone stream's has not."""
        named = f"{self.top}_{port['argument']}.npy"
        names = [f"kernels/{named}", f"{self.top}_weights.npy" if port["interface"] == "axis" else named]
        for path in map(self.folder.joinpath, names):
            if path.is_file():
                return path
        raise FileNotFoundError(f"{self.folder / names[-1]}, the weights of port '{port['name']}', is missing")

    def _weights(self):
        import numpy
        return [packing.pack(numpy.load(self._file(packing.port)))[0] for packing in self.weights]

    def run(self, arrays):
        if len(arrays) != len(self.inputs):
            raise ValueError(f"the network has {len(self.inputs)} inputs, and {len(arrays)} arrays are given")
        packed = [packing.pack(array) for packing, array in zip(self.inputs, arrays)]
        counts = {count for _, count in packed}
        if len(counts) != 1:
            raise ValueError("the arrays have different numbers of frames")
        count = counts.pop()
        buffers = [ctypes.create_string_buffer(data, len(data)) for data, _ in packed]
        results = [ctypes.create_string_buffer(count * packing.port["frame_bytes"]) for packing in self.outputs]
        weights = [ctypes.create_string_buffer(data, len(data)) for data in self._weights()]
        every = [*buffers, *results, *weights]
        pointers = (ctypes.c_void_p * len(every))(*map(ctypes.addressof, every))
        message = ctypes.create_string_buffer(MESSAGE)
        if self._library.ming_csim_run(count, pointers, message, MESSAGE) != 0:
            raise RuntimeError(message.value.decode(errors="replace"))
        return [packing.unpack(result.raw, count) for packing, result in zip(self.outputs, results)]
