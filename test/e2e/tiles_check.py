#!/usr/bin/env python3
"""Networks of layers with random tiles, orders of loops and maps outside of the chip, compared with numpy.

    tiles_check.py --tools=DIR [--seed=N] [--count=N] [--planes=N] [--batches=N]

engine_check.py's networks, each layer with a random size of tiles and one of the 24 orders of the loops
over them, maps on the chip or outside, on engines of their own; then the same networks with few pages
and sums, so that the compiler has to choose. Programs must run in `ming engine` without any hazard, and
give numpy's outputs in every element. Tiles that array, buffers or pages do not hold must be refused by
the layer's name; a share of the drawn ones must be held. --planes: the same with N networks of 1 to 3
bits and their groups (popcount_engine_check.py). engine_csim_check.py does so in C++. --batches: N models
of overlay_check.py in programs of one to three images, with random tiles.
"""
import argparse
import pathlib
import random
import re
import sys
import tempfile

import numpy as np

import engine_check
import overlay_check
import popcount_engine_check
from engine_check import Failure, Net, run, up

REFUSALS = (b"tiles that array and buffers do not hold", b"finds no room for parts of its maps",
            b"weights for a processing element in one block", b"partial sums, of which")
MANY = 9999                             # more than any loop has


def draw_attributes(rng, net, node, is_layer):
    """Attributes of a node's line: whether its map lies outside, and a layer's tiles and order."""
    attributes = ["sa.spill"] if rng.random() < 0.5 else []
    if not is_layer:
        return attributes
    overlay, (height, width, channels) = net.overlay, node.array.shape
    lanes = max(overlay.rows, overlay.cols)
    blocks = up(channels, lanes) * lanes // overlay.rows
    step = max(1, overlay.cols // overlay.rows)
    inputs = 1
    if " = sa.conv " in node.text and "depthwise" not in node.text:
        inputs = up(node.source.array.shape[2], lanes) * lanes // overlay.cols
    repeats = re.search(r"repeats = array<i64: (\d+), (\d+)>", node.text)
    if repeats:                         # tiles count what is repeated
        height, width = height // int(repeats[1]), width // int(repeats[2])
    m = min(blocks, rng.randint(1, up(blocks, step)) * step)
    sizes = [m, rng.randint(1, height), rng.randint(1, width), rng.randint(1, inputs)]
    order = list("myxn")
    rng.shuffle(order)
    return attributes + [f"sa.tile = array<i64: {', '.join(map(str, sizes))}>",
                         f'sa.order = "{"".join(order)}"']


class Tiled(Net):
    """A network whose nodes remember what they read."""

    def finish(self, op, kind, source, sums, attributes):
        super().finish(op, kind, source, sums, attributes)
        self.nodes[-1].source = source


def with_attributes(line, attributes):
    if not attributes:
        return line
    words = ", ".join(attributes)
    if "parameters = [" in line:
        return line.replace("parameters = [", f"{words}, parameters = [", 1)
    if '" {' in line:
        return line.replace('" {', f'" {{{words}, ', 1)
    head, tail = line.split(" : ", 1)
    return f"{head} {{{words}}} : {tail}"


def text_of(rng, net, is_drawn):
    lines = []
    for line in net.text().splitlines():
        name = line.split("=")[0].strip()
        node = next((n for n in net.nodes if n.name == name and " = sa." in line), None)
        if node and is_drawn:
            line = with_attributes(line, draw_attributes(rng, net, node, node is not net.nodes[0]))
        lines.append(line)
    return "\n".join(lines) + "\n"


def lower(tools, folder, text):
    (folder / "net.mir").write_text(text, encoding="ascii")
    return run(tools / "ming-opt", folder / "net.mir", "--lower-sa-network", "-o", folder / "p.mir")


def is_held(done):
    if done.returncode == 1 and any(words in done.stderr for words in REFUSALS):
        return False
    if done.returncode:
        raise Failure(f"{done.returncode} {done.stderr.decode()[:300]}")
    return True


def check(args, index, folder):
    """Whether the tiles were held."""
    seed = args.seed
    rng = random.Random(f"{seed}/{index}/tiles")
    net = Tiled(rng, np.random.default_rng(rng.getrandbits(32)))
    is_drawn = index % 2 == 0
    if is_drawn:
        net.overlay.pe_words, net.overlay.acc_words = max(64, net.overlay.pe_words), 1024
        net.overlay.act_pages = 48
    else:
        net.overlay.act_pages = rng.randint(3, 7)
        net.overlay.acc_words = rng.choice([4, 16, 64])
    if not is_held(lower(args.tools, folder, text_of(rng, net, is_drawn))):
        return False
    inputs = net.nodes[0].array.astype(f"i{net.bits // 8}")
    overlay_check.compare(args.tools, folder, inputs, net.output.array, 0)
    return True


# Engines of planes.

def draw_planes(rng, text):
    """What `ming compile --network` writes, with attributes. Tiles may be too large yet."""
    lines = []
    for line in text.splitlines():
        is_layer = line.lstrip().startswith("} {") and "parameters = [" in line
        is_map = is_layer or " = sa.input " in line
        attributes = ["sa.spill"] if is_map and rng.random() < 0.3 else []
        if is_layer:
            sizes = [rng.choice([rng.randint(1, 4), MANY]), rng.randint(1, 4),
                     rng.choice([rng.randint(1, 4), MANY, MANY]), rng.choice([1, 2, MANY])]
            order = rng.sample("myxn", 4)
            attributes += [f"sa.tile = array<i64: {', '.join(map(str, sizes))}>",
                           f'sa.order = "{"".join(order)}"']
        lines.append(with_attributes(line, attributes))
    return "\n".join(lines) + "\n"


def shrink(text, why):
    """The text with the size that is refused as large as its loop; None: none is."""
    found = re.search(r":(\d+):\d+: error: .*has tiles of \d+ of (\d+) ([myxn])", why)
    if not found:
        return None
    lines, at = text.splitlines(), int(found[1]) - 1
    while "sa.tile" not in lines[at]:
        at += 1
    tile = re.search(r"sa.tile = array<i64: ([\d, ]+)>", lines[at])
    sizes = tile[1].split(", ")
    sizes["myxn".index(found[3])] = found[2]
    lines[at] = lines[at].replace(tile[0], f"sa.tile = array<i64: {', '.join(sizes)}>")
    return "\n".join(lines) + "\n"


def lower_planes(tools, folder, rng, overlay, batch=1):
    """The program of folder/m.onnx with random tiles; whether the engine holds them."""
    (folder / "p.mir").unlink(missing_ok=True)
    refused = overlay_check.compile_program(tools, folder / "m.onnx", folder, overlay,
                                            f"--batch={batch}",
                                            f"--network={folder / 'layers.mir'}")
    if refused and any(words.decode() in refused for words in REFUSALS):
        return False
    if refused:
        raise Failure(f"{overlay}: {refused}")
    text = draw_planes(rng, (folder / "layers.mir").read_text(encoding="ascii"))
    while text:
        done = lower(tools, folder, text)
        text = shrink(text, done.stderr.decode())
    return is_held(done)


def check_planes(args, index, folder):
    """Whether the tiles were held."""
    rng = random.Random(f"{args.seed}/{index}/planes of tiles")
    net, planes = popcount_engine_check.generate(args.seed, index)
    rows, cols = rng.choice(popcount_engine_check.ENGINES + [(8, 128)])
    room = popcount_engine_check.ROOM + ",acc_words=1024"
    overlay = f"rows={rows},cols={cols},{planes.types},{room},pu_stages={index % 3 + 1}"
    (folder / "m.onnx").write_bytes(net.encode())
    if not lower_planes(args.tools, folder, rng, overlay, rng.choice([1, 2, 3])):
        return False
    overlay_check.compare(args.tools, folder, net.source.array, net.result.array, 0)
    return True


def check_batches(args, index, folder):
    """The same of engines of products."""
    rng, net = random.Random(f"{args.seed}/{index}/batches of tiles"), overlay_check.generate(args.seed, index)
    overlay = f"{rng.choice(overlay_check.ENGINES)},{overlay_check.ROOM},acc_words=4096"
    (folder / "m.onnx").write_bytes(net.encode())
    if not lower_planes(args.tools, folder, rng, overlay, rng.choice([1, 2, 2, 3])):
        return False
    tolerance = 0 if net.dyadic else 1e-5 * np.abs(net.result.array).max()
    overlay_check.compare(args.tools, folder, net.source.array, net.result.array, tolerance)
    return True


LEAST_HELD = {check: 0.5, check_planes: 0.15, check_batches: 0.15}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True, type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--planes", type=int, default=0, help="networks for engines of planes")
    parser.add_argument("--batches", type=int, default=0, help="models in programs of several images")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the files of failed cases")
    args = parser.parse_args()
    failed = 0
    for function, count in ((check, args.count), (check_planes, args.planes), (check_batches, args.batches)):
        held = 0
        for index in range(count):
            with tempfile.TemporaryDirectory() as name:
                try:
                    held += function(args, index, pathlib.Path(name))
                except (Failure, overlay_check.Failure) as why:
                    print(f"{function.__name__} {args.seed}-{index}: {why}")
                    failed += 1
                    if args.keep:
                        engine_check.shutil.copytree(name, args.keep / f"{index}", dirs_exist_ok=True)
        print(f"{function.__name__}: tiles of {held} of {count} networks are held")
        if held < LEAST_HELD[function] * count:
            failed += 1
    print(f"{args.count + args.planes + args.batches + 1 - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
