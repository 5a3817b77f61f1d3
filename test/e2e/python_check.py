#!/usr/bin/env python3
"""The Python package, from the wheel and as it is installed.

    test/e2e/python_check.py --tools=build/tools

 1. The wheel is made, twice with the same bytes, and installed by python3-installer.
 2. The first lines of docs/python.md run as they stand, and give the example's output.
 3. Outputs by interpreter, simulator and csim are the example's; for quantizers of a
    rounding (--all: every one), words of odd widths and several inputs csim gives what the interpreter does.
 4. Errors carry diagnostics with their places; warnings are warnings; wrong arrays are refused.
 5. Two threads, and objects that are dropped in any order.

The last line counts the cases.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from installation import Cases, Installation, same_folders

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "examples/small_cnn"
PYTHON = "/usr/bin/python3"

# Run by the Python that has the package; prints a line for each case.
INSIDE = r'''
import gc, pathlib, sys, threading, warnings
import numpy, ming

def case(name, holds, detail=""):
    print("PASS" if holds else "FAIL", name, detail if not holds else "", flush=True)

def refuses(name, words, call, error=ming.Error):
    try:
        call()
    except error as problem:
        case(name, words in str(problem), str(problem))
        return problem
    case(name, False, "nothing was raised")

x, want = numpy.load("input.npy"), numpy.load("output.npy")
config = ming.Config(dsp=100, weights="load", top="net")
model = ming.load("model.onnx", config)
design = model.compile("project2")
for by in ("interpreter", "simulator", "csim"):
    got = design.predict(x, by=by)
    case("outputs by " + by, got.reshape(-1).tolist() == want.reshape(-1).tolist())
case("again by csim", (design.predict(x[:1], by="csim").reshape(-1) == want[:1].reshape(-1)).all())
case("report", design.report["top"] == "net" and design.report["totals"]["fps"] > 0)
opened = ming.open_design("project2")
page = design.page(layout="own")
case("page", page.startswith("<!DOCTYPE html>") and page == opened.page(layout="own") and
     design.write_page(layout="own").read_text() == page and
     opened.write_page("elsewhere.html", layout="own").read_text() == page)
refuses("page without a folder", "a path is needed", model.compile().write_page, ValueError)
refuses("layout", "one of auto, dot, own", lambda: design.page(layout="neat"))
case("opened", opened.report == design.report and
     (opened.predict(x[:1]).reshape(-1) == want[:1].reshape(-1)).all())
case("simulated", design.simulate(frames=3).outputs is None and
     design.simulate().report["latency_cycles"] == opened.simulate(x[:1]).report["latency_cycles"])
case("ports", [(p.name, p.shape, p.dtype) for p in model.inputs] == [("image", (1, 3, 32, 32), "float32")],
     repr(model.inputs))
case("config", repr(config) == "Config(dsp='100', weights='load', top='net')", repr(config))
case("check", ming.check("model.onnx")["compiles"])
floats = ming.load("float.mir")
quantized = ming.Config(quantize="int8", calibrate=numpy.linspace(-1, 1, 32, dtype="float32").reshape(4, 8))
case("calibration from an array", floats.compile(None, quantized).report["top"] == "f")

random = numpy.random.default_rng(1)
for file in sorted(pathlib.Path(".").glob("case*.mir")):
    other = ming.load(file)
    arrays = []
    for port in other.inputs:
        kind = numpy.dtype(port.dtype)
        shape = (3 * port.shape[0], *port.shape[1:])
        arrays.append(random.integers(-4, 4, shape).astype(kind) if kind.kind in "iu"
                      else (random.integers(-40, 40, shape) / 8).astype(kind))
    made = other.compile(file.stem)
    one, two = made.predict(*arrays), made.predict(*arrays, by="csim")
    case(file.stem, numpy.array_equal(one, two) and numpy.unique(one).size > 1, f"{one} {two}"[:400])

problem = refuses("unknown option", "did you mean 'device'", lambda: ming.Config(devcie="zcu102"))
refuses("wrong value", "value invalid", lambda: ming.Config(clock="fast"))
refuses("no file", "cannot open", lambda: ming.load("lost.onnx"))
problem = refuses("bad text", "arith.lost", lambda: ming.parse("func.func @f() {\n  %x = arith.lost 1\n}", "t.mir"))
first = problem.diagnostics[0]
case("place", (first.severity, first.file, first.line, first.column) == ("error", "t.mir", 2, 8), repr(first))
refuses("no such device", "there is no device", lambda: model.compile(None, device="zcu10"))
refuses("shape", "shape (3,)", lambda: model.predict(numpy.zeros(3, "float32")))
refuses("shape by csim", "shape (3,)", lambda: design.predict(numpy.zeros(3, "float32"), by="csim"), ValueError)
refuses("type", "not taken", lambda: model.predict(numpy.zeros((1, 3, 32, 32), complex)), TypeError)
refuses("number of arrays", "2 arrays are given", lambda: model.predict(x, x))
refuses("way", "by is 'magic'", lambda: design.predict(x, by="magic"), ValueError)
refuses("config and options", "beside a config", lambda: ming.load("model.onnx", config, dsp=1), TypeError)
refuses("NUL", "NUL", lambda: ming.load("a\0b"), ValueError)
refuses("passes", "lost", lambda: ming.load("float.mir").run_passes("builtin.module(lost)"))
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    floats.predict(numpy.full((1, 8), numpy.nan, "float32"))
case("warnings", any(w.category is ming.Warning and "not a number" in str(w.message) for w in said), str(said))

results = {}
def work(name):
    results[name] = ming.load("model.onnx", config).compile("thread" + name).report
threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
for thread in threads: thread.start()
for thread in threads: thread.join()
case("threads", results["a"] == results["b"] == design.report)
shared = [threading.Thread(target=lambda: model.predict(x[:1])) for _ in range(4)]
for thread in shared: thread.start()
for thread in shared: thread.join()
cycle = [ming.load("model.onnx")]
cycle.append(cycle)
del cycle, model, design, opened, floats
gc.collect()
case("dropped", True)
'''

FLOAT = """func.func @f(%x: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %y = "onnx.Relu"(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32>
  return %y : tensor<1x8xf32>
}
"""
# Sums of two inputs, whose elements may stand for real numbers.
SUM = """func.func @f(%x: tensor<2x6x{one}> {quant}, %y: tensor<2x6x{one}> {quant})
    -> (tensor<2x6x{one}> {result}) {{
  %e = tensor.empty() : tensor<2x6x{one}>
  %z = linalg.add ins(%x, %y : tensor<2x6x{one}>, tensor<2x6x{one}>)
                  outs(%e : tensor<2x6x{one}>) -> tensor<2x6x{one}>
  return %z : tensor<2x6x{one}>
}}
"""


def write_cases(folder, every):
    """A few of the cases, or every one."""
    (folder / "float.mir").write_text(FLOAT)
    for one in ("i5", "i13", "i32", "f32") if every else ("i13", "f32"):
        (folder / f"case-{one}.mir").write_text(SUM.format(one=one, quant="", result=""))
    names = ("ROUND", "CEIL", "FLOOR", "UP", "DOWN", "HALF_UP", "HALF_DOWN")
    for rounding in names if every else ("HALF_DOWN",):
        quant = f'{{dfg.quant = {{scale = 2.5e-01 : f64, zero_point = 1 : i64, rounding = "{rounding}"}}}}'
        result = "{dfg.quant = {scale = 2.5e-01 : f64, zero_point = 2 : i64, divisor = 3 : i64}}"
        (folder / f"case-{rounding}.mir").write_text(SUM.format(one="i7", quant=quant, result=result))


def preload(installed):
    """The environment in which Python can load a library with sanitizers."""
    env = dict(os.environ)
    if "address" in installed.sanitize:
        runtime = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True)
        env |= {"LD_PRELOAD": runtime.stdout.strip(), "ASAN_OPTIONS": "detect_leaks=0"}
    return env


def count_inside(cases, env, folder):
    run = subprocess.run([PYTHON, "-c", INSIDE], cwd=folder, env=env, capture_output=True, text=True)
    cases.check("the program came to its end", run.returncode == 0, run.stdout[-400:] + run.stderr)
    for line in run.stdout.splitlines():
        cases.check(line[5:], line.startswith("PASS "))


def check_page(cases, env, folder):
    """The five lines of the page, and two that look at what they have made."""
    page = (ROOT / "docs/python.md").read_text()
    lines = re.search(r"```python\n(.*?)```", page, re.S)[1]
    more = "\nwant = numpy.load('output.npy')\nassert (scores.reshape(-1) == want.reshape(-1)).all()\n"
    run = subprocess.run([PYTHON, "-c", lines + more], cwd=folder, env=env, capture_output=True, text=True)
    said = re.fullmatch(r"[0-9.]+ project/report.html", run.stdout.strip())
    cases.check("docs/python.md", run.returncode == 0 and said, run.stdout + run.stderr)
    cases.check("its page", (folder / "project/report.html").read_text().startswith("<!DOCTYPE html>"))
    cases.check("five lines", len(lines.splitlines()) == 5)


def make_wheel(cases, build, folder):
    wheels = []
    for name in ("one", "two"):
        run = subprocess.run([ROOT / "scripts/make-wheel", build, folder / name], capture_output=True, text=True)
        if not cases.check(f"wheel {name}", run.returncode == 0, run.stdout + run.stderr):
            return None
        wheels.append(pathlib.Path(run.stdout.strip()))
    cases.check("the same wheel", not same_folders(*(wheel.parent for wheel in wheels)))
    subprocess.run([PYTHON, "-m", "installer", "--destdir", folder / "root", "--prefix", "/p", wheels[0]],
                   check=True, capture_output=True)
    return next((folder / "root").rglob("ming/__init__.py")).parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--all", action="store_true", help="all element types and roundings, a minute")
    options = parser.parse_args()
    build = options.tools.resolve().parent
    cases = Cases()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        installed = Installation(build, folder / "installed")
        env = preload(installed)
        work = folder / "work"
        shutil.copytree(EXAMPLE, work)
        write_cases(work, options.all)
        packages = make_wheel(cases, build, folder)
        if packages:
            count_inside(cases, dict(env, PYTHONPATH=str(packages)), work)
        package = next(installed.prefix.rglob("ming/__init__.py")).parent.parent
        check_page(cases, dict(env, PYTHONPATH=str(package), LD_LIBRARY_PATH=str(installed.libdir)), work)
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
