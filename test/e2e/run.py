#!/usr/bin/env python3
"""Runs ming end to end: compiles models, builds and executes the emitted C++,
and compares the output with the exact one.

Subjects are the shipped examples, random models, and, where the environment
variables MING_MODELS and MING_MLIR name folders, the networks and kernels in
them. Each case prints `PASS name` or `FAIL name: why`; the last line counts.
"""
import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import external_models
import gen_models
import hostile_models

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUDGETS = (1000, 100, 20)
NETWORKS = ("two_layers",)                              # in MING_MODELS
RESIDUAL_NETWORKS = ("resnet8_a8w8b16",)
KERNELS = ("conv_relu_32", "cascade_32", "linear")      # in MING_MLIR/kernels
LARGE_NETWORKS = ("mobilenet_v2_a8w6b32",)              # for a large device
LARGE_KERNELS = ("cascade_224", "conv_relu_224", "feed_forward", "residual_224", "residual_32")
CXX = os.environ.get("CXX", "g++")        # of generated models, and for cosim
STRICT = "-std=c++17 -Wall -Wextra -Werror -O1 -Wno-unknown-pragmas"
TIMEOUT = 300                                           # seconds, per command


class Failure(Exception):
    """Why a case failed, in one line."""


@dataclasses.dataclass
class Subject:
    """A model with an input file and the output that it must give."""
    name: str
    model: pathlib.Path
    frames: pathlib.Path
    expected: np.ndarray
    may_reject: bool = False
    compiler: str = "g++"


# Running the tools.

class Tools:
    """The tools in a build folder, run with an optional prefix command."""

    def __init__(self, folder, wrap):
        self.folder, self.wrap = pathlib.Path(folder).resolve(), wrap.split()

    def run(self, tool, *args, cwd=None):
        command = [*self.wrap, str(self.folder / tool), *map(str, args)]
        return run_command(command, cwd)

    def must_run(self, tool, *args, cwd=None):
        result = self.run(tool, *args, cwd=cwd)
        if result.returncode:
            raise Failure(f"{tool} exits with {result.returncode}: "
                          f"{last_words(result)}")
        return result

    def compile(self, model, out, *options):
        return self.run("ming", "compile", model, "-o", out, *options,
                        cwd=out.parent)

    def must_compile(self, model, out, *options):
        return self.must_run("ming", "compile", model, "-o", out, *options,
                             cwd=out.parent)


def run_command(command, cwd=None):
    try:
        return subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=TIMEOUT, encoding="utf-8",
                              errors="replace", check=False)
    except subprocess.TimeoutExpired:
        raise Failure(f"{command[0]} runs longer than {TIMEOUT} s") from None


def last_words(result):
    """The line of a failed command's output that says most about why."""
    lines = [line.strip() for line in (result.stderr + result.stdout).splitlines()]
    for pattern in (r"ERROR: \w+Sanitizer", r"runtime error:", r"error:", r"\S"):
        for line in lines:
            if re.search(pattern, line):
                return line[:300]
    return "no output"


def simulate(out, frames, result, target="csim", compiler="g++"):
    """Builds the emitted C++ with warnings as errors and runs it."""
    return run_command(["make", "-C", str(out), target, f"CXX={compiler}", f"CXXFLAGS={STRICT}",
                        f"INPUT={frames}", f"OUTPUT={result}"])


# Checks.

def load_report(out):
    return json.loads((out / "report.json").read_text())


def check_files(out):
    top = load_report(out)["top"]
    for name in (f"{top}.h", f"{top}.cpp", f"{top}_params.h", f"{top}_tb.cpp", f"{top}.mir",
                 "hls_config.cfg", "run_hls.tcl", "Makefile"):
        if not (out / name).is_file():
            raise Failure(f"{name} is not written")
    check_report(out)


REPORT_KEYS = {
    "top": str, "device": str, "clock_mhz": int, "totals": dict, "timing": str,
    "predicted": dict, "activations": dict, "processes": list, "fifos": list, "ports": list,
    # Of a design that was not searched for, these are null.
    "objective": (str, type(None)), "value": (int, type(None)), "bound": (int, type(None)),
}
RESOURCES = ("dsp", "bram18", "uram", "lut", "ff")


def check_report(out):
    """The keys of report.json are there, its sums add up, and its names are
    those of the code."""
    report = load_report(out)
    totals, source = report["totals"], (out / f"{report['top']}.cpp").read_text()
    for key, kind in REPORT_KEYS.items():
        if not isinstance(report[key], kind):
            raise Failure(f"report: {key} is {report[key]!r}")
    for key in RESOURCES:
        if totals[key] != sum(process[key] or 0 for process in report["processes"]):
            raise Failure(f"report: {totals[key]} {key} are not the processes' sum")
    fps = 1e6 * report["clock_mhz"] / totals["interval_cycles"]
    is_known = report["timing"] == "simulated"
    if abs(totals["fps"] - fps) > 0.001 if is_known else totals["fps"] is not None:
        raise Failure(f"report: {totals['fps']} frames per second, not {fps}")
    macs = sum(process.get("macs") or 0 for process in report["processes"])
    if totals["ops_per_frame"] != 2 * macs:
        raise Failure(f"report: {totals['ops_per_frame']} operations are not twice {macs}")
    for process in report["processes"]:
        if len(process["trip_counts"]) != len(process["unroll"]):
            raise Failure(f"report: {process['name']} has factors for other loops")
        if f"static void {process['name']}(" not in source or process["interval_cycles"] < 1:
            raise Failure(f"report: there is no process {process['name']}")
        if process["source"] is None or not process["class"]:
            raise Failure(f"report: nothing says what {process['name']} is")
    for fifo in report["fifos"]:
        if f" {fifo['name']}(\"{fifo['name']}\");" not in source:
            raise Failure(f"report: there is no FIFO {fifo['name']}")
        if fifo["width"] < 1 or fifo["depth"] < 1 or "kind" not in fifo:
            raise Failure(f"report: {fifo}")


def check_budget(out, dsp=None):
    """The estimates stay within the limits, and `dsp` is the one in force."""
    report = load_report(out)
    totals = report["totals"]
    if dsp is not None and report["dsp_limit"] != dsp:
        raise Failure(f"report has dsp_limit {report['dsp_limit']}, not {dsp}")
    for resource, limit in (("dsp", "dsp_limit"), ("bram18", "bram18_limit")):
        if totals[resource] > report[limit]:
            raise Failure(f"{totals[resource]} {resource} exceed {report[limit]}")


def check_values(path, expected):
    got = np.load(path)
    if got.size != expected.size:
        raise Failure(f"{got.size} output values, expected {expected.size}")
    got = got.astype(np.float64).ravel()
    wrong = np.flatnonzero(got != expected.astype(np.float64).ravel())
    if wrong.size:
        first = wrong[0]
        raise Failure(f"{wrong.size} of {got.size} values differ; first at "
                      f"{first}: {got[first]}, expected {expected.ravel()[first]}")


def loop_cycles(loop):
    """Cycles of all executions: one to start a named loop, its iterations, and
    the last one's depth."""
    start = 1 if loop["name"] else 0
    return 0 if loop["once"] else loop["executions"] * (start + (loop["trips"] - 1) * loop["ii"] + loop["depth"])


def check_cycles(report):
    """A simulation's numbers fit the trip counts."""
    states = ("busy", "stalled_input", "stalled_output", "idle")
    for process in report["processes"]:
        name = process["name"]
        if process["once"]:
            continue
        if process["kind"] == "process":
            cycles = 1 + sum(loop_cycles(loop) for loop in process["loops"])
            if process["cycles"] != cycles:
                raise Failure(f"{name} takes {process['cycles']} cycles, not {cycles}")
        if report["proven"] and report["interval_cycles"] < process["cycles"]:
            raise Failure(f"the interval is shorter than {name} works")
        spent = sum(process[state] for state in states)
        if report["periodic"] and spent != report["interval_cycles"]:
            raise Failure(f"{name} spends {spent} cycles in an interval")
    if report["latency_cycles"] < max(p["cycles"] for p in report["processes"]) - 2:
        raise Failure("the latency is shorter than a process works")


def check_simulation(tools, out, subject):
    """ming sim computes the same values, and its cycles are consistent. Memories
    at the boundary have timing only."""
    result, report = out.parent / "sim.npy", out.parent / "sim.json"
    source = (out / f"{load_report(out)['top']}.cpp").read_text()
    if "m_axi" in source:
        tools.must_run("ming", "sim", out, f"--json={report}")
    else:
        tools.must_run("ming", "sim", out, f"--input={subject.frames}",
                       f"--output={result}", f"--json={report}")
        check_values(result, subject.expected)
        result.unlink()
    check_cycles(json.loads(report.read_text()))
    report.unlink()


def check_same_files(a, b):
    """Every file of folder `a` is in `b`, byte for byte."""
    for path in sorted(p for p in a.rglob("*") if p.is_file()):
        other = b / path.relative_to(a)
        if not other.is_file():
            raise Failure(f"{other.name} is missing in the second folder")
        if path.read_bytes() != other.read_bytes():
            raise Failure(f"{path.name} differs")


def error_lines(result):
    return [line for line in result.stderr.splitlines()
            if re.search(r"(^|\s)error: ", line)]


def check_fails(result):
    """A plain non-zero exit."""
    if result.returncode == 0:
        raise Failure("accepted")
    if not 0 < result.returncode < 128 or "Sanitizer" in result.stderr:
        raise Failure(f"crash ({result.returncode}): {last_words(result)}")


def check_reported(result):
    """What is wrong with a file is one diagnostic, or in the table of its nodes."""
    check_fails(result)
    errors = error_lines(result)
    if len(errors) > 1 or (not errors and "reason: " not in result.stdout):
        raise Failure(f"{len(errors)} errors and no reason: {last_words(result)}")


def check_rejected(result, out):
    """One diagnostic, a plain non-zero exit, and no output folder. Returns the
    line of the diagnostic."""
    check_fails(result)
    errors = error_lines(result)
    if len(errors) != 1:
        raise Failure(f"{len(errors)} errors instead of one: {last_words(result)}")
    if out.exists():
        raise Failure(f"output folder is left behind after: {errors[0]}")
    return errors[0]


# Cases. Each takes the tools, an empty folder, and what the case is about, and
# returns a remark or None.

def case_run(tools, work, subject, dsp, *options):
    """Compile for a budget, build, run, compare."""
    out, result = work / "out", work / "y.npy"
    compiled = tools.compile(subject.model, out, f"--dsp={dsp}", *options)
    if compiled.returncode and subject.may_reject:
        return "refused: " + check_rejected(compiled, out)
    if compiled.returncode:
        raise Failure(f"compile: {last_words(compiled)}")
    check_files(out)
    check_budget(out, dsp)
    made = simulate(out, subject.frames, result, compiler=subject.compiler)
    if made.returncode:
        raise Failure(f"csim: {last_words(made)}")
    check_values(result, subject.expected)
    check_simulation(tools, out, subject)
    return None


def case_large(tools, work, subject, rows, *options):
    """Compile, build, run on the first rows of the input, compare."""
    out, frame, result = work / "out", work / "x.npy", work / "y.npy"
    np.save(frame, np.load(subject.frames)[:rows])
    tools.must_compile(subject.model, out, *options)
    made = simulate(out, frame, result)
    if made.returncode:
        raise Failure(f"csim: {last_words(made)}")
    check_values(result, subject.expected[:rows])


def check_cosim_cycles(tools, out, subject, printed):
    """ming sim gives the same values in the cycles that cosim counted."""
    result, table = out / "sim.npy", out / "sim.json"
    tools.must_run("ming", "sim", out, f"--input={subject.frames}", f"--output={result}",
                   f"--json={table}")
    check_values(result, subject.expected)
    found, counted = json.loads(table.read_text()), re.findall(r"^cosim: .*: (\d+) cycles$", printed, re.M)
    wanted = [found["latency_cycles"], found.get("last_interval_cycles")]
    if list(map(int, counted)) != [cycles for cycles in wanted if cycles]:
        raise Failure(f"cosim takes {counted} cycles, ming sim {wanted}")


def case_cosim(tools, work, subject, *options):
    """All processes at once against FIFOs of the depths in the pragmas; where
    depths above 2 are needed, taking them away is a deadlock, not a hang."""
    out, result = work / "out", work / "y.npy"
    tools.must_compile(subject.model, out, *options)
    made = simulate(out, subject.frames, result, "cosim", CXX)
    if made.returncode:
        raise Failure(f"cosim: {last_words(made)}")
    check_values(result, subject.expected)
    check_cosim_cycles(tools, out, subject, made.stdout)
    source = out / f"{load_report(out)['top']}.cpp"
    text = source.read_text()
    shallow = re.sub(r"(#pragma HLS stream .*depth = )[0-9]+", r"\g<1>1", text)
    if "#pragma HLS stream" not in text:
        return None
    if shallow == text:
        raise Failure("no stream has a depth above 1")
    source.write_text(shallow)
    made = simulate(out, subject.frames, work / "z.npy", "cosim", CXX)
    if made.returncode == 0:
        check_values(work / "z.npy", subject.expected)
        return "depths of 1 do"
    if "error: deadlock:" not in made.stderr or (work / "z.npy").exists():
        raise Failure(f"shallow cosim: {last_words(made)}")
    return "deadlocks at depths of 1"


def check_plain(out):
    """Sources and build files are ASCII without control characters, and no name
    stands in the latter."""
    for path in [*out.glob("*.cpp"), *out.glob("*.h"), *out.glob("*.mir"),
                 out / "Makefile", out / "hls_config.cfg", out / "run_hls.tcl"]:
        if not re.fullmatch(rb"[\n\t -~]*", path.read_bytes()):
            raise Failure(f"{path.name} holds odd characters")
    for name in ("Makefile", "hls_config.cfg", "run_hls.tcl"):
        if "touch pwned" in (out / name).read_text():
            raise Failure(f"{name} holds a name of the model")


def check_style(out):
    """The C++ is as clang-format leaves it, and clang takes it, too."""
    sources = sorted([*out.glob("*.cpp"), *out.glob("*.h")])
    sources = [str(path) for path in sources if not path.name.endswith("_cosim.cpp")]
    if shutil.which("clang-format-14"):
        style = run_command(["clang-format-14", "--dry-run", "-Werror", *sources])
        if style.returncode:
            raise Failure(f"clang-format: {last_words(style)}")
    if shutil.which("clang++-14"):
        for source in [path for path in sources if path.endswith(".cpp")]:
            built = run_command(["clang++-14", "-std=c++17", "-Wall", "-Wextra", "-Werror",
                                 "-Wno-unknown-pragmas", "-fsyntax-only",
                                 f"-I{out / 'csim'}", source])
            if built.returncode:
                raise Failure(f"clang++: {last_words(built)}")


def case_style(tools, work, subject, *options):
    out = work / "out"
    tools.must_compile(subject.model, out, "--dsp=100", *options)
    check_style(out)


def case_names(tools, work, subject, *options):
    """Names in the model neither break the C++ nor escape into commands."""
    case_run(tools, work, subject, 100, *options)
    check_plain(work / "out")
    check_style(work / "out")
    left = {path.name for path in work.iterdir()}
    if left != {"out", "y.npy"}:
        raise Failure(f"unexpected files: {sorted(left)}")
    markers = list(work.rglob("pwned_marker")) + list(ROOT.glob("pwned_marker"))
    if markers:
        raise Failure(f"a name was executed: {markers[0]}")


def case_paths(tools, work, subject):
    """A model file whose name is an attack, and folders with spaces."""
    folder = work / "two words"
    folder.mkdir()
    attack = "m $(touch pwned_marker);`touch pwned_marker`'"
    model = folder / (attack + subject.model.suffix)
    shutil.copy(subject.model, model)
    shutil.copy(subject.frames, folder / "x y.npy")
    moved = dataclasses.replace(subject, model=model, frames=folder / "x y.npy")
    case_run(tools, folder, moved, 100)
    if list(work.rglob("pwned_marker")):
        raise Failure("the file name was executed")


def unroll_factors(report):
    factors = [process["unroll"] for process in report["processes"]
               if "unroll" in process]
    if not factors:
        raise Failure("no process in report.json has unroll factors")
    return factors


def case_unroll(tools, work, subject):
    """A smaller budget, where LUTs cannot make up for it, gives other unroll factors and no fewer
    cycles."""
    reports = []
    for dsp in BUDGETS:
        out = work / f"dsp{dsp}"
        tools.must_compile(subject.model, out, f"--dsp={dsp}", "--lut=6000")
        check_budget(out, dsp)
        reports.append(load_report(out))
    if unroll_factors(reports[0]) == unroll_factors(reports[-1]):
        raise Failure(f"same unroll factors for {BUDGETS[0]} and {BUDGETS[-1]} DSPs")
    cycles = [report["predicted"]["interval_cycles"] for report in reports]
    if cycles != sorted(cycles) or cycles[0] == cycles[-1]:
        raise Failure(f"cycles {cycles} for {BUDGETS} DSPs")


def case_impossible(tools, work, subject, option, resource):
    """A budget of nothing: unless the model needs nothing, the error names the
    resource and the smallest value that works."""
    out = work / "out"
    result = tools.compile(subject.model, out, f"--{option}=0")
    if result.returncode == 0:
        return check_budget(out)
    error = check_rejected(result, out)
    if resource not in error:
        raise Failure(f"error does not name {resource}: {error}")
    numbers = [int(n) for n in re.findall(r"\b\d+\b", error.split("error: ")[1])]
    for least in sorted(set(numbers) - {0}):
        if tools.compile(subject.model, work / "ok", f"--{option}={least}").returncode:
            continue
        check_budget(work / "ok")
        below = tools.compile(subject.model, work / "no", f"--{option}={least - 1}")
        check_rejected(below, work / "no")
        return None
    raise Failure(f"no number in the error is a feasible budget: {error}")


def split_pipeline(text):
    """The passes of `builtin.module(a,b{c=d},func.func(e))` as one pipeline
    text each."""
    inner = re.fullmatch(r"builtin\.module\((.*)\)", text.strip(), re.S)
    if not inner:
        raise Failure(f"not a pipeline: {text[:100]}")
    passes, depth, quote = [""], 0, None
    for char in inner[1]:
        if quote:
            quote = None if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "({[":
            depth += 1
        elif char in ")}]":
            depth -= 1
        elif char == "," and depth == 0:
            passes.append("")
            continue
        passes[-1] += char
    return [f"builtin.module({name.strip()})" for name in passes if name.strip()]


def dumped_pipeline(result):
    for line in (result.stdout + "\n" + result.stderr).splitlines():
        if line.strip().startswith("builtin.module("):
            return line
    raise Failure("--dump-pass-pipeline prints no pipeline")


def case_stages(tools, work, subject, dsp):
    """One ming-opt run for each pass gives the files that ming compile does."""
    whole, staged = work / "whole", work / "staged"
    tools.must_compile(subject.model, whole, f"--dsp={dsp}")
    dump = tools.must_compile(subject.model, work / "dumped", f"--dsp={dsp}",
                              "--dump-pass-pipeline")
    stage = subject.model
    if stage.suffix == ".onnx":
        stage = work / "stage0.mir"
        tools.must_run("ming-translate", "--import-onnx", subject.model, "-o", stage)
    passes = split_pipeline(dumped_pipeline(dump))
    for number, text in enumerate(passes, 1):
        following = work / f"stage{number}.mir"
        tools.must_run("ming-opt", f"--pass-pipeline={text}", stage, "-o", following)
        stage = following
    tools.must_run("ming-translate", "--emit-hls", f"--output-dir={staged}", stage)
    if not list(staged.glob("*.cpp")):
        raise Failure("the stages emit no C++")
    check_same_files(staged, whole)


def case_repeat(tools, work, subject):
    """Two runs write the same bytes wherever they write them."""
    first, second = work / "first", work / "elsewhere" / "second"
    second.parent.mkdir()
    one = tools.must_compile(subject.model, first)
    two = tools.must_compile(subject.model, second)
    check_same_files(first, second)
    check_same_files(second, first)
    if one.stdout.replace(str(first), "") != two.stdout.replace(str(second), ""):
        raise Failure("the printed tables differ")


def forget_bounds(out):
    """A search that was cut short knows less of its design than one that had
    no other."""
    for path in (out / "report.json", out / f"{load_report(out)['top']}.mir"):
        path.write_text(re.sub(r'\b(value|bound)("?:? =? ?)\d+', r"\1\2?", path.read_text()))


def case_folding(tools, work, subject, *options):
    """The choices that a compile writes down give the same project again."""
    first, second = work / "first", work / "second"
    compiled = tools.compile(subject.model, first, *options)
    if compiled.returncode and subject.may_reject:
        return "refused: " + check_rejected(compiled, first)
    if compiled.returncode:
        raise Failure(f"compile: {last_words(compiled)}")
    tools.must_compile(subject.model, second, *options,
                       f"--folding={first / 'folding.json'}")
    report = load_report(first)
    if report["bound"] != report["value"]:
        for folder in (first, second):
            forget_bounds(folder)
    check_same_files(first, second)
    check_same_files(second, first)
    return None


def case_top(tools, work, subject):
    """--top names the files and must be a C++ identifier."""
    tools.must_compile(subject.model, work / "out", "--top=my_top")
    if not (work / "out" / "my_top.cpp").is_file():
        raise Failure("my_top.cpp is not written")
    for name in ("", "a b", "../up", "int", "9lives", 'x"; touch pwned'):
        result = tools.compile(subject.model, work / "bad", f"--top={name}")
        if result.returncode == 0 or (work / "bad").exists():
            raise Failure(f"--top={name!r} is accepted")


def case_bad_frames(tools, work, subject):
    """The testbench refuses input files that do not fit the model."""
    out, bad, result = work / "out", work / "bad.npy", work / "y.npy"
    tools.must_compile(subject.model, out, "--dsp=100")
    good = subject.frames.read_bytes()
    frames = np.load(subject.frames)
    damaged = {"truncated": good[:-1], "header cut": good[:20], "empty": b"",
               "not npy": b"P6 1 1 255 abc"}
    for why, data in damaged.items():
        bad.write_bytes(data)
        if simulate(out, bad, result).returncode == 0 or result.exists():
            raise Failure(f"testbench accepts an input file: {why}")
    arrays = {"wrong shape": frames[..., 1:], "complex": frames.astype(np.complex64)}
    for why, array in arrays.items():
        np.save(bad, array)
        if simulate(out, bad, result).returncode == 0 or result.exists():
            raise Failure(f"testbench accepts an input file: {why}")


def case_hostile(tools, work, bad):
    model, out = work / f"model{bad.suffix}", work / "out"
    model.write_bytes(bad.data)
    if bad.prepare:
        bad.prepare(work)
    error = check_rejected(tools.compile(model, out), out)
    if not error.isprintable():
        raise Failure(f"error with characters that control: {error[:99]!r}")
    if bad.suffix == ".onnx":
        check_reported(tools.run("ming", "check", model))


def check_external(tools, work, reference, frames):
    """A good reference, of two tensors at once, is as good as the numbers; others are named."""
    model, result = work / "model" / "model.onnx", work / "y.npy"
    model.write_bytes(external_models.model(external_models.VALUES, [reference] * 2))
    ran = tools.run("ming", "run", model, f"--input={frames}", f"--output={result}")
    if reference.why:
        error = check_rejected(ran, result)
        place = "text with a zero at byte" if reference.why == "zero" else "initializer 'first_1'"
        if not error.isprintable() or place not in error:
            raise Failure(f"error does not name the initializer: {error[:99]!r}")
        return
    if ran.returncode:
        raise Failure(last_words(ran))
    if (np.load(result) != np.load(frames) + 2 * external_models.numbers_of(reference)).any():
        raise Failure("other numbers")
    result.unlink()


def case_external(tools, work, seed):
    external_models.make_files(work)
    frames = work / "x.npy"
    np.save(frames, external_models.VALUES + 1)
    for reference in external_models.references(seed):
        try:
            check_external(tools, work, reference, frames)
        except Failure as why:
            told = f"bad: {reference.why}" if reference.why else "good"
            raise Failure(f"{str(reference.entries)[:99]} ({told}): {why}") from None


def case_no_file(tools, work, path):
    check_rejected(tools.compile(work / path, work / "out"), work / "out")


def case_help(tools, work, tool):
    for option in ("--help", "--version"):
        if not tools.must_run(tool, option, cwd=work).stdout.strip():
            raise Failure(f"{option} prints nothing")


def case_example_is_current(_tools, work):
    """The shipped example is what its generator writes."""
    script = ROOT / "examples" / "make_small_cnn.py"
    made = run_command([sys.executable, str(script), str(work / "small_cnn")])
    if made.returncode:
        raise Failure(last_words(made))
    check_same_files(work / "small_cnn", ROOT / "examples" / "small_cnn")


# Collecting.

def subject_in(folder, name, model_file="model.onnx"):
    return Subject(name, folder / model_file, folder / "input.npy",
                   np.load(folder / "output.npy"))


def fixed_subjects():
    """Examples, and the networks and kernels that the environment names."""
    subjects = [subject_in(ROOT / "examples" / "small_cnn", "small_cnn")]
    models, mlir = os.environ.get("MING_MODELS"), os.environ.get("MING_MLIR")
    if models:
        folder = pathlib.Path(models).resolve()
        subjects += [subject_in(folder / name, name) for name in NETWORKS]
    if mlir:
        folder = pathlib.Path(mlir).resolve() / "kernels"
        subjects += [subject_in(folder / name, name, "model.mlir")
                     for name in KERNELS]
    for name in ("MING_MODELS", "MING_MLIR"):
        if not os.environ.get(name):
            print(f"note: {name} is not set; its models are left out")
    return subjects


def network_subjects(names):
    """Further networks of MING_MODELS."""
    models = os.environ.get("MING_MODELS")
    folder = pathlib.Path(models).resolve() if models else None
    return [subject_in(folder / name, name) for name in names if folder]


def large_cases():
    """What is too large for every budget: one design each."""
    models, mlir = os.environ.get("MING_MODELS"), os.environ.get("MING_MLIR")
    for name in LARGE_NETWORKS if models else ():
        subject = subject_in(pathlib.Path(models).resolve() / name, name)
        yield f"large/{name}", case_large, (subject, 1, "--device=zcu102")
    for name in LARGE_KERNELS if mlir else ():
        folder = pathlib.Path(mlir).resolve() / "kernels" / name
        subject = subject_in(folder, name, "model.mlir")
        yield f"large/{name}", case_large, (subject, None, "--dsp=250")


def stored(model, folder):
    """A generated model as a Subject with files in `folder`."""
    gen_models.write_model(model, folder / model.name)
    subject = subject_in(folder / model.name, model.name)
    return dataclasses.replace(subject, may_reject=model.may_reject, compiler=CXX)


PORT_OPTIONS = {"m_axi": ("--interface=m_axi",), "load": ("--weights=load:512",),
                "m_axi-load": ("--interface=m_axi", "--weights=load")}


def port_cases(subjects, budgets, kinds):
    """Memories at the boundary, weights that are loaded, and both."""
    for subject in subjects:
        for kind in kinds:
            for dsp in budgets:
                yield (f"ports/{subject.name}/{kind}/dsp{dsp}", case_run,
                       (subject, dsp, *PORT_OPTIONS[kind]))


def whole_flow_cases(subjects, budgets):
    """The cases that each named model must pass."""
    for subject in subjects:
        name = subject.name
        for dsp in budgets:
            yield f"run/{name}/dsp{dsp}", case_run, (subject, dsp)
        yield f"stages/{name}", case_stages, (subject, BUDGETS[1])
        yield f"cosim/{name}", case_cosim, (subject,)
        yield f"unroll/{name}", case_unroll, (subject,)
        yield f"repeat/{name}", case_repeat, (subject,)
        yield f"folding/{name}", case_folding, (subject, f"--dsp={budgets[-1]}")
        yield f"folding-ports/{name}", case_folding, (subject, *PORT_OPTIONS["m_axi-load"])
        yield f"impossible-dsp/{name}", case_impossible, (subject, "dsp", "DSP")
        yield f"impossible-bram/{name}", case_impossible, (subject, "bram", "BRAM")


def generated_cases(args, folder):
    count = args.count if args.count is not None else 5 if args.quick else 22
    for index in range(count):
        subject = stored(gen_models.generate(args.seed, index), folder)
        budget = BUDGETS[index // len(gen_models.FAMILIES) % len(BUDGETS)]
        budgets = (budget,) if args.quick else BUDGETS[::2]
        for dsp in budgets:
            yield f"run/{subject.name}/dsp{dsp}", case_run, (subject, dsp)
        if not args.quick or index % 4 == 0:
            yield f"folding/{subject.name}", case_folding, (subject, f"--dsp={budget}")
    for model in gen_models.generate_named(args.seed):
        subject = stored(model, folder)
        yield f"names/{subject.name}", case_names, (subject,)
        yield f"folding/{subject.name}", case_folding, (subject,)
        yield (f"names-ports/{subject.name}", case_names,
               (subject, *PORT_OPTIONS["m_axi-load"]))


def collect_cases(args, folder):
    subjects = fixed_subjects()
    example = subjects[0]
    some = subjects[:2] + subjects[-1:] if args.quick and len(subjects) > 3 else subjects
    yield from whole_flow_cases(some, BUDGETS[1:2] if args.quick else BUDGETS)
    yield from port_cases(some + network_subjects(RESIDUAL_NETWORKS),
                          BUDGETS[2:], ["m_axi-load"] if args.quick else PORT_OPTIONS)
    for subject in [] if args.quick else network_subjects(LARGE_NETWORKS):
        yield (f"run/{subject.name}/m_axi-load", case_run,
               (subject, 1000, "--bram=4000", *PORT_OPTIONS["m_axi-load"]))
    for kind, options in {"rom": (), **PORT_OPTIONS}.items():
        yield f"style/{example.name}/{kind}", case_style, (example, *options)
    for subject in network_subjects(RESIDUAL_NETWORKS):
        yield f"style/{subject.name}/rom", case_style, (subject,)
    for tool in ("ming", "ming-opt", "ming-translate"):
        yield f"help/{tool}", case_help, (tool,)
    for subject in network_subjects(RESIDUAL_NETWORKS):
        yield f"run/{subject.name}/dsp100", case_run, (subject, 100)
        yield f"cosim/{subject.name}", case_cosim, (subject,)
        yield f"folding/{subject.name}", case_folding, (subject,)
        yield (f"cosim-ports/{subject.name}", case_cosim,
               (subject, *PORT_OPTIONS["m_axi-load"]))
    if not args.quick:
        yield from large_cases()
    yield "example-is-current", case_example_is_current, ()
    yield "paths", case_paths, (example,)
    yield "top", case_top, (example,)
    yield "bad-frames", case_bad_frames, (example,)
    yield "hostile/external-references", case_external, (args.seed,)
    yield "hostile/missing-file", case_no_file, ("missing.onnx",)
    yield "hostile/folder", case_no_file, (".",)
    for bad in hostile_models.hostile_inputs(args.seed):
        yield f"hostile/{bad.name}", case_hostile, (bad,)
    yield from generated_cases(args, folder)


def run_case(tools, folder, case):
    """Runs one case and prints its line; true if it passes."""
    name, function, details = case
    work = folder / "work" / name
    work.mkdir(parents=True)
    try:
        remark = function(tools, work, *details)
    except Failure as failure:
        print(f"FAIL {name}: {failure}", flush=True)
        return False
    except (OSError, ValueError, KeyError) as error:   # missing or malformed file
        print(f"FAIL {name}: {type(error).__name__}: {error}", flush=True)
        return False
    print(f"PASS {name}" + (f" ({remark})" if remark else ""), flush=True)
    shutil.rmtree(work)
    return True


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--tools", default=ROOT / "build" / "tools",
                        help="folder of ming, ming-opt and ming-translate")
    parser.add_argument("--wrap", default="",
                        help="command before each tool, such as valgrind")
    parser.add_argument("--seed", type=int, default=1, help="of random models")
    parser.add_argument("--count", type=int, help="number of random models")
    parser.add_argument("--quick", action="store_true",
                        help="one budget for each model, fewer random models")
    parser.add_argument("--filter", default="",
                        help="regular expression that a case's name must contain")
    parser.add_argument("--keep", metavar="DIR", type=pathlib.Path,
                        help="leave models and outputs of failed cases there")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def run_all(args, folder):
    cases = [case for case in collect_cases(args, folder)
             if re.search(args.filter, case[0])]
    tools = Tools(args.tools, args.wrap)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        return list(pool.map(lambda case: run_case(tools, folder, case), cases))


def main():
    args = parse_args()
    print(f"seed {args.seed}")
    if args.keep:
        shutil.rmtree(args.keep, ignore_errors=True)
        args.keep.mkdir(parents=True)
        results = run_all(args, args.keep.resolve())
    else:
        with tempfile.TemporaryDirectory(prefix="ming-e2e-") as folder:
            results = run_all(args, pathlib.Path(folder))
    failed = results.count(False)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
