"""Stands for the package pynq in tests of driver.py: DMAs that behave as an AXI DMA without scatter
gather does, in front of the C simulation. A receiving transfer ends at TLAST, so it takes one frame; a
transfer is of a buffer that was allocated, and flushed since it was written. What the accelerator reads of
memory itself is where its registers say, and it works once it is started."""
import ctypes
import json
import os
import pathlib

import numpy as np


class Buffer(np.ndarray):
    clean = False

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        self.clean = False

    def flush(self):
        self.clean = True

    def invalidate(self):
        self.stale = False

    def freebuffer(self):
        pass


allocated = {} # by address


def allocate(shape, dtype):
    buffer = np.full(shape, 0xAA, dtype).view(Buffer)
    buffer.device_address = 0x8_7000_0000 + 0x100_0000 * len(allocated)
    allocated[buffer.device_address] = buffer
    return buffer


class Accelerator:
    """Registers: of a memory two that tell its address; memories inside begin at a power of two."""

    def __init__(self, ports):
        self.names, self.written, self.is_started = {"CTRL": {"address_offset": 0}}, {}, False
        self.ports, at = ports, 0x10
        for port in ports:
            if port["interface"] == "m_axi":
                for half in (1, 2):
                    self.names[f"{port['argument']}_{half}"] = {"address_offset": at}
                    at += 4 if half == 1 else 8
            elif port["interface"] == "s_axilite":
                at = 1 << max(at - 1, port["frame_bytes"] - 1).bit_length()
                self.names["Memory_" + port["argument"]] = {"address_offset": at}
                at *= 2
        self.names.pop(os.environ.get("MING_FAKE_LACKS"), None)

    def write(self, offset, value):
        assert type(value) is int and offset % 4 == 0 and 0 <= value < 1 << 32 and not self.is_started
        if offset == 0:
            assert value == 0x81
            self.contents = {p["argument"]: self.read(p) for p in self.ports if p["interface"] != "axis"}
            self.is_started = True
        self.written[offset] = value

    def read(self, port):
        name, size = port["argument"], port["frame_bytes"]
        if port["interface"] == "s_axilite":
            base = self.names["Memory_" + name]["address_offset"]
            words = [self.written[base + at] for at in range(0, size, 4)]
            return b"".join(word.to_bytes(4, "little") for word in words)[:size]
        low, high = (self.written[self.names[f"{name}_{half}"]["address_offset"]] for half in (1, 2))
        buffer = allocated[high << 32 | low]
        assert buffer.clean and buffer.nbytes == size
        return bytes(buffer.reshape(-1))


class Channel:
    def __init__(self, overlay, port):
        self.overlay, self.port, self.busy = overlay, port, False

    def transfer(self, buffer, start=0, nbytes=0):
        assert isinstance(buffer, Buffer) and not self.busy
        size = nbytes or buffer.nbytes - start
        assert 0 < size < 1 << 26
        self.busy = True
        flat = buffer.reshape(-1)
        if self.port["direction"] == "in":
            assert buffer.clean, "the buffer was not flushed"
            self.overlay.sent[self.port["argument"]] += bytes(flat[start:start + size])
        else:
            assert size == self.port["frame_bytes"], "a transfer ends at TLAST"
            self.overlay.wanted[self.port["argument"]] = flat[start:start + size]
        self.overlay.step()

    def wait(self):
        assert self.busy, "nothing was transferred"
        if self.port["direction"] == "out":
            assert self.port["argument"] not in self.overlay.wanted, "this hangs on the board"
        self.busy = False


class Dma:
    def __init__(self, overlay, port):
        setattr(self, "sendchannel" if port["direction"] == "in" else "recvchannel", Channel(overlay, port))


class Overlay:
    def __init__(self, path):
        folder = pathlib.Path(path).parent
        assert folder.joinpath(pathlib.Path(path).stem + ".hwh").is_file()
        project = pathlib.Path(os.environ["MING_FAKE_PROJECT"])
        ports = json.loads((project / "report.json").read_text())["ports"]
        kind = lambda p: 2 if p.get("weights") else int(p["direction"] == "out")
        self.ports = sorted(ports, key=kind)
        self.library = ctypes.CDLL(str(project / "libcsim.so"))
        self.sent = {p["argument"]: b"" for p in ports}
        self.wanted = {}
        for port in ports:
            if port["interface"] == "axis":
                setattr(self, "dma_" + port["argument"], Dma(self, port))
        self.registers = Accelerator(ports)
        if any(port["interface"] != "axis" for port in ports):
            self.accel, self.ip_dict = self.registers, {"accel": {"registers": self.registers.names}}
        else:
            self.registers.contents, self.registers.is_started = {}, True

    def step(self):
        """Runs a frame where all its bytes are there, and room for all results."""
        buffers = []
        if not self.registers.is_started:
            return
        for port in self.ports:
            name, size = port["argument"], port["frame_bytes"]
            if name in self.registers.contents:
                buffers.append(ctypes.create_string_buffer(self.registers.contents[name], size))
            elif port["direction"] == "out":
                if name not in self.wanted:
                    return
                buffers.append(ctypes.create_string_buffer(size))
            else:
                if len(self.sent[name]) < size and not (port.get("weights") and self.sent[name] == b""):
                    return
                buffers.append(ctypes.create_string_buffer(self.sent[name][:size]))
        pointers = (ctypes.c_void_p * len(buffers))(*map(ctypes.addressof, buffers))
        assert self.library.ming_csim_run(ctypes.c_size_t(1), pointers, None, ctypes.c_size_t(0)) == 0
        for port, buffer in zip(self.ports, buffers):
            name, size = port["argument"], port["frame_bytes"]
            if port["direction"] == "out":
                self.wanted.pop(name)[:] = np.frombuffer(buffer.raw[:size], np.uint8)
            else:
                self.sent[name] = self.sent[name][size:]
