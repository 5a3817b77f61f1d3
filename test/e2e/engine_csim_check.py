#!/usr/bin/env python3
"""Builds engines as C++ (`ming overlay`) and runs programs' files on them.

    engine_csim_check.py --tools=DIR [--models=DIR] [--seed=N] [--count=N] [--layers=N] [--large]
                         [--imagenet [NAME...]] [--build=FLAGS]

Networks (overlay_check.py) are compiled, `ming engine --banks` writes the program
and the banks of external memory, the C++ runs them, and outputs are compared
with numpy's, element for element. Random layers of instructions (engine_check.py)
have engines of their own, and are compared with numpy without any code of ming
but the C++. Programs and files that are wrong must be refused with their reason.
"""
import argparse
import os
import pathlib
import random
import sys
import tempfile

import numpy as np

import engine_check
import overlay_check
from case_loop import run_cases
from overlay_check import Failure, run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "bench"))
import imagenet_networks  # noqa: E402

ROOM = "act_pages=64,param_words=4096,w_words=65536,pe_words=2048"
ENGINES = {"8x16": f"rows=8,cols=16,{ROOM}", "4x4": f"rows=4,cols=4,{ROOM},acc=40,pu_stages=1",
           "16x16": f"rows=16,cols=16,{ROOM},fill_words=2", "8x2": f"rows=8,cols=2,{ROOM},pu_stages=3"}
MODELS = ["two_layers", "resnet8_a8w8b16"]
LARGE_ROOM = "act_pages=128,param_words=16384,w_words=65536,pe_words=1024"
LARGE = ["rows=16,cols=16", "rows=8,cols=16", "rows=4,cols=4"]
IMAGENET = ["mobilenet_v1", "resnet18", "resnet50_v15"]


def finish(done):
    if done.returncode:
        raise Failure((done.stderr.decode().splitlines() or ["fails"])[0])


class Engine:
    """A built project."""

    def __init__(self, tools, folder, overlay, flags):
        self.overlay, self.folder = overlay, folder
        sizes = [f"--{pair.replace('_', '-')}" for pair in overlay.split(",")]
        finish(run(tools / "ming", "overlay", "-o", folder, *sizes))
        done = run("make", "-s", "-C", folder, f"CXXFLAGS={flags}", "engine_csim")
        if done.returncode or done.stderr:
            raise Failure(f"does not build: {done.stderr.decode()[:300]}")

    def run(self, program, banks, output):
        return run(self.folder / "engine_csim", program, *banks, output)


def run_network(tools, engine, folder, frame):
    """The outputs of one frame of folder/p.mir."""
    np.save(folder / "x.npy", frame)
    banks = folder / "banks"
    finish(run(tools / "ming", "engine", folder / "p.mir", f"--input={folder / 'x.npy'}",
               f"--banks={banks}"))
    finish(engine.run(banks / "program.bin", [banks / f"bank{i}.bin" for i in range(3)],
                      folder / "after.bin"))
    finish(run(tools / "ming", "engine", folder / "p.mir", f"--after=0:{folder / 'after.bin'}",
               f"--output={folder / 'y.npy'}"))
    return np.load(folder / "y.npy").reshape(-1)


def compare(got, want, tolerance=0):
    """Results that a host's floats follow on may be rounded otherwise."""
    if got.size != want.size:
        raise Failure(f"{got.size} elements, not {want.size}")
    differ = np.abs(got - want.reshape(-1).astype(np.float64)) > tolerance
    if differ.any():
        raise Failure(f"{int(differ.sum())} of {want.size} elements differ")


def compile_for(tools, model, folder, engine):
    refused = overlay_check.compile_program(tools, model, folder, engine.overlay)
    if refused:
        raise Failure(refused)


def check_random(tools, engine, seed, index, folder):
    net = overlay_check.generate(seed, index)
    (folder / "m.onnx").write_bytes(net.encode())
    compile_for(tools, folder / "m.onnx", folder, engine)
    tolerance = 0 if net.dyadic else 1e-5 * np.abs(net.result.array).max()
    compare(run_network(tools, engine, folder, net.source.array[:1]), net.result.array[:1], tolerance)


def check_model(tools, engine, model, folder, frames):
    compile_for(tools, model / "model.onnx", folder, engine)
    inputs, outputs = np.load(model / "input.npy"), np.load(model / "output.npy")
    for i in range(min(frames, len(inputs))):
        compare(run_network(tools, engine, folder, inputs[i:i + 1]), outputs[i:i + 1])


# Layers of instructions. Their banks are those of the engine's ports: parameters in 2, outputs behind
# the inputs.

def move_banks(builder):
    program, before = builder.program, len(builder.banks[0]) // engine_check.BEAT
    moved = []
    for item in program.items:
        if item[0] == "addr" and item[1] == "output":
            item = ("addr", "output", item[2] + before)
        elif item[0] == "exec" and item[1] in ("load_p", "store"):
            item = (*item[:4], {**item[4], "bank": {"load_p": 2, "store": 0}[item[1]]})
        moved.append(item)
    program.items = moved
    banks = [builder.banks[0] + builder.banks[2], builder.banks[1], builder.banks[1]]
    return banks, before * engine_check.BEAT


def check_layer(tools, seed, index, folder, flags):
    layer, builder = engine_check.generate(seed, index)
    banks, at = move_banks(builder)
    words = layer.overlay.text().split("<")[1].rstrip(">").replace(" ", "")
    engine = Engine(tools, folder / "engine", words, flags)
    (folder / "p.bin").write_bytes(builder.program.file())
    names = [folder / f"bank{i}" for i in range(3)]
    for name, data in zip(names, banks):
        name.write_bytes(data)
    finish(engine.run(folder / "p.bin", names, folder / "after"))
    engine_check.check_values(layer, (folder / "after").read_bytes()[at:])


# What is wrong.

def program_text(overlay, body):
    sizes = dict(pair.split("=") for pair in overlay.split(","))
    order = ["rows", "cols", "act", "weight", "acc", "act_pages", "w_words", "pe_words", "fill_words",
             "acc_words", "param_words", "pu_stages"]
    defaults = {"act": "i16", "weight": "i16", "acc": "48", "fill_words": "1", "acc_words": "1024",
                "pu_stages": "4"}
    text = ", ".join(f"{name} = {sizes.get(name) or defaults[name]}" for name in order)
    return f"sa.program @p overlay(#sa.overlay<{text}>) {{\n{body}\n}}\n"


WRONG = [
    ("sa.nop fill wait(2)\nsa.end", "deadlock:", "waits to read"),
    ("sa.nop fill signal(2)\nsa.end", "a semaphore that is not 0 at the end at 2"),
    ("sa.set rows, 1\nsa.set beats, 4\nsa.load_a bank(0)\nsa.end",
     "instruction 3 goes beyond a bank or a buffer"),
    ("sa.set fill_count, 4096\nsa.fill half(0) source(0)\nsa.end",
     "instruction 2 goes beyond a bank or a buffer"),
    ("sa.set rows, 0\nsa.load_w half(0) bank(3)\nsa.end", "a bank that no port leads to at 2"),
    ("sa.set pu_pc, 256\nsa.pu.store r0\nsa.end", "more instructions than the processing unit holds at 2"),
]


def check_wrong(tools, engine, case, folder):
    body, *reasons = case
    (folder / "p.mir").write_text(program_text(engine.overlay, body), encoding="ascii")
    (folder / "bank").write_bytes(bytes(64))
    finish(run(tools / "ming-translate", "--sa-to-binary", folder / "p.mir", "-o", folder / "p.bin"))
    refused(engine.run(folder / "p.bin", [folder / "bank"] * 3, folder / "after"), folder, reasons)


def refused(done, folder, reasons):
    lines = done.stderr.decode().splitlines()
    text = "\n".join(line for line in lines if "ASan doesn't fully support makecontext" not in line)
    if done.returncode != 1 or not text.startswith("error: ") or not all(r in text for r in reasons):
        raise Failure(f"ends with {done.returncode}: {text[:200]!r}")
    if (folder / "after").exists():
        raise Failure("writes an output all the same")


def check_files(tools, engine, folder):
    """Files that are no program, or one of another engine; programs without an end or with a word that
    is no instruction."""
    other = engine.overlay.replace("acc_words=", "").replace("pe_words=2048", "pe_words=1024")
    (folder / "bank").write_bytes(bytes(64))
    for overlay in (engine.overlay, other):
        (folder / "p.mir").write_text(program_text(overlay, "sa.set rows, 1\nsa.end"), encoding="ascii")
        finish(run(tools / "ming-translate", "--sa-to-binary", folder / "p.mir", "-o",
                   folder / ("p.bin" if overlay == engine.overlay else "other.bin")))
    data = (folder / "p.bin").read_bytes()
    fingerprints = [(folder / name).read_bytes()[8:40].hex() for name in ("other.bin", "p.bin")]
    cases = {"other.bin": (None, "is for another engine than #sa.overlay<"),
             "alien.bin": ((folder / "other.bin").read_bytes(), ": it has {}, not {}".format(*fingerprints)),
             "none.bin": (None, "cannot read"),
             "short.bin": (data[:-4], "does not have the instructions that it says"),
             "magic.bin": (b"X" + data[1:], "is no program of an overlay"),
             "word.bin": (data[:-8] + b"\xff" * 4 + data[-4:], "no instruction at 1"),
             "register.bin": (data[:-8] + b"\x00\x00\xff\x8f" + data[-4:], "instruction 1 sets no register"),
             "end.bin": (data[:-4] + data[-8:-4], "no end behind the last instruction at 2")}
    for name, (content, reason) in cases.items():
        if content is not None:
            (folder / name).write_bytes(content)
        try:
            refused(engine.run(folder / name, [folder / "bank"] * 3, folder / "after"), folder, [reason])
        except Failure as why:
            raise Failure(f"{name}: {why}") from why


def check_large(args, model, sizes, folder):
    engine = Engine(args.tools, folder / "engine", f"{sizes},{LARGE_ROOM}", args.build)
    check_model(args.tools, engine, model, folder, 1)


def check_imagenet(args, kind, sizes, folder):
    """Of an image of 224 x 224, against numpy's outputs."""
    imagenet_networks.write_imagenet(folder / "model", kind)
    check_large(args, folder / "model", sizes, folder)


def make_cases(args, engines):
    tools = args.tools
    first = engines["8x16"]
    for number, case in enumerate(WRONG):
        yield f"wrong-{number}", lambda f, c=case: check_wrong(tools, first, c, f)
    yield "files", lambda f: check_files(tools, first, f)
    for name, engine in engines.items():
        for i in range(args.count):
            yield (f"random-{name}-{args.seed}-{i}",
                   lambda f, e=engine, n=i: check_random(tools, e, args.seed, n, f))
        for model in MODELS if args.models else []:
            yield (f"{model}-{name}",
                   lambda f, e=engine, m=model: check_model(tools, e, args.models / m, f, args.frames))
    for i in range(args.layers):
        yield f"layer-{args.seed}-{i}", lambda f, n=i: check_layer(tools, args.seed, n, f, args.build)
    if args.large and args.models:
        for sizes in LARGE:
            yield (f"mobilenet_v2-{sizes}", lambda f, s=sizes: check_large(
                args, args.models / "mobilenet_v2_a8w6b32", s, f))
    for kind in args.imagenet:
        for sizes in LARGE:
            yield (f"{kind}-{sizes}", lambda f, k=kind, s=sizes: check_imagenet(args, k, s, f))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True, type=pathlib.Path)
    parser.add_argument("--models", type=pathlib.Path, default=os.environ.get("MING_MODELS"),
                        help="default: the folder that MING_MODELS names")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=4, help="networks for each engine")
    parser.add_argument("--layers", type=int, default=0, help="layers, 5 s each")
    parser.add_argument("--frames", type=int, default=1, help="of models")
    parser.add_argument("--large", action="store_true", help="four engines, and MobileNetV2 on three")
    parser.add_argument("--imagenet", nargs="*", default=[], choices=IMAGENET,
                        help="networks of bench/imagenet_networks.py on three engines, minutes each")
    parser.add_argument("--build", default="-std=c++17 -O1 -Wall -Wextra -Wno-unknown-pragmas -Wno-unused-label",
                        help="flags of the compiler")
    args = parser.parse_args()
    args.models = args.models and pathlib.Path(args.models)
    with tempfile.TemporaryDirectory() as builds:
        names = list(ENGINES) if args.large else ["8x16"]
        engines = {name: Engine(args.tools, pathlib.Path(builds) / name, ENGINES[name], args.build)
                   for name in names}
        return run_cases(make_cases(args, engines), [Failure, engine_check.Failure])


if __name__ == "__main__":
    sys.exit(main())
