#!/usr/bin/env python3
"""Runs the accelerator that stands beside this file on arrays of numpy.

    driver.py INPUT.npy... --output=y.npy           on the board with PYNQ, on the card with XRT
    driver.py --emulate INPUT.npy... --output=y.npy on libcsim.so (make libcsim.so)

As a module: Accelerator(emulate=False).run([x, ...]) gives the list of results. Everything that is
known of the design is read from its report.json, which lies here or in the folder above, as do the
bitstream TOP.bit with TOP.hwh or TOP.xclbin, libcsim.so, TOP_weights.npy where weights are loaded, and
TOP_NAME.npy of tables that stay in memory.
"""
import argparse
import ctypes
import json
import pathlib
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent


class DriverError(Exception):
    """What is wrong with a request, in one line."""


def find(name):
    for folder in (HERE, HERE.parent):
        if (folder / name).is_file():
            return folder / name
    raise DriverError(f"{name} is neither in {HERE} nor in the folder above it")


# Real numbers and integers.

def round_to_integer(x, mode):
    """As QONNX names the modes; ROUND is HALF_EVEN."""
    if mode == "CEIL":
        return np.ceil(x)
    if mode == "FLOOR":
        return np.floor(x)
    a = np.abs(x)
    low = np.floor(a)
    with np.errstate(invalid="ignore"):
        rest = a - low
        up = {"ROUND": (rest > 0.5) | ((rest == 0.5) & (np.fmod(low, 2) == 1)),
              "HALF_UP": rest >= 0.5, "HALF_DOWN": rest > 0.5, "UP": rest > 0,
              "DOWN": np.zeros(np.shape(x), bool)}
    up["HALF_EVEN"] = up["ROUND"]
    return np.copysign(np.where(up[mode], low + 1, low), x)


def quantize(x, q):
    """round(clip(x / scale + zero_point)); the quotient has the type of x."""
    if q["bipolar"]:
        return np.where(x >= 0, 1, -1)
    kind = np.float64 if x.dtype == np.float64 else np.float32
    with np.errstate(over="ignore", invalid="ignore"):
        t = (x.astype(kind) / kind(q["scale"])).astype(np.float64) + q["zero_point"]
    r = round_to_integer(np.where(np.isnan(t), float(q["zero_point"]), t), q["rounding"])
    # Bounds are compared as integers: those of 64 bits are no floats.
    inside = np.clip(r, -2.0**62, 2.0**62).astype(np.int64)
    return np.clip(inside, q["low"], q["high"])


class Port:
    """A row of `ports` in report.json."""

    def __init__(self, row):
        self.row, self.name, self.argument = row, row["name"], row["argument"]
        self.shape = tuple(row["shape"])
        self.is_weights = row.get("weights", False)
        self.kind = 2 if self.is_weights else int(row["direction"] == "out")
        self.frame_bytes, self.words = row["frame_bytes"], row["words_per_frame"]

    def count_frames(self, array):
        got, shape = array.shape, self.shape
        if got == shape or (shape[:1] == (1,) and got == shape[1:]):
            return 1
        if not shape or len(got) != len(shape) or got[1:] != shape[1:] or not got[0] or got[0] % shape[0]:
            more = " nor several of them in a row" if shape else ""
            raise DriverError(f"'{self.name}': shape {got} is not {shape}{more}")
        return got[0] // shape[0]

    def integers(self, array):
        row, q = self.row, self.row["quantizer"]
        if q and (array.dtype.kind == "f" or q["scale"] != 1 or q["zero_point"] != 0):
            return quantize(array, q)               # real numbers, whatever their type
        if array.dtype.kind == "f":
            raise DriverError(f"'{self.name}' takes integers, not {array.dtype}")
        bits = row["bits"]
        low = q["low"] if q else -(1 << bits - 1) if row["signed"] else 0
        high = q["high"] if q else (1 << bits - int(row["signed"])) - 1
        if array.size and (int(array.min()) < low or int(array.max()) > high):
            raise DriverError(f"'{self.name}': elements are not between {low} and {high}")
        if q and q["bipolar"] and not array.all():
            raise DriverError(f"'{self.name}': elements are neither -1 nor 1")
        return array if array.dtype == np.uint64 else array.astype(np.int64)

    def codes(self, array):
        """The bits of each element, as 64-bit integers without a sign."""
        row = self.row
        if row["kind"] == "float":
            kind = np.float64 if row["bits"] == 64 else np.float32
            return array.astype(kind).view(f"u{row['bits'] // 8}").astype(np.uint64)
        values = self.integers(array)
        if row["bits"] == 1 and row["quantizer"] and row["quantizer"]["bipolar"]:
            values = (values > 0).astype(np.int64)
        return values.astype(np.int64).view(np.uint64) if values.dtype != np.uint64 else values

    def split(self):
        """Extents of a frame cut into words, in the stream's order, and the axes that bring words in
        front of what is in them."""
        extents, outer, inner = [], [], []
        for d, (dim, word) in enumerate(zip(self.row["order"], self.row["word"])):
            extents += [self.shape[dim] // word, word]
            outer.append(2 * d)
            inner.append(2 * d + 1)
        return extents, outer + inner

    def pack(self, array):
        """Frames as an array of bytes, a row for each."""
        row, frames = self.row, self.count_frames(array)
        codes = np.ascontiguousarray(self.codes(np.ascontiguousarray(array)))
        codes = codes.reshape(frames, *self.shape).transpose(0, *[1 + d for d in row["order"]])
        extents, axes = self.split()
        codes = codes.reshape(frames, *extents).transpose(0, *[1 + a for a in axes])
        codes = codes.reshape(frames, self.words, -1)
        if row["element_bits"] % 8 == 0:
            size = row["element_bits"] // 8
            little = np.ascontiguousarray(codes).astype("<u8").view(np.uint8)
            data = little.reshape(*codes.shape, 8)[..., :size].reshape(frames, self.words, -1)
        else:
            data = np.packbits((codes & 1).astype(np.uint8), axis=-1, bitorder="little")
        words = np.zeros((frames, self.words, row["padded_bits"] // 8), np.uint8)
        words[..., :data.shape[-1]] = data
        return words.reshape(frames, -1)

    def unpack(self, data):
        """The array of frames that are rows of bytes."""
        row, frames = self.row, len(data)
        extents, axes = self.split()
        lanes = int(np.prod(row["word"], dtype=np.int64))
        words = data.reshape(frames, self.words, -1)
        if row["element_bits"] % 8 == 0:
            size = row["element_bits"] // 8
            wide = np.zeros((frames, self.words, lanes, 8), np.uint8)
            wide[..., :size] = words[..., :lanes * size].reshape(frames, self.words, lanes, size)
            codes = wide.view("<u8")[..., 0]
        else:
            codes = np.unpackbits(words, axis=-1, bitorder="little")[..., :lanes].astype(np.uint64)
        codes = codes.reshape(frames, *[extents[a] for a in axes])
        codes = codes.transpose(0, *[1 + int(a) for a in np.argsort(axes)])
        codes = codes.reshape(frames, *[self.shape[d] for d in row["order"]])
        codes = codes.transpose(0, *[1 + int(d) for d in np.argsort(row["order"])])
        shape = (self.shape[0] * frames, *self.shape[1:]) if self.shape else (frames,) if frames > 1 else ()
        return self.values(np.ascontiguousarray(codes)).reshape(shape)

    def values(self, codes):
        row, q, bits = self.row, self.row["quantizer"], self.row["bits"]
        if row["kind"] == "float":
            return codes.astype(f"u{bits // 8}").view(f"f{bits // 8}")
        spare = np.uint64(64 - bits)
        top = codes << spare
        values = top.view(np.int64) >> np.int64(spare) if row["signed"] else top >> spare
        if q and q["bipolar"] and bits == 1:
            values = np.where(values != 0, 1, -1)
        if q:
            reals = (values.astype(np.float64) - q["zero_point"]) * q["scale"] / q["divisor"]
            return reals.astype(np.float32 if bits <= 24 else np.float64)
        if bits == 1 and not row["signed"]:
            return values.astype(bool)
        size = next(s for s in (1, 2, 4, 8) if bits <= 8 * s)
        return values.astype(f"{'i' if row['signed'] else 'u'}{size}")


# What takes and gives packed frames: start(frames, inputs) begins with a batch, and finish(it) gives
# its results. `slots` batches can have begun at a time.

class Emulator:
    """libcsim.so."""

    slots = 1

    def __init__(self, report, ports, weights, streamed):
        self.ports, self.weights, self.streamed = ports, weights, streamed
        path = find("libcsim.so")
        try:
            self.library = ctypes.CDLL(str(path))
        except OSError as error:
            raise DriverError(f"{path}: {error}") from None
        self.library.ming_csim_top.restype = ctypes.c_char_p
        self.library.ming_csim_run.argtypes = [ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p),
                                               ctypes.c_char_p, ctypes.c_size_t]
        if self.library.ming_csim_top().decode() != report["top"]:
            raise DriverError(f"{path} is of another design: make libcsim.so")

    def start(self, frames, inputs):
        outputs = [np.zeros((frames, p.frame_bytes), np.uint8) for p in self.ports if p.kind == 1]
        buffers = [np.ascontiguousarray(b) for b in inputs] + outputs
        buffers += self.streamed if self.weights is None else [self.weights]
        pointers = (ctypes.c_void_p * len(buffers))(*[b.ctypes.data for b in buffers])
        message = ctypes.create_string_buffer(500)
        if self.library.ming_csim_run(frames, pointers, message, len(message)) != 0:
            raise DriverError(message.value.decode(errors="replace"))
        return outputs

    def finish(self, outputs):
        return outputs


class Board:
    """The bitstream, and a DMA for each port. Results end frames with TLAST, at which a DMA stops: so
    they are taken frame by frame, while the inputs of a batch go at once. Where weights are in memories,
    registers tell where, and start the accelerator."""

    slots = 1
    START = 0x81 # ap_start, again and again (auto_restart)

    def __init__(self, report, ports, weights, streamed):
        try:
            import pynq
        except ImportError:
            raise DriverError("PYNQ is not installed; --emulate does without") from None
        self.pynq, self.buffers, self.tables = pynq, {}, []
        self.ports = [p for p in ports if not p.is_weights or weights is not None]
        self.overlay = pynq.Overlay(str(find(report["top"] + ".bit")))
        self.dmas = [getattr(self.overlay, "dma_" + p.argument) for p in self.ports]
        if streamed:
            self.set_up([p for p in ports if p.is_weights], streamed)
        if weights is not None:
            buffer = self.buffer(len(ports) - 1, weights.reshape(1, -1).shape)
            buffer[:] = weights.reshape(1, -1)
            buffer.flush()
            self.dmas[-1].sendchannel.transfer(buffer)
            self.dmas[-1].sendchannel.wait()

    def set_up(self, rows, streamed):
        """Writes weights to where the accelerator reads them, and starts it for good."""
        registers = self.overlay.ip_dict["accel"]["registers"]

        def write(name, values):
            if name not in registers:
                raise DriverError(f"the accelerator has no register {name}")
            for i, value in enumerate(values):
                self.overlay.accel.write(registers[name]["address_offset"] + 4 * i, int(value))

        for port, data in zip(rows, streamed):
            name, data = port.argument, data.reshape(-1)
            if port.row["interface"] == "s_axilite": # in words of 32 bits
                write("Memory_" + name, np.concatenate([data, np.zeros(-len(data) % 4, np.uint8)]).view("<u4"))
                continue
            buffer = self.pynq.allocate(shape=data.shape, dtype=np.uint8)
            buffer[:] = data
            buffer.flush()
            self.tables.append(buffer) # it must not be freed
            write(name + "_1", [buffer.device_address & 0xffffffff])
            write(name + "_2", [buffer.device_address >> 32])
        write("CTRL", [self.START])

    def buffer(self, i, shape):
        if i not in self.buffers or self.buffers[i].shape != shape:
            if i in self.buffers:
                self.buffers[i].freebuffer()
            self.buffers[i] = self.pynq.allocate(shape=shape, dtype=np.uint8)
        return self.buffers[i]

    def start(self, frames, inputs):
        given = [self.buffer(i, data.shape) for i, data in enumerate(inputs)]
        taken = [(i, self.buffer(i, (frames, p.frame_bytes))) for i, p in enumerate(self.ports) if p.kind == 1]
        for buffer, data in zip(given, inputs):
            buffer[:] = data
            buffer.flush()
        for frame in range(frames):
            for i, buffer in taken:
                row = self.ports[i].frame_bytes
                self.dmas[i].recvchannel.transfer(buffer, start=frame * row, nbytes=row)
            if frame == 0:
                for i, buffer in enumerate(given):
                    self.dmas[i].sendchannel.transfer(buffer)
            for i, _ in taken:
                self.dmas[i].recvchannel.wait()
        for i in range(len(given)):
            self.dmas[i].sendchannel.wait()
        for _, buffer in taken:
            buffer.invalidate()
        return [np.array(buffer) for _, buffer in taken]

    def finish(self, outputs):
        return outputs


class Card:
    """The kernel of TOP.xclbin. A call takes a batch; calls in flight have buffers of their own."""

    slots = 3

    def __init__(self, report, ports, weights, streamed):
        try:
            import pyxrt
        except ImportError:
            raise DriverError("XRT's pyxrt is not installed; --emulate does without") from None
        self.xrt, self.ports, self.free, self.sizes = pyxrt, ports, [], {}
        try:
            self.device = pyxrt.device(0)
            uuid = self.device.load_xclbin(pyxrt.xclbin(str(find(report["top"] + ".xclbin"))))
            self.kernel = pyxrt.kernel(self.device, uuid, report["top"], pyxrt.kernel.shared)
            if weights is not None:
                self.send(pyxrt.kernel(self.device, uuid, report["top"] + "_load", pyxrt.kernel.shared),
                          weights, ports[-1].words)
            rows = [port for port in ports if port.is_weights] if streamed else []
            self.streamed = [(port.index, self.put(data, port.index)) for port, data in zip(rows, streamed)]
        except RuntimeError as error:
            raise DriverError(str(error)) from None

    def move(self, buffer, size, to_card):
        way = self.xrt.xclBOSyncDirection
        buffer.sync(way.XCL_BO_SYNC_BO_TO_DEVICE if to_card else way.XCL_BO_SYNC_BO_FROM_DEVICE, size, 0)

    def put(self, weights, index):
        """Weights in memory, where they stay."""
        data = weights.tobytes()
        buffer = self.xrt.bo(self.device, len(data), self.xrt.bo.normal, self.kernel.group_id(index))
        buffer.write(data, 0)
        self.move(buffer, len(data), True)
        return buffer

    def send(self, kernel, weights, words):
        """Sends weights while the first batch waits for them."""
        data = weights.tobytes()
        self.weights = self.xrt.bo(self.device, len(data), self.xrt.bo.normal, kernel.group_id(0))
        self.weights.write(data, 0)
        self.move(self.weights, len(data), True)
        self.loading = self.xrt.run(kernel)
        self.loading.set_arg(0, self.weights)
        self.loading.set_arg(2, words)
        self.loading.start()

    def slot(self, frames):
        """Buffers for so many frames that nobody uses, and a call that has them."""
        for i, (size, _, _) in enumerate(self.free):
            if size >= frames:
                return self.free.pop(i)
        run, buffers = self.xrt.run(self.kernel), []
        for index, buffer in self.streamed:
            run.set_arg(index, buffer)
        for port in self.ports:
            if port.is_weights:
                continue
            buffer = self.xrt.bo(self.device, frames * port.frame_bytes, self.xrt.bo.normal,
                                 self.kernel.group_id(port.index))
            run.set_arg(port.index, buffer)
            buffers.append((port, buffer))
        return frames, run, buffers

    def start(self, frames, inputs):
        slot = self.slot(frames)
        for (_, buffer), data in zip(slot[2], inputs):
            data = np.ascontiguousarray(data).tobytes()
            buffer.write(data, 0)
            self.move(buffer, len(data), True)
        slot[1].set_arg(len(self.ports), frames)
        slot[1].start()
        return frames, slot

    def finish(self, begun):
        frames, slot = begun
        state = slot[1].wait()
        if state != self.xrt.ert_cmd_state.ERT_CMD_STATE_COMPLETED:
            raise DriverError(f"the kernel ended in state {state}")
        outputs = []
        for port, buffer in slot[2]:
            if port.kind == 1:
                size = frames * port.frame_bytes
                self.move(buffer, size, False)
                outputs.append(np.frombuffer(bytes(buffer.read(size, 0)), np.uint8).reshape(frames, -1))
        self.free.append(slot)
        return outputs


class Accelerator:
    """run(arrays) takes an array for each input, of k frames in the first dimension."""

    LONGEST = 1 << 26 # a transfer of an AXI DMA has fewer bytes

    def __init__(self, emulate=False, batch=64):
        report = json.loads(find("report.json").read_text(encoding="utf-8"))
        rows = [Port(row) for row in report["ports"]]
        for i, port in enumerate(rows):
            port.index = i # of the kernel's arguments
        self.ports = sorted(rows, key=lambda p: p.kind)
        self.inputs = [p for p in self.ports if p.kind == 0]
        self.outputs = [p for p in self.ports if p.kind == 1]
        self.seconds = 0.0
        longest = max(p.frame_bytes for p in self.inputs + self.outputs)
        if batch < 1:
            raise DriverError("a batch has at least one frame")
        self.batch = max(1, min(batch, (self.LONGEST - 1) // longest))
        weights = None
        streamed = [p.pack(np.load(find(f"{report['top']}_{p.argument}.npy"))) for p in self.ports
                    if p.is_weights and p.row["interface"] != "axis"]
        if self.ports[-1].is_weights and not streamed:
            weights = self.ports[-1].pack(np.load(find(report["top"] + "_weights.npy")))
        hardware = Card if any(p.row["interface"] == "m_axi" for p in self.inputs + self.outputs) else Board
        self.engine = (Emulator if emulate else hardware)(report, self.ports, weights, streamed)

    def run(self, arrays):
        if len(arrays) != len(self.inputs):
            names = ", ".join(p.name for p in self.inputs)
            raise DriverError(f"{len(arrays)} arrays for {len(self.inputs)} inputs: {names}")
        packed = [p.pack(a) for p, a in zip(self.inputs, arrays)]
        frames = len(packed[0]) if packed else 1
        for port, data in zip(self.inputs, packed):
            if len(data) != frames:
                raise DriverError(f"'{port.name}': {len(data)} frames, but '{self.inputs[0].name}' has {frames}")
        start = time.perf_counter()
        begun, batches = [], []
        for first in range(0, frames, self.batch):
            if len(begun) == self.engine.slots:
                batches.append(self.engine.finish(begun.pop(0)))
            count = min(self.batch, frames - first)
            begun.append(self.engine.start(count, [d[first:first + count] for d in packed]))
        batches += [self.engine.finish(one) for one in begun]
        self.seconds = time.perf_counter() - start
        return [p.unpack(np.concatenate(rows)) for p, rows in zip(self.outputs, zip(*batches))]


def accuracy(scores, labels):
    """Shares of frames whose label has the greatest score, and one of the five greatest; of equal
    scores the first counts as greater. Scores of one number each are classes themselves."""
    labels = np.asarray(labels).reshape(-1)
    scores = scores.reshape(len(scores), -1) if scores.ndim else scores.reshape(1, 1)
    if len(labels) != len(scores):
        raise DriverError(f"{len(labels)} labels for {len(scores)} results")
    order = scores if scores.shape[1] == 1 else np.argsort(-scores, axis=1, kind="stable")
    hits = order == labels[:, None]
    return hits[:, :1].any(axis=1).mean(), hits[:, :5].any(axis=1).mean()


def load(path):
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise DriverError(f"{path}: {error}") from None


def run(options):
    accelerator = Accelerator(options.emulate, options.batch)
    results = accelerator.run([load(path) for path in options.inputs])
    if options.output and len(options.output) != len(results):
        raise DriverError(f"{len(options.output)} --output for {len(results)} outputs")
    frames = accelerator.inputs[0].count_frames(load(options.inputs[0])) if options.inputs else 1
    where = "emulated" if options.emulate else "on the " + type(accelerator.engine).__name__.lower()
    print(f"{frames} frames in {accelerator.seconds:.6f} s: {frames / accelerator.seconds:.1f} frames/s {where}")
    if options.labels:
        first, five = accuracy(results[0], load(options.labels))
        print(f"top-1 {100 * first:.2f} %, top-5 {100 * five:.2f} %")
    for path, result in zip(options.output or [], results):
        np.save(path, result)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="*", metavar="INPUT.npy")
    parser.add_argument("--output", action="append", metavar="FILE.npy", help="one for each output, in order")
    parser.add_argument("--labels", metavar="FILE.npy", help="classes of the frames: prints top-1 and top-5")
    parser.add_argument("--batch", type=int, default=64, help="frames per transfer, default 64")
    parser.add_argument("--emulate", action="store_true", help="run libcsim.so, not the board")
    try:
        run(parser.parse_args())
    except DriverError as error:
        print(f"driver.py: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
