#!/usr/bin/env python3
"""Streams of DMAs (--interface=dma): results equal those of plain streams, in the C++, with every
process on its own, in ming sim and in Verilog with a DMA that pauses at random; TKEEP and TLAST are
right, and found wrong where they are made wrong; bytes are packed as report.json says, by a packer
of the tests' own. Ends in `N passed, N failed`."""
import argparse
import os
import pathlib
import re
import sys
import tempfile

import numpy as np

import board_tools
from board_tools import expect, load_report, must_run, run
import library_check
from report_driver import pack

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SMALL = ROOT / "examples/small_cnn/model.onnx"
VERILATOR = ("VERILATOR_CXXFLAGS=-O0", "VERILATOR_FLAGS=-MAKEFLAGS VM_PARALLEL_BUILDS=0")   # in one file
WIDE = """func.func @f(%x: tensor<4x300xi5>) -> tensor<4x300xi5> {
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x300xi5>) outs(%x : tensor<4x300xi5>) {
  ^bb0(%a: i5, %b: i5):
    %c = arith.xori %a, %b : i5
    %d = arith.subi %c, %a : i5
    linalg.yield %d : i5
  } -> tensor<4x300xi5>
  return %y : tensor<4x300xi5>
}
"""
FLOATS = """func.func @f(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3x5xf32>) outs(%x : tensor<3x5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.negf %a : f32
    linalg.yield %c : f32
  } -> tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
"""


class Case:
    def __init__(self, tools, folder, name, model, x, *options, has_verilog=True):
        self.has_verilog = has_verilog
        self.tools, self.name, self.options = tools, name, options
        self.path, self.model = folder / name, model
        self.x = folder / f"{name}-x.npy"
        np.save(self.x, x)
        self.y = folder / f"{name}-y.npy"

    def compile(self, interface, *more):
        path = self.path.with_name(f"{self.name}-{interface}")
        must_run(self.tools / "ming", "compile", self.model, "-o", path, f"--interface={interface}",
                 *self.options, *more)
        return path

    def result(self, project, target, env=None):
        self.y.unlink(missing_ok=True)
        made = must_run("make", "-s", "-C", project, f"CXXFLAGS={board_tools.STRICT}", *VERILATOR, target,
                        f"INPUT={self.x}", f"OUTPUT={self.y}", env=env)
        return np.load(self.y), made.stdout

    def check(self):
        plain, _ = self.result(self.compile("axis"), "csim")
        project = self.compile("dma", "--emit=hls,verilog" if self.has_verilog else "--emit=hls")
        self.check_report(project)
        for target in ("csim", "cosim"):
            got, said = self.result(project, target)
            expect(np.array_equal(got, plain, equal_nan=True), target, "differs from plain streams")
        self.check_cycles(project, said)
        for seed in (2, 4) if self.has_verilog else ():
            env = dict(os.environ, INPUT_RATE="0.6", OUTPUT_RATE=f"0.{seed}", SEED=str(seed))
            got, _ = self.result(project, "rtlsim", env)
            expect(np.array_equal(got, plain, equal_nan=True), "Verilog differs, seed", seed)
        self.check_wrong_last(project)

    def check_report(self, project):
        for port in load_report(project)["ports"]:
            bits = port["padded_bits"]
            expect(port.get("tlast") and bits >= 8 and bits & (bits - 1) == 0 and bits <= 1024, port)
            expect(bits >= port["word_bits"] > 0 and port["frame_bytes"] * 8 == bits * port["words_per_frame"], port)

    def check_cycles(self, project, cosim):
        frames = len(np.load(self.x)) // load_report(project)["ports"][0]["shape"][0]
        sim = must_run(self.tools / "ming", "sim", project, f"--frames={frames}").stdout
        first = [re.search(r"latency of the first frame: (\d+)", text).group(1) for text in (sim, cosim)]
        expect(first[0] == first[1], "cycles of sim and cosim", first)

    def check_wrong_last(self, project):
        """A frame that ends too late, in C++ and in Verilog, is found."""
        top = load_report(project)["top"]
        words = [p["words_per_frame"] for p in load_report(project)["ports"] if p["direction"] == "out"][0]
        if words == 1:
            return
        source = project / f"{top}.cpp"
        right = source.read_text(encoding="utf-8")
        wrong = right.replace(f" == {words - 1}));", f" == {words - 2}));")
        expect(wrong != right, "TLAST not found in", source)
        source.write_text(wrong, encoding="utf-8")
        result = run("make", "-s", "-C", project, "csim", f"INPUT={self.x}", f"OUTPUT={self.y}")
        expect(result.returncode != 0 and f"beat {words - 1} of {words} has TLAST" in result.stderr,
               "a wrong TLAST passes:", result.stderr)
        source.write_text(right, encoding="utf-8")

    def check_wrong_last_in_verilog(self):
        project = self.path.with_name(f"{self.name}-dma")
        rtl = next(f for f in (project / "rtl").glob("*.v") if "TLAST" in f.read_text(encoding="utf-8"))
        right = rtl.read_text(encoding="utf-8")
        for pattern, to, message in ((r"assign (\w+_TLAST) = (\w+);", r"assign \1 = ~\2;", "TLAST"),
                                     (r"(assign \w+_TKEEP = \d+)'([bhd])\w+;", r"\1'\g<2>0;", "leaves out a byte")):
            wrong = re.sub(pattern, to, right)
            expect(wrong != right, pattern, "not found")
            rtl.write_text(wrong, encoding="utf-8")
            result = run("make", "-s", "-C", project, *VERILATOR, "rtlsim", f"INPUT={self.x}",
                         f"OUTPUT={self.y}")
            expect(result.returncode != 0 and message in result.stderr, message, "passes:", result.stderr)
        rtl.write_text(right, encoding="utf-8")


def check_packing(tools, folder):
    """Integers in 32 bits for 3 x i5 and the like, as the C++ has them."""
    case = Case(tools, folder, "packing", folder / "wide.mir", np.zeros((4, 300), np.int8))
    project = case.compile("dma")
    port = load_report(project)["ports"][0]
    x = np.random.default_rng(5).integers(-16, 16, (8, 300)).astype(np.int8)
    np.save(folder / "p.npy", x)
    packed = board_tools.Packer(project).pack(port, folder / "p.npy", folder / "p.bin")
    expect(packed == pack(port, x), "packed bytes differ")


def check_library(tools, folder, x):
    """Weights that a DMA loads, through libcsim.so."""
    project = library_check.Project(tools, folder, "loaded", SMALL, "--interface=dma", "--weights=load:256")
    np.save(folder / "l.npy", x)
    project.check_ports()
    project.check_runs(folder / "l.npy", len(x))
    for port in load_report(project.path)["ports"]:
        expect(port.get("tlast"), port)


def check_limit(tools, folder):
    """Words of the search stay within a DMA's; those of a folding file are refused."""
    case = Case(tools, folder, "limit", folder / "wide.mir", np.zeros((4, 300), np.int8), "--device=u250")
    for port in load_report(case.compile("dma"))["ports"]:
        expect(port["padded_bits"] <= 1024, port)
    plain = case.compile("axis")
    expect(max(p["word_bits"] for p in load_report(plain)["ports"]) > 1024, "the case is too small")
    result = run(tools / "ming", "compile", folder / "wide.mir", "-o", folder / "no", "--interface=dma",
                 "--device=u250", f"--folding={plain / 'folding.json'}")
    expect(result.returncode == 1 and "at most 1024 bits of a DMA's beat" in result.stderr and not (folder / "no").exists(),
           result.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True)
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    tools = pathlib.Path(options.tools).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rng = np.random.default_rng(1)
        (folder / "wide.mir").write_text(WIDE, encoding="utf-8")
        (folder / "floats.mir").write_text(FLOATS, encoding="utf-8")
        image = np.load(ROOT / "examples/small_cnn/input.npy")
        images = np.concatenate([image, -image, image[..., ::-1]]).astype(image.dtype)
        i5 = rng.integers(-16, 16, (12, 300)).astype(np.int8)
        f32 = rng.normal(size=(9, 5)).astype(np.float32)
        made = {"small": Case(tools, folder, "small", SMALL, images, "--fps=80000"),
                "free": Case(tools, folder, "free", folder / "wide.mir", i5, "--control=none", "--dsp=8"),
                "floats": Case(tools, folder, "floats", folder / "floats.mir", f32, has_verilog=False)}
        cases = [(n, c.check) for n, c in made.items()]
        cases += [("small-wrong", made["small"].check_wrong_last_in_verilog),
                  ("packing", lambda: check_packing(tools, folder)),
                  ("library", lambda: check_library(tools, folder, images)),
                  ("limit", lambda: check_limit(tools, folder))]
        return board_tools.report_cases([c for c in cases if options.filter in c[0]])


if __name__ == "__main__":
    sys.exit(main())
