#!/usr/bin/env python3
"""The host of overlays' engines, emulated: its program runs frames on the engine's C++ in place of a card.

    overlay_host_check.py --tools=DIR [--seed=N] [--count=N] [--build=FLAGS]

A project is written for three kernels and built once. Programs of random networks (overlay_check.py) and of
small_cnn run 1 to 9 frames, up to 3 in a call, on 1 to 3 kernels with 1 to 4 calls in flight each; results must be numpy's in every
element. The time that the host predicts must be within 5 % of the emulated card's clock, which follows what the
host does, call by call. Folders and files that are wrong must be refused with their reason.
The host for Zynq devices runs the same frames on a board (zynq_board.cpp) whose registers and memory are files.
"""
import argparse
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import overlay_check
from engine_cpp import compare, finish
from engine_csim_check import ROOM
from overlay_check import Failure, run

SIZES = f"rows=8,cols=16,{ROOM},weight_banks=2"
KERNELS = 3
SMALL = pathlib.Path(__file__).resolve().parents[2] / "examples" / "small_cnn"
TOLERANCE = 0.05


def build(tools, folder, flags):
    sizes = [f"--{pair.replace('_', '-')}" for pair in SIZES.split(",")]
    finish(run(tools / "ming", "overlay", "-o", folder, *sizes, f"--kernels={KERNELS}", "--device=u50"))
    link = (folder / "host/link.cfg").read_text(encoding="ascii")
    for line in ("nk=engine:3:engine_1.engine_2.engine_3", "sp=engine_2.maps_in:HBM[3]",
                 "sp=engine_2.weights:HBM[4]", "sp=engine_2.weights_1:HBM[5]"):
        if line not in link:
            raise Failure(f"link.cfg has no {line}")
    done = run("make", "-s", "-C", folder, f"CXXFLAGS={flags}", "host/engine_emulate")
    if done.returncode or done.stderr:
        raise Failure(f"does not build: {done.stderr.decode()[:600]}")


def seconds(text, where):
    return float(re.search(r"frames in ([0-9.]+) s: .*" + where, text, re.MULTILINE)[1])


def check(args, engine, folder, model, inputs, outputs, rng, tolerance=0):
    batch = rng.choice([1, 1, 2, 3])
    refused = overlay_check.compile_program(args.tools, model, folder, SIZES, f"--batch={batch}")
    if refused:
        raise Failure(refused)
    frames = rng.randint(1, 9)
    picks = [rng.randrange(len(inputs)) for _ in range(frames)]
    np.save(folder / "x.npy", inputs[picks])
    banks, results = folder / "banks", folder / "results.bin"
    finish(run(args.tools / "ming", "engine", folder / "p.mir", f"--input={folder / 'x.npy'}", f"--banks={banks}"))
    kernels, slots = rng.randint(1, KERNELS), rng.randint(1, 4)
    done = run("make", "-s", "-C", engine, "emulate", f"BANKS={banks}", f"RESULTS={results}",
               f"HOST_FLAGS=--kernels={kernels} --slots={slots}")
    finish(done)
    finish(run(args.tools / "ming", "engine", folder / "p.mir", f"--results={results}",
               f"--output={folder / 'y.npy'}"))
    results = np.load(folder / "y.npy")             # the last call's are filled up
    if len(results) != -(-frames // batch) * batch:
        raise Failure(f"{len(results)} results of {frames} frames in batches of {batch}")
    compare(results[:frames].reshape(-1), outputs[picks], tolerance)
    text = done.stdout.decode()
    if f"{frames} frames in" not in text:
        raise Failure(f"does not run {frames} frames: {text}")
    clock, model_time = seconds(text, "emulated card's clock"), seconds(text, "predicted by our model$")
    if abs(model_time / clock - 1) > TOLERANCE:
        raise Failure(f"{frames} frames, {kernels} kernels, {slots} slots: {model_time} s predicted, {clock} s on "
                      "the clock")


# The host for Zynq devices.

PHYSICAL, MEMORY = 0x70000000, 1 << 20


class Board:
    """Registers, memory, and what Linux says of it, as files; a process is the engine."""

    def __init__(self, engine, folder):
        self.engine, self.registers, self.buffer = engine, folder / "uio0", folder / "udmabuf0"
        self.sys = folder / "sys"
        self.told = self.sys / "class/u-dma-buf/udmabuf0"
        self.told.mkdir(parents=True)
        self.registers.write_bytes(bytes(4096))
        self.buffer.write_bytes(bytes(MEMORY))
        (self.told / "phys_addr").write_text(f"0x{PHYSICAL:016x}\n", encoding="ascii")
        (self.told / "size").write_text(f"{MEMORY}\n", encoding="ascii")

    def __enter__(self):
        self.process = subprocess.Popen([self.engine / "host/zynq_board", self.registers, self.buffer,
                                         hex(PHYSICAL)], stdin=subprocess.PIPE)
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=60)

    def run(self, *words):
        return run(self.engine / "host/engine_zynq", f"--registers={self.registers}", f"--buffer={self.buffer}",
                   f"--sys={self.sys}", *words)


def build_board(engine, flags):
    parts = sorted(path for path in engine.glob("*.o") if path.name != "engine_tb.o")
    done = run("make", "-s", "-C", engine, f"CXXFLAGS={flags}", "zynq")
    if done.returncode == 0:
        done = run("g++", *flags.split(), "-DMING_EMULATE", f"-I{engine}", f"-I{engine / 'host'}",
                   f"-I{engine / 'csim'}", "-include", engine / "csim/ming_fibres.h",
                   pathlib.Path(__file__).with_name("zynq_board.cpp"), *parts, "-o", engine / "host/zynq_board",
                   "-pthread")
    if done.returncode or done.stderr:
        raise Failure(f"does not build: {done.stderr.decode()[:600]}")


def check_zynq(args, engine, folder):
    """Frames of small_cnn, and a board that is not as it should be."""
    outputs = np.load(SMALL / "output.npy")
    refused = overlay_check.compile_program(args.tools, SMALL / "model.onnx", folder, SIZES)
    if refused:
        raise Failure(refused)
    banks, results, frames = folder / "banks", folder / "results.bin", folder / "x.npy"
    np.save(frames, np.load(SMALL / "input.npy")[:3])
    finish(run(args.tools / "ming", "engine", folder / "p.mir", f"--input={frames}", f"--banks={banks}"))
    with Board(engine, folder) as board:
        done = board.run("--kernels=1", "--slots=2", banks, results)
        finish(done)
        if b"on the device" not in done.stdout:
            raise Failure("does not say how many frames a second")
        synchronized = {path.name: path.read_text(encoding="ascii") for path in board.told.glob("sync_*")}
        if (synchronized["sync_for_device"], synchronized["sync_for_cpu"], synchronized["sync_direction"]) != (
                "1", "1", "2") or int(synchronized["sync_offset"]) + int(synchronized["sync_size"]) > MEMORY:
            raise Failure(f"synchronizes {synchronized}")
    finish(run(args.tools / "ming", "engine", folder / "p.mir", f"--results={results}",
               f"--output={folder / 'y.npy'}"))
    compare(np.load(folder / "y.npy").reshape(-1), outputs[:3], 0)
    nothing = folder / "nothing.bin"
    for words, *flags in (
            ("cannot open '", f"--registers={folder / 'uio7'}"),
            ("--registers has no engine number 2", "--kernels=2"),
            ("--registers takes FILE or FILE@ADDRESS, of whole pages", f"--registers={board.registers}@0x10"),
            ("cannot read '", f"--buffer={folder / 'udmabuf9'}"),
            ("the engine has not ended after 1 s", "--timeout=1", "--slots=1"),
            ("unknown option --xclbin=a", "--xclbin=a")):
        done = board.run("--kernels=1", *flags, banks, nothing)
        if done.returncode != 1 or words not in done.stderr.decode() or nothing.exists():
            raise Failure(f"{flags}: {done.returncode} {done.stderr.decode()[:200]}, not {words}")
    (board.told / "size").write_text("4096\n", encoding="ascii")
    done = board.run("--kernels=1", banks, nothing)
    if done.returncode != 1 or "has 4096 bytes, which are too few" not in done.stderr.decode():
        raise Failure(done.stderr.decode()[:200])


def expect_refusal(args, engine, banks, words, *flags):
    done = run(engine / "host/engine_emulate", *flags, *([banks] if banks else []), args.scratch / "no.bin")
    if done.returncode != 1 or words not in done.stderr.decode() or (args.scratch / "no.bin").exists():
        raise Failure(f"{done.returncode} {done.stderr.decode()[:200]}, not {words}")


def check_refusals(args, engine, folder):
    """Bytes of files, one after the other."""
    refused = overlay_check.compile_program(args.tools, SMALL / "model.onnx", folder, SIZES)
    if refused:
        raise Failure(refused)
    good = folder / "banks"
    finish(run(args.tools / "ming", "engine", folder / "p.mir", f"--input={SMALL / 'input.npy'}", f"--banks={good}"))
    program = (good / "program.bin").read_bytes()
    for name, data, words in (
            ("program.bin", program[:50], "is no program of an overlay"),
            ("program.bin", b"MSA2" + program[4:], "is no program of an overlay"),
            ("program.bin", program[:8] + bytes(32) + program[40:], "is for another engine than #sa.overlay<rows = 8"),
            ("program.bin", program[:8] + bytes(32) + program[40:],
             f": it has {bytes(32).hex()}, not {program[8:40].hex()}"),
            ("program.bin", program[:-4], "does not have the instructions that it says"),
            ("frames.bin", (good / "frames.bin").read_bytes()[:-1], "has no whole frames"),
            ("frames.bin", b"", "has no whole frames"),
            ("host.txt", b"input 0 64\n", "host.txt does not say the cycles of a frame"),
            ("host.txt", b"cycles 1\ninput 0 999999999\n", "has a port outside of the bank of maps"),
            ("host.txt", b"input 0 64\ninput 18446744073709551615 64\n", "has a port outside of the bank of maps"),
            ("bank1.bin", (good / "bank1.bin").read_bytes()[:64], "goes beyond a bank or a buffer"),
            ("host.txt", b"hello\n", "host.txt is not what ming engine --banks writes"),
            ("host.txt", b"cycles 1\nframes x\n", "host.txt is not what ming engine --banks writes"),
            ("host.txt", b"cycles -1\n", "host.txt has a negative number")):
        bad = folder / "bad"
        shutil.copytree(good, bad, dirs_exist_ok=True)
        (bad / name).write_bytes(data)
        expect_refusal(args, engine, bad, words)
        shutil.rmtree(bad)
    expect_refusal(args, engine, folder / "none", "cannot read")
    expect_refusal(args, engine, good,
                   "--kernels takes a number from 1 to 3; ming overlay --kernels=N writes a host for N", "--kernels=4")
    expect_refusal(args, engine, good, "--slots takes a number from 1 to 64", "--slots=0")
    expect_refusal(args, engine, good, "unknown option --slot", "--slot=1")
    expect_refusal(args, engine, None, "takes a folder of ming engine --banks")
    (folder / "short.bin").write_bytes(bytes(7))
    done = run(args.tools / "ming", "engine", folder / "p.mir", f"--results={folder / 'short.bin'}",
               f"--output={folder / 'z.npy'}")
    if done.returncode != 1 or b"has 7 bytes; a frame of the outputs has" not in done.stderr:
        raise Failure(done.stderr.decode()[:200])


def check_random(args, engine, index, folder):
    rng = random.Random(f"{args.seed}/{index}/host")
    while True:
        net = overlay_check.generate(args.seed, index + rng.randrange(1000) * 100)
        (folder / "m.onnx").write_bytes(net.encode())
        if overlay_check.compile_program(args.tools, folder / "m.onnx", folder, SIZES) is None:
            break
    tolerance = 0 if net.dyadic else 1e-5 * np.abs(net.result.array).max()
    check(args, engine, folder, folder / "m.onnx", net.source.array, net.result.array, rng, tolerance)


def check_small(args, engine, folder):
    check(args, engine, folder, SMALL / "model.onnx", np.load(SMALL / "input.npy"), np.load(SMALL / "output.npy"),
          random.Random(args.seed))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True, type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--build", default="-std=c++17 -O1 -Wall -Wextra -Wno-unknown-pragmas -Wno-unused-label")
    args = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        args.scratch = pathlib.Path(scratch)
        engine = args.scratch / "engine"
        build(args.tools, engine, args.build)
        build_board(engine, args.build)
        cases = [(check_small, ()), (check_refusals, ()), (check_zynq, ())] + [(check_random, (i,)) for i in range(args.count)]
        for function, arguments in cases:
            with tempfile.TemporaryDirectory() as name:
                try:
                    function(args, engine, *arguments, pathlib.Path(name))
                    passed += 1
                except (Failure, subprocess.SubprocessError) as why:
                    print(f"{function.__name__} {args.seed} {arguments}: {why}")
                    failed += 1
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
