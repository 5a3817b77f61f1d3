#!/usr/bin/env python3
"""Checks that random kernels and graphs stream, and stream exactly.

    streaming_check.py --tools=DIR [--seed=N] [--count=N] [--graphs=N]

Each random function (gen_kernels.py, gen_graphs.py) has its results by numpy.
They are compared with upstream's mlir-cpu-runner where that is installed, with
`ming run`, and with the C++ that `ming compile` emits for a random budget. The
C++ of many designs is built as one program, each in a namespace of its own.
Failures are printed as `FAIL name: why`, refusals with their diagnostic; then
a table by kind; the last line counts.
"""
import argparse
import ast
import collections
import concurrent.futures
import dataclasses
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import gen_graphs
import gen_kernels
import gen_linalg
from run_check import LOWERING, Failure, check_equal, command, runner_libraries, upstream

BUDGETS = (1, 4, 16, 64, 250, 1248)     # DSP
CPP_BATCH, UPSTREAM_BATCH = 20, 100
MAX_REFUSED = 0.02
CPP_FLAGS = ("-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas")


@dataclasses.dataclass
class Case:
    number: int
    kind: str
    model: gen_linalg.LinalgModel
    folder: pathlib.Path
    dsp: int
    failures: list = dataclasses.field(default_factory=list)
    refusal: str = ""

    @property
    def name(self):
        return self.model.name

    @property
    def top(self):
        return f"design{self.number}"

    @property
    def inputs(self):
        return [self.folder / f"input{i}.npy" for i in range(len(self.model.inputs))]

    @property
    def outputs(self):
        return [self.folder / f"got{i}.npy" for i in range(len(self.model.expected))]

    def check_outputs(self, what):
        for number, (path, want) in enumerate(zip(self.outputs, self.model.expected)):
            check_equal(np.load(path).reshape(want.shape), want, f"{what}: result {number}")


def attempt(case, step, *args):
    try:
        step(case, *args)
    except (Failure, OSError, ValueError, subprocess.TimeoutExpired) as failure:
        case.failures.append(str(failure))


# ming compile and ming run.

def compile_case(case, ming):
    """With the budget drawn, or the one that is named if no design fits that."""
    compile_once(case, ming)
    needed = re.search(r"the smallest design needs (\d+) DSP", case.refusal)
    if needed:
        case.dsp, case.refusal = int(needed.group(1)), ""
        compile_once(case, ming)


def compile_once(case, ming):
    result = subprocess.run(
        [ming, "compile", case.folder / "model.mlir", "-o", case.folder / "hls",
         f"--top={case.top}", f"--dsp={case.dsp}", "--bram=4000",
         f"--rewind={'on' if case.number % 2 else 'off'}",
         *(["--objective=pipeline-latency"] if case.number % 4 < 2 else []),     # which tries orders of loops
         f"--residual={'reuse,merge' if case.number % 3 == 0 else 'all'}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, timeout=300)
    if result.returncode == 0:
        return
    lines = [line for line in result.stderr.splitlines() if "error: " in line]
    if result.returncode != 1 or not lines:
        raise Failure(f"ming compile exits with {result.returncode}: {result.stderr[-300:]}")
    case.refusal = lines[0].split("error: ", 1)[1]


def run_case(case, ming):
    command(ming, "run", case.folder / "model.mlir",
            *(f"--input={path}" for path in case.inputs),
            *(f"--output={path}" for path in case.outputs))
    case.check_outputs("ming run")


def use_ming(case, ming):
    attempt(case, compile_case, ming)
    attempt(case, run_case, ming)


# mlir-cpu-runner, on the first frame.

# tensor.concat has no bufferization of its own.
CONCAT_AS_INSERTS = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %funcs = transform.structured.match ops{["func.func"]} in %module
        : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %funcs {
      transform.apply_patterns.tensor.decompose_concat
    } : !transform.any_op
    transform.yield
  }
}
"""


def runner_text(case):
    """The function, and one without arguments that prints its results."""
    text = case.model.text.replace("@net", f"@net{case.number}")
    lines, names, kinds = [], [], []
    signature = re.search(r"@net\d+\((.*)\) -> \((.*)\) \{", text)
    arguments = re.findall(r"%arg\d+: (tensor<[^>]*>)", signature.group(1))
    results = re.findall(r"tensor<[^>]*>", signature.group(2))
    for i, (kind, array) in enumerate(zip(arguments, case.model.inputs)):
        lines.append(f"%a{i} = arith.constant dense<\"0x{raw(array, kind)}\"> : {kind}")
        names.append(f"%a{i}")
        kinds.append(kind)
    lines.append(f"%r:{len(results)} = call @net{case.number}({', '.join(names)}) : "
                 f"({', '.join(kinds)}) -> ({', '.join(results)})")
    for i, kind in enumerate(results):
        lines += print_lines(i, kind)
    body = "\n    ".join(lines)
    return f"{text}\nfunc.func @run{case.number}() {{\n    {body}\n    return\n}}\n"


def shape_of(kind):
    return [int(extent) for extent in re.findall(r"(\d+)x", kind)]


def raw(array, kind):
    """The first frame's bytes as MLIR keeps them; i1 are packed bits."""
    shape, bits = shape_of(kind), int(re.search(r"[if](\d+)>", kind).group(1))
    frame = array.reshape(gen_linalg.FRAMES, *shape)[0]
    if kind.endswith("f32>"):
        return frame.astype("<f4").tobytes().hex()
    if bits == 1:
        return np.packbits(frame.reshape(-1).astype(np.uint8), bitorder="little").tobytes().hex()
    words = (frame.reshape(-1, 1) & ((1 << bits) - 1)).astype("<u8").view(np.uint8)
    return words[:, :(bits + 7) // 8].tobytes().hex()


def print_lines(i, kind):
    shape, wide = shape_of(kind), re.sub(r"[if]\d+>", "i64>", kind)
    dims = ", ".join(f"d{axis}" for axis in range(len(shape)))
    same = f"affine_map<({dims}) -> ({dims})>"
    kinds = ", ".join(['"parallel"'] * len(shape))
    elem = re.search(r"([if]\d+)>", kind).group(1)
    widen = {"i1": "extui", "f32": "fptosi"}.get(elem, "extsi")
    return [f"%e{i} = tensor.empty() : {wide}",
            f"%w{i} = linalg.generic {{indexing_maps = [{same}, {same}], "
            f"iterator_types = [{kinds}]}} ins(%r#{i} : {kind}) outs(%e{i} : {wide}) {{",
            f"^bb0(%x: {elem}, %y: i64):",
            f"%z = arith.{widen} %x : {elem} to i64",
            f"linalg.yield %z : i64 }} -> {wide}",
            f"%u{i} = tensor.cast %w{i} : {wide} to tensor<*xi64>",
            f"call @printMemrefI64(%u{i}) : (tensor<*xi64>) -> ()"]


def use_upstream(batch, folder, tools):
    opt, runner = tools
    path = folder / f"upstream{batch[0].number}.mlir"
    calls = "\n  ".join(f"call @run{case.number}() : () -> ()" for case in batch)
    path.write_text(
        "func.func private @printMemrefI64(tensor<*xi64>) attributes {llvm.emit_c_interface}\n"
        + "".join(map(runner_text, batch)) + f"func.func @main() {{\n  {calls}\n  return\n}}\n")
    lowered = path.with_suffix(".lowered")
    library = path.with_suffix(".transform")
    library.write_text(CONCAT_AS_INSERTS)
    passes = ",".join((f"transform-preload-library{{transform-library-paths={library}}}",
                       "transform-interpreter", *LOWERING))
    lowered.write_text(command(opt, f"--pass-pipeline=builtin.module({passes})", path))
    printed = command(runner, lowered, "-O0", "-e", "main", "--entry-point-result=void",
                      f"--shared-libs={runner_libraries(runner)}")
    arrays = [np.array(ast.literal_eval(text), np.int64)
              for text in re.findall(r"data =\s*(\[[^=]*\])", printed)]
    for case in batch:
        for number, want in enumerate(case.model.expected):
            got = arrays.pop(0).reshape(-1)
            attempt(case, check_upstream, got, want, number)


def check_upstream(_case, got, want, number):
    frame = want.reshape(gen_linalg.FRAMES, -1)[0]
    check_equal(got.reshape(frame.shape), frame, f"mlir-cpu-runner: result {number}")


# The emitted C++.

def shared_headers(batch):
    """What the sources of the designs include from elsewhere."""
    lines = set()
    for case in batch:
        for path in sorted((case.folder / "hls").glob("*.[ch]*")):
            lines.update(re.findall(r'^#include (?:<.*>|"csim/.*")', path.read_text(), re.M))
    return sorted(lines)


LASTING = re.compile(r"^( +static [^=;()]*?(\w+)(?:(?:\[\d+\])+|\{\});)$", re.M)


def without_history(case):
    """The C++ of a design whose memories hold anything when a frame begins."""
    path = case.folder / "hls" / f"{case.top}.cpp"
    changed = path.with_name(f"{case.top}_forgetful.cpp")
    changed.write_text(LASTING.sub(r"\1 forget(\2);", path.read_text()))
    return changed


def write_program(batch, path):
    """One source file: each design in a namespace, a main that runs them all.
    The headers they share come first, outside."""
    csim = batch[0].folder / "hls" / "csim"
    headers = shared_headers(batch)
    parts = [f"namespace {case.top}_space {{\n"
             f'#include "{without_history(case)}"\n'
             f'#include "{case.folder}/hls/{case.top}_tb.cpp"\n}}' for case in batch]
    calls = [f'        {{"{case.top}", {case.top}_space::test_main, '
             f"{{{', '.join(quoted(path) for path in [*case.inputs, *case.outputs])}}}}},"
             for case in batch]
    path.write_text("\n".join([
        "#include <algorithm>", "#include <cstdint>", "#include <cstdio>", "#include <cstdlib>",
        "#include <string>", "#include <vector>", "#include <hls_vector.h>", *headers, FORGET,
        "#define main test_main", *parts,
        "#undef main", MAIN % "\n".join(calls)]))
    return csim


def quoted(path):
    return f'"{path}"'


FORGET = """
inline std::int64_t anything()
{
    static std::uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>(state >> 40) - (1 << 23);
}

template <class T>
void forget(T &value) { value = T(anything()); }

template <class T, std::size_t N>
void forget(hls::vector<T, N> &word)
{
    for (T &value : word)
        forget(value);
}

template <class T, std::size_t N>
void forget(T (&memory)[N])
{
    for (T &part : memory)
        forget(part);
}
"""

MAIN = """
struct Design {
    std::string name;
    int (*test)(int, char **);
    std::vector<std::string> files;
};

int main(int, char **argv)
{
    std::vector<Design> designs{
%s
    };
    for (std::size_t i = std::strtoul(argv[1], nullptr, 10); i < designs.size(); i++) {
        std::vector<char *> words{designs[i].name.data()};
        for (std::string &file : designs[i].files)
            words.push_back(file.data());
        std::printf("status %%d\\n", designs[i].test(static_cast<int>(words.size()), words.data()));
        std::fflush(stdout);
    }
}
"""


def build_cpp(batch, program):
    """Builds the designs that compile, which are returned; the others fail."""
    while batch:
        csim = write_program(batch, program.with_suffix(".cpp"))
        result = subprocess.run(
            [*os.environ.get("CXX", "g++").split(), *CPP_FLAGS, f"-I{csim}", "-I", csim.parent,
             program.with_suffix(".cpp"), "-o", program],
            stderr=subprocess.PIPE, text=True, check=False, timeout=600)
        if result.returncode == 0:
            break
        errors = [line for line in result.stderr.splitlines() if "error" in line]
        bad = [case for case in batch if f"{case.folder}/" in "\n".join(errors)] or batch
        for case in bad:
            case.failures.append(f"C++: {errors[0] if errors else result.stderr[-300:]}")
        batch = [case for case in batch if case not in bad]
    return batch


def use_cpp(batch, folder):
    """Builds and runs a batch; behind a design that crashes it goes on with the next."""
    program = folder / f"program{batch[0].number}"
    batch = build_cpp(batch, program)
    first = 0
    while first < len(batch):
        result = subprocess.run([program, str(first)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, check=False, timeout=600)
        statuses = [int(number) for number in re.findall(r"^status (\d+)", result.stdout, re.M)]
        for case, status in zip(batch[first:], statuses):
            if status == 0:
                attempt(case, Case.check_outputs, f"C++ for {case.dsp} DSP")
            else:
                case.failures.append(f"C++: the testbench ends with {status}")
        first += len(statuses)
        if first < len(batch):
            batch[first].failures.append(f"C++: crashes: {result.stderr[-200:]}")
            first += 1


# All of it.

def make_cases(args, folder):
    models = [gen_kernels.generate(args.seed, i) for i in range(args.count)]
    models += [gen_graphs.generate(args.seed, i) for i in range(args.graphs)]
    cases = []
    for number, model in enumerate(models):
        if not re.search(args.filter, model.name):
            continue
        rng = random.Random(f"budget/{args.seed}/{number}")
        case = Case(number, model.name.rpartition("-")[0], model, folder / model.name,
                    rng.choice(BUDGETS))
        gen_linalg.write_model(model, case.folder)
        cases.append(case)
    return cases


def batches(cases, size):
    return [cases[i:i + size] for i in range(0, len(cases), size)]


def check_all(args, cases, folder):
    ming = pathlib.Path(args.tools).resolve() / "ming"
    tools = upstream("mlir-opt"), upstream("mlir-cpu-runner")
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(lambda case: use_ming(case, ming), cases))
        if all(tools):
            list(pool.map(lambda batch: use_upstream(batch, folder, tools),
                          batches(cases, UPSTREAM_BATCH)))
        built = [case for case in cases if (case.folder / "hls").is_dir()]
        list(pool.map(lambda batch: use_cpp(batch, folder), batches(built, CPP_BATCH)))


def report(cases):
    """Prints what failed or was refused and the counts by kind."""
    kinds = collections.defaultdict(collections.Counter)
    for case in cases:
        outcome = "failed" if case.failures else "refused" if case.refusal else "exact"
        kinds[case.kind][outcome] += 1
        for failure in case.failures:
            print(f"FAIL {case.name}: {failure}")
        if case.refusal:
            print(f"REFUSED {case.name}: {case.refusal}")
    for kind, counts in sorted(kinds.items()):
        print(f"{kind}: {counts['exact']} exact, {counts['refused']} refused, "
              f"{counts['failed']} failed")
    total = sum(kinds.values(), collections.Counter())
    refused = sum(case.refusal != "" for case in cases)
    print(f"{refused} of {len(cases)} refused: {100 * refused / max(1, len(cases)):.1f} %")
    if refused > MAX_REFUSED * len(cases):
        print(f"FAIL refusals: more than {100 * MAX_REFUSED:.0f} %")
        total["failed"] += 1
    print(f"{total['exact'] + total['refused']} passed, {total['failed']} failed")
    return total["failed"]


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--tools", required=True, help="folder of ming")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=500, help="number of kernels")
    parser.add_argument("--graphs", type=int, default=100, help="number of graphs")
    parser.add_argument("--filter", default="",
                        help="regular expression that a case's name must contain")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR",
                        help="leave models and designs there")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def main():
    args = parse_args()
    print(f"seed {args.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="ming-streaming-") as scratch:
        folder = pathlib.Path(scratch)
        if args.keep:
            shutil.rmtree(args.keep, ignore_errors=True)
            args.keep.mkdir(parents=True)
            folder = args.keep.resolve()
        cases = make_cases(args, folder)
        check_all(args, cases, folder)
        failed = report(cases)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
