#!/usr/bin/env python3
"""Builds engines as C++ (`ming overlay`) and runs programs' files on them.

    engine_csim_check.py --tools=DIR [--models=DIR] [--seed=N] [--count=N] [--tiles=N] [--planes=N]
                         [--layers=N] [--large] [--imagenet [NAME...]] [--build=FLAGS]

Networks (overlay_check.py) are compiled, `ming engine --banks` writes the program
and the banks of external memory, the C++ runs them, and outputs are compared
with numpy's, element for element. So are random layers with random tiles, orders of
loops and maps outside (tiles_check.py), and networks of 1 to 3 bits with them
(popcount_engine_check.py): an engine is built once and runs the programs of all its
networks. Random layers of instructions (engine_check.py) have engines of their own, and are compared with numpy without any code of ming
but the C++. Programs and files that are wrong must be refused with their reason.
"""
import argparse
import itertools
import os
import pathlib
import random
import sys
import tempfile

import numpy as np

import engine_check
import overlay_check
import popcount_engine_check
import tiles_check
from case_loop import run_cases
from engine_cpp import FLAGS, Engine, Engines, compare, finish, run_network
from overlay_check import Failure, run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "bench"))
import imagenet_networks  # noqa: E402

ROOM = "act_pages=64,param_words=4096,w_words=65536,pe_words=2048"
ENGINES = {"8x16": f"rows=8,cols=16,{ROOM}", "4x4": f"rows=4,cols=4,{ROOM},acc=40,pu_stages=1",
           "16x16": f"rows=16,cols=16,{ROOM},fill_words=2", "8x2": f"rows=8,cols=2,{ROOM},pu_stages=3"}
# Of random tiles; those of little room leave the choice to the compiler.
ANY = "param_words=256,w_words=8192,act_pages=48,pe_words=4096"
FEW = "param_words=256,w_words=8192,pe_words=256"
TILED = {"4x4": f"rows=4,cols=4,act=i8,weight=i8,{ANY},pu_stages=1",
         "8x16": f"rows=8,cols=16,weight=i8,{ANY},weight_banks=2",
         "16x16": f"rows=16,cols=16,act=i8,{ANY},weight_banks=4,fill_words=2,pu_stages=2",
         "8x2": f"rows=8,cols=2,{ANY},pu_stages=3"}
NARROW = {"4x4-few": f"rows=4,cols=4,{FEW},act_pages=5,acc_words=16",
          "16x16-few": f"rows=16,cols=16,act=i8,weight=i8,{FEW},act_pages=6,acc_words=4"}
# Of planes: rows, columns, bits of weights and activations, sign, form of the processing unit.
PLANES = [(4, 4, 1, 1, False, 2), (4, 4, 2, 3, True, 0), (4, 4, 3, 2, False, 1), (8, 16, 1, 2, False, 1),
          (8, 16, 2, 3, False, 0), (8, 16, 1, 2, True, 0), (16, 16, 1, 3, False, 2),
          (16, 16, 3, 3, True, 0), (8, 128, 2, 1, False, 0)]
TRIES = 40                              # of which one draws tiles that an engine holds
MODELS = ["two_layers", "resnet8_a8w8b16"]
LARGE_ROOM = "act_pages=128,param_words=16384,w_words=65536,pe_words=1024"
LARGE = ["rows=16,cols=16", "rows=8,cols=16", "rows=4,cols=4"]
IMAGENET = ["mobilenet_v1", "resnet18", "resnet50_v15"]


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


# Random tiles, orders of loops and maps outside, on engines that are built once.

def overlay_of(words):
    """An engine's sizes as networks of engine_check.py have them."""
    overlay = engine_check.Overlay(random.Random(0))
    names = {"act": "act_bits", "weight": "weight_bits"}
    overlay.act_bits, overlay.weight_bits, overlay.weight_banks = 16, 16, 1
    overlay.fill_words, overlay.acc_words, overlay.pu_stages = 1, 1024, 4
    for name, value in (pair.split("=") for pair in words.split(",")):
        setattr(overlay, names.get(name, name), int(value.removeprefix("i")))
    return overlay


def check_program(tools, engine, folder, inputs, outputs):
    """The simulator's and the C++'s outputs of folder/p.mir."""
    overlay_check.compare(tools, folder, inputs, outputs, 0)
    compare(run_network(tools, engine, folder, inputs), outputs)


def check_tiles(tools, engine, seed, index, folder):
    is_drawn = engine.overlay not in NARROW.values()
    overlay = overlay_of(engine.overlay)
    for attempt in range(TRIES):
        rng = random.Random(f"{seed}/{index}/{attempt}/{engine.overlay}")
        net = tiles_check.Tiled(rng, np.random.default_rng(rng.getrandbits(32)), overlay)
        text = tiles_check.text_of(rng, net, is_drawn)
        if tiles_check.is_held(tiles_check.lower(tools, folder, text)):
            return check_program(tools, engine, folder, net.nodes[0].array.astype(f"i{net.bits // 8}"),
                                 net.output.array)
    raise Failure("holds no tiles")


def planes_engine(rows, cols, weights, acts, is_signed, kind):
    planes = popcount_engine_check.Planes(random.Random(0))
    planes.weights, planes.acts, planes.is_signed = weights, acts, is_signed
    sizes = f"rows={rows},cols={cols},{planes.types},{popcount_engine_check.ROOM},acc_words=1024"
    return f"{sizes},pu_stages={acts}{f',pu_kind={kind}' if kind else ''}"


def check_planes(tools, engine, case, seed, index, folder):
    """Of networks for these bits; sums of more bits need a whole processing unit."""
    *_, weights, acts, is_signed, kind = case
    for attempt in range(TRIES):
        name = f"{index}/{attempt}/{engine.overlay}"
        rng = random.Random(f"{seed}/{name}")
        planes = popcount_engine_check.Planes(rng)
        planes.weights, planes.acts, planes.is_signed = weights, acts, is_signed
        net, planes = popcount_engine_check.generate(seed, name, planes, may_sum=not kind)
        (folder / "m.onnx").write_bytes(net.encode())
        if tiles_check.lower_planes(tools, folder, rng, engine.overlay):
            return check_program(tools, engine, folder, net.source.array[:1], net.result.array[:1])
    raise Failure("holds no tiles")


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


def make_other_engines(args, engines):
    """Cases of engines that are for one kind of network."""
    tools, build = args.tools, engines.build
    for name, overlay in {**TILED, **NARROW}.items() if args.large else ():
        for i in range(args.tiles):
            yield (f"tiles-{name}-{args.seed}-{i}", lambda f, o=overlay, n=i: check_tiles(
                tools, build(o), args.seed, n, f))
    for case in PLANES:
        for i in range(args.planes):
            yield (f"planes-{case}-{args.seed}-{i}", lambda f, c=case, n=i: check_planes(
                tools, build(planes_engine(*c)), c, args.seed, n, f))


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
        for i in range(args.tiles):
            yield f"tiles-{name}-{args.seed}-{i}", lambda f, e=engine, n=i: check_tiles(tools, e, args.seed, n, f)
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
    parser.add_argument("--tiles", type=int, default=3, help="networks of random tiles for each engine")
    parser.add_argument("--planes", type=int, default=0,
                        help=f"networks of 1 to 3 bits for each of {len(PLANES)} engines, built in a minute")
    parser.add_argument("--layers", type=int, default=0, help="layers, 5 s each")
    parser.add_argument("--frames", type=int, default=1, help="of models")
    parser.add_argument("--large", action="store_true", help="ten engines, and MobileNetV2 on three")
    parser.add_argument("--imagenet", nargs="*", default=[], choices=IMAGENET,
                        help="networks of bench/imagenet_networks.py on three engines, minutes each")
    parser.add_argument("--build", default=FLAGS,
                        help="flags of the compiler")
    args = parser.parse_args()
    args.models = args.models and pathlib.Path(args.models)
    with tempfile.TemporaryDirectory() as builds:
        names = list(ENGINES) if args.large else ["8x16"]
        engines = Engines(args.tools, pathlib.Path(builds), args.build, {name: ENGINES[name] for name in names})
        cases = itertools.chain(make_cases(args, engines), make_other_engines(args, engines))
        return run_cases(cases, [Failure, engine_check.Failure])


if __name__ == "__main__":
    sys.exit(main())
