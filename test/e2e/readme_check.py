#!/usr/bin/env python3
"""Runs the command lines of README.md and docs/*.md, as they stand there.

    readme_check.py [--tools=DIR] [--built]

A command line is a line of a shell block (fenced or indented) that begins with
a program of the project, make or meson, or such a line in the first cell of a
table. Those of a page run in their order in a copy of the sources, beside files
of the names that the page uses. README's also build that copy; with --built the
tools in DIR stand in for what it would build. What cannot run here is in the
table NOT_RUN with its reason; what is found there and no longer in the text is
an error. The last line counts the commands.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = r"(?:scripts/|build/tools/|ming(?:-opt|-translate)? |make |meson )"
EXAMPLE = ROOT / "examples/small_cnn"

# {(page, command): reason}
NOT_RUN = {
    ("README.md", "scripts/test"): "is what runs this",
    ("docs/python.md", "scripts/make-wheel build dist"): "test/e2e/python_check.py does",
    ("docs/rtl.md", "make -C out rtlsim INPUT=x.npy OUTPUT=y.npy"): "lit/driver/rtlsim.mir does",
    ("docs/rtl.md", "make rtlsim …"): "lit/driver/rtlsim.mir does",
    ("docs/rtl.md", "make synth-yosys"): "takes minutes",
    ("docs/boards.md", "make -C DIR synth export bitstream"): "needs Vitis and Vivado",
    ("docs/rtl.md", "make vivado"): "needs Vivado",
    ("docs/emitted-code.md", "make emulate …"): "test/e2e/emulate_check.py does",
    ("docs/boards.md", "make -C DIR xo"): "needs Vitis",
    ("docs/boards.md", "make -C DIR link PLATFORM=xilinx_u250_gen3x16_xdma_4_1_202210_1"): "needs Vitis",
    ("docs/boards.md", "make -C DIR host"): "test/e2e/board_check.py does",
    ("docs/boards.md", "make -C DIR link PLATFORM=NAME NETWORK='cmac_0.xo networklayer.xo'"): "needs Vitis",
    ("docs/boards.md", "make -C DIR emulate INPUT=x.npy OUTPUT=y.npy HOST_FLAGS=--batch=4"):
        "test/e2e/emulate_check.py does",
    ("docs/overlay.md", "ming compile --architecture=overlay model.onnx "
     "--overlay=rows=32,cols=64,act=ui2,weight=i1,acc=16 -o program.mir"):
        "needs a network of such weights; test/e2e/popcount_engine_check.py does",
}

# These need Vitis: where it is not installed they must say so.
VITIS = re.compile(r"make (?:-C \S+ )?(?:synth|vitis-csim|vitis-cosim|export)\b")

FORWARD = """\
func.func @forward(%image: tensor<1x4xi8> {dfg.name = "image"},
                   %mask: tensor<1x4xi8> {dfg.name = "mask"}) -> tensor<1x4xi8> {
  %0 = arith.andi %image, %mask : tensor<1x4xi8>
  return %0 : tensor<1x4xi8>
}
"""

# A float network.
FLOATS = """\
ir_version: 8
opset_import {{ version: 13 }}
graph {{
  name: "net"
  input {{ name: "image" type {{ tensor_type {{ elem_type: 1 shape {{
    {dims} }} }} }} }}
  output {{ name: "scores" }}
  initializer {{ name: "w" data_type: 1 dims: [4, 3, 3, 3] float_data: [{weights}] }}
  node {{ op_type: "Conv" name: "conv_12" input: ["image", "w"] output: "sums" }}
  node {{ op_type: "Relu" name: "relu_12" input: "sums" output: "scores" }}
}}
"""


def commands_of(page):
    """(line number, command) of a page, in order."""
    text = page.read_text(encoding="utf-8")
    joined = re.sub(r"\\\n\s*", lambda found: " " * len(found[0]), text)
    in_block = False
    for number, line in enumerate_lines(text, joined):
        if line.startswith("```"):
            in_block = not in_block
        found = re.match(rf"\| *`({PROGRAMS}[^`]*)` *\|", line) or \
            re.match(rf"({'' if in_block else ' {4}'}{PROGRAMS}.*)$", line)
        if found:
            yield number, re.sub(r"\s+#.*", "", found[1]).strip()


def enumerate_lines(text, joined):
    """Lines of `joined`, which has the places of `text`, with their numbers there."""
    start = 0
    for line in joined.split("\n"):
        yield text.count("\n", 0, start) + 1, line
        start += len(line) + 1


def float_network(folder, name, dims):
    rng = np.random.default_rng(1)
    weights = ", ".join(f"{w:.6f}" for w in rng.normal(size=108) / 5)
    shape = " ".join(f"dim {{ dim_value: {d} }}" for d in dims)
    encode = ["protoc", "--encode=onnx.ModelProto", "--proto_path=/usr/include/onnx", "onnx.proto"]
    model = subprocess.run(encode, input=FLOATS.format(dims=shape, weights=weights).encode(),
                           capture_output=True, check=True).stdout
    (folder / name).write_bytes(model)


def prepare(folder, page):
    """The files that a page names."""
    shutil.copy(EXAMPLE / "input.npy", folder / "x.npy")
    shutil.copy(EXAMPLE.parent / "tasks.json", folder / "tasks.json")
    report = (ROOT / "lit/tools/Inputs/report/csynth.xml").read_text(encoding="utf-8")
    (folder / "csynth.xml").write_text(re.sub(r"\bnet\b", "small_cnn", report), encoding="utf-8")
    (folder / "module.mir").write_text(FORWARD, encoding="utf-8")
    if page.name in ("README.md", "guide.md", "sweep.md"):
        (folder / "plan.json").write_text('{"models": ["model.onnx"], "objectives": ["fps=100", "fps=1000"]}')
    if page.name == "interpreter.md":
        np.save(folder / "m.npy", np.full((1, 4), 15, np.int8))
    if page.name in ("README.md", "overlay.md"):
        shutil.copy(EXAMPLE.parent / "overlay.mir", folder / "network.mir")
        for name in ("a.onnx", "b.onnx"):
            shutil.copy(EXAMPLE / "model.onnx", folder / name)
        np.save(folder / "map.npy", np.arange(48, dtype=np.int8).reshape(4, 4, 3))
        np.save(folder / "frame.npy", np.load(EXAMPLE / "input.npy")[:1])
        (folder / "input.bin").write_bytes(bytes(4096))
        (folder / "weights.bin").write_bytes(bytes(4096))
    if page.name == "architecture.md":
        (folder / "f.mir").write_text(FORWARD.replace("@forward", "@f").replace(
            ',\n                   %mask: tensor<1x4xi8> {dfg.name = "mask"}', "").replace(
            "%image, %mask", "%image, %image"), encoding="utf-8")
        np.save(folder / "x.npy", np.array([[1, -2, 3, 4]], np.int8))
    if page.name == "quantization.md":
        float_network(folder, "model.onnx", [1, 3, 8, 8])
        np.save(folder / "frames.npy", np.random.default_rng(2).normal(size=(4, 3, 8, 8)))
        np.save(folder / "x.npy", np.random.default_rng(3).normal(size=(1, 3, 8, 8)))
        (folder / "widths.json").write_text('{"inputs": {"image": "int16"}, "layers": {"conv_12": "int4"}}')
    elif page.name == "check.md":
        float_network(folder, "model.onnx", [1, 3, 224, 224])
        np.save(folder / "x.npy", np.random.default_rng(4).normal(size=(1, 3, 224, 224)))
    else:
        shutil.copy(EXAMPLE / "model.onnx", folder / "model.onnx")
    shutil.copy(folder / "model.onnx", folder / "MODEL.onnx")
    if page.name == "devices.md":
        text = page.read_text(encoding="utf-8")
        (folder / "mine.xml").write_text(re.search(r"```xml\n(.*?)```", text, re.S)[1],
                                         encoding="utf-8")


def adapt(page, command):
    """The command with what the text leaves out."""
    command = command.replace("\\|", "|").replace(" [options]", "").replace(" MODEL ", " model.onnx ")
    if page.name == "emitted-code.md":
        command = command.replace("make ", "make -C accel ", 1).replace("…", "INPUT=x.npy OUTPUT=y.npy")
        command = command.replace("INPUT=", 'INPUT="$PWD"/').replace("OUTPUT=", 'OUTPUT="$PWD"/')
    if page.name == "rtl.md":
        command = re.sub("^make (?!-C)", "make -C out ", command)
    if re.search(r"make -C \S+ (?:csim|cosim)$", command):
        command += ' INPUT="$PWD/x.npy" OUTPUT="$PWD/y.npy"'
    if command.startswith("ming run ") and "--input" not in command:
        command += " --input=x.npy"
    if page.name == "interpreter.md" and "module.mir" in command:
        command = command.replace("image=x.npy", "image=m.npy")
    return command


def clone(folder):
    """The sources without what git ignores, as a fresh clone has them."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True,
                            capture_output=True).stdout.decode().split("\0")
    for name in filter(None, listed):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).exists():
            shutil.copy2(ROOT / name, target)


class Runner:
    def __init__(self, tools, built):
        self.tools, self.built = tools, built
        self.passed, self.failed, self.seen = 0, 0, set()

    def run(self, page, folder, command):
        environment = {**os.environ, "PATH": f"{self.tools}{os.pathsep}{os.environ['PATH']}"}
        if page.name != "README.md" and "MING_PRECOMPILED" in os.environ:
            environment["CXX"] = f"{sys.executable} -S {ROOT / 'test/e2e/precompiled.py'}"
            environment["CXXFLAGS"] = "-std=c++17 -O0 -Wall -Wextra -Wno-unknown-pragmas"
        return subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=folder,
                              env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace")

    def check(self, page, number, folder, text):
        command = adapt(page, text)
        if command.startswith("meson setup build"):     # tests were built by whoever runs this
            command = command.replace("meson setup build", "meson setup build -Dtests=disabled", 1)
            command = f"export CFLAGS='-O0 -Wno-cpp'; {command}"    # half the time; FORTIFY warns of it
        if self.built and "meson setup build" in command:
            command = "ln -s ../tools-root build"
        if "builtin.module(…)" in command:
            command = command.replace("builtin.module(…)", (folder / "pipeline.txt").read_text())
        result = self.run(page, folder, command)
        output = result.stdout + result.stderr
        ok = result.returncode == 0 and "error:" not in output
        if VITIS.search(command) and not shutil.which("v++"):
            ok = result.returncode != 0 and ("v++" in output or "vitis-run" in output)
        if "--dump-pass-pipeline" in command:
            (folder / "pipeline.txt").write_text(result.stdout.strip(), encoding="utf-8")
        self.passed += ok
        self.failed += not ok
        if not ok:
            print(f"{page.relative_to(ROOT)}:{number}: exit status {result.returncode}: {command}\n"
                  f"{output[-1500:]}")

    def page(self, page, scratch):
        commands = list(commands_of(page))
        if not commands:
            return
        folder = scratch / page.stem
        folder.mkdir()
        name = str(page.relative_to(ROOT))
        if name == "README.md":
            clone(folder)
        else:
            (folder / "build").symlink_to(self.tools.parent)
        prepare(folder, page)
        if page.name in ("emitted-code.md", "report.md"):
            self.run(page, folder, "ming compile model.onnx -o accel")
        for number, text in commands:
            if (name, text) in NOT_RUN:
                self.seen.add((name, text))
                print(f"{name}:{number}: not run, {NOT_RUN[name, text]}: {text}")
            else:
                self.check(page, number, folder, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tools", default="build/tools", type=pathlib.Path)
    parser.add_argument("--built", action="store_true")
    options = parser.parse_args()
    runner = Runner(options.tools.resolve(), options.built)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        if options.built:
            (scratch / "tools-root").symlink_to(options.tools.resolve().parent)
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
            runner.page(page, scratch)
    for name, text in sorted(NOT_RUN.keys() - runner.seen):
        print(f"NOT_RUN names a command that {name} does not have: {text}")
        runner.failed += 1
    print(f"{runner.passed} passed, {runner.failed} failed")
    sys.exit(1 if runner.failed else 0)


if __name__ == "__main__":
    main()
