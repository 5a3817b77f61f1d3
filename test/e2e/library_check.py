#!/usr/bin/env python3
"""libcsim.so of emitted projects against their own csim: the ports that it tells, frames that the
project's C++ packs, results of several frames and runs, two libraries in a program, and what it
says of wrong arguments. Ends in `N passed, N failed`."""
import argparse
import ctypes
import pathlib
import re
import sys
import tempfile

import numpy as np

import board_tools
from board_tools import expect, load_report, must_make, must_run, run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODEL = ROOT / "examples/small_cnn/model.onnx"
INPUT = ROOT / "examples/small_cnn/input.npy"
SCALARS = """func.func @f(%x: tensor<2x6xi5>) -> tensor<2x6xi5> {
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x6xi5>) outs(%x : tensor<2x6xi5>) {
  ^bb0(%a: i5, %b: i5):
    %c = arith.xori %a, %b : i5
    %d = arith.addi %c, %a : i5
    linalg.yield %d : i5
  } -> tensor<2x6xi5>
  return %y : tensor<2x6xi5>
}
"""


class PortInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("kind", ctypes.c_int), ("element_bits", ctypes.c_int),
                ("stride_bits", ctypes.c_size_t), ("word_elements", ctypes.c_size_t),
                ("word_bits", ctypes.c_size_t), ("words", ctypes.c_size_t),
                ("frame_bytes", ctypes.c_size_t)]


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(str(path))
        self.c.ming_csim_top.restype = ctypes.c_char_p
        self.c.ming_csim_port_count.restype = ctypes.c_size_t
        self.c.ming_csim_get_port.argtypes = [ctypes.c_size_t, ctypes.POINTER(PortInfo)]
        self.c.ming_csim_run.argtypes = [ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p),
                                         ctypes.c_char_p, ctypes.c_size_t]

    def ports(self):
        infos = []
        for i in range(self.c.ming_csim_port_count()):
            infos.append(PortInfo())
            expect(self.c.ming_csim_get_port(i, ctypes.byref(infos[-1])) == 0, "port", i)
        expect(self.c.ming_csim_get_port(len(infos), ctypes.byref(PortInfo())) == -1, "one too many")
        return infos

    def run(self, frames, buffers, size=200):
        pointers = (ctypes.c_void_p * len(buffers))(*[
            None if b is None else ctypes.cast(b, ctypes.c_void_p).value for b in buffers])
        message = ctypes.create_string_buffer(max(size, 1))
        status = self.c.ming_csim_run(frames, pointers, message if size else None, size)
        return status, message.value.decode()


class Project:
    def __init__(self, tools, folder, name, model, *options):
        self.path = folder / name
        must_run(tools / "ming", "compile", model, "-o", self.path, *options)
        must_make(self.path, "libcsim.so")
        self.report = load_report(self.path)
        self.packer = board_tools.Packer(self.path)
        self.library = Library(self.path / "libcsim.so")
        kinds = [2 if p.get("weights") else int(p["direction"] == "out") for p in self.report["ports"]]
        order = sorted(range(len(kinds)), key=lambda i: kinds[i])
        self.kinds = [kinds[i] for i in order]
        self.ports = [self.report["ports"][i] for i in order]

    def check_ports(self):
        expect(self.library.c.ming_csim_version() == 1, "version")
        expect(self.library.c.ming_csim_top().decode() == self.report["top"], "top")
        for info, port, kind in zip(self.library.ports(), self.ports, self.kinds, strict=True):
            got = (info.name.decode(), info.kind, info.element_bits, info.stride_bits,
                   info.word_elements * info.stride_bits, info.word_bits, info.words, info.frame_bytes)
            want = (port["name"], kind, port["bits"], port["element_bits"], port["word_bits"],
                    port["padded_bits"], port["words_per_frame"], port["frame_bytes"])
            expect(got == want, got, "is not", want)
        names = must_run("nm", "-D", "--defined-only", self.path / "libcsim.so").stdout
        strange = [n for n in re.findall(r" [TDBR] (\S+)", names) if not n.startswith("ming_csim_")]
        expect(not strange, "exports", strange)

    def expected(self, x, y):
        must_make(self.path, "csim", f"INPUT={x}", f"OUTPUT={y}")
        return np.load(y)

    def buffers(self, x, frames, with_weights=True):
        made = []
        for port, kind in zip(self.ports, self.kinds, strict=True):
            data = bytes(frames * port["frame_bytes"])
            if kind == 0:
                data = self.packer.pack(port, x, self.path / "x.bin")
            elif kind == 2:
                weights = next(self.path.glob("*_weights.npy"))
                data = self.packer.pack(port, weights, self.path / "w.bin") if with_weights else None
            made.append(None if data is None else ctypes.create_string_buffer(data, len(data)))
        return made

    def results(self, buffers):
        at = self.kinds.index(1)
        self.packer.unpack(self.ports[at], buffers[at].raw, self.path / "y.bin", self.path / "got.npy")
        return np.load(self.path / "got.npy")

    def check_runs(self, x, frames):
        expected = self.expected(x, self.path / "y.npy")
        for again in range(2):
            buffers = self.buffers(x, frames, with_weights=again == 0)
            status, message = self.library.run(frames, buffers)
            expect(status == 0, message)
            expect(np.array_equal(self.results(buffers), expected), "run", again, "differs from csim")

    def check_errors(self, x):
        """On a library that has not run; what is refused does no harm to it."""
        buffers = self.buffers(x, 1)
        for frames, given, size, words in (
                (0, buffers, 200, "there are no frames"),
                (1, [None, *buffers[1:]], 200, f"port '{self.ports[0]['name']}' has no buffer"),
                (0, buffers, 6, "there"), (0, buffers, 0, "")):
            status, message = self.library.run(frames, given, size)
            expect(status == -1 and message == words, status, message, "instead of", words)


def several_frames(folder):
    x = np.load(INPUT)
    rng = np.random.default_rng(1)
    x = np.concatenate([x, rng.permutation(x.ravel()).reshape(x.shape), -x]).astype(x.dtype)
    np.save(folder / "x.npy", x)
    return folder / "x.npy", len(x)


def check_scalars(tools, folder):
    """Words of one element of 5 bits, and a tensor without quantizers."""
    (folder / "f.mir").write_text(SCALARS, encoding="utf-8")
    project = Project(tools, folder, "scalars", folder / "f.mir", "--dsp=1")
    x = np.random.default_rng(2).integers(-16, 16, (6, 6)).astype(np.int8)
    np.save(folder / "i5.npy", x)
    project.check_ports()
    project.check_runs(folder / "i5.npy", 3)


def check_consumer(folder):
    """The header is C, and a C program that uses only it links with the library by dlopen."""
    source = folder / "c.c"
    source.write_text('#include "ming_libcsim.h"\nint main(void)\n{\n    ming_csim_port port = {0};\n'
                      "    return port.words == 0 && MING_CSIM_WEIGHTS == 2 ? 0 : 1;\n}\n",
                      encoding="utf-8")
    must_run("gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I",
             folder / "rom" / "csim", source, "-o", folder / "c")
    must_run(folder / "c")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True)
    tools = pathlib.Path(parser.parse_args().tools).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        x, frames = several_frames(folder)
        made = {}

        def project(key, *options):
            if key not in made:
                made[key] = Project(tools, folder, key, MODEL, *options)
            return made[key]

        def missing_weights():
            fresh = project("load", "--weights=load")
            buffers = fresh.buffers(x, frames, with_weights=False)
            status, message = fresh.library.run(frames, buffers)
            expect(status == -1 and message == "port 'weights' has no buffer", message)

        def without_compiler():
            result = run("make", "-s", "-C", project("rom").path, "-B", "libcsim.so", "CXX=false")
            expect(result.returncode != 0, "make succeeds without a compiler")

        cases = [("ports", lambda: project("rom").check_ports()),
                 ("errors", lambda: project("rom").check_errors(INPUT)),
                 ("runs", lambda: project("rom").check_runs(x, frames)),
                 ("loaded-missing", missing_weights),
                 ("loaded-ports", lambda: project("load").check_ports()),
                 ("loaded-runs", lambda: project("load").check_runs(x, frames)),
                 ("memories-ports", lambda: project("mem", "--interface=m_axi").check_ports()),
                 ("memories-runs", lambda: project("mem").check_runs(x, frames)),
                 ("scalars", lambda: check_scalars(tools, folder)),
                 ("header", lambda: check_consumer(folder)),
                 ("compiler", without_compiler)]
        return board_tools.report_cases(cases)


if __name__ == "__main__":
    sys.exit(main())
