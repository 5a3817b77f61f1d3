#!/usr/bin/env python3
"""The model of overlays written once more, and what it must hold to.

    overlay_model_check.py --tools=DIR [--seed=N] [--count=N]

- `choice`: random single layers. F2N2's Eq. 2 to 4 with sums over real tiles, double buffers and all 24
  orders stand below, written from docs/overlay.md. Of all sizes and orders that buffers hold, tried one
  by one here, the least cycles must be those of `choose-sa-tiles`, whose own tiles must take as many.
- `buffers`: programs of random networks. Their instructions are walked through one by one, with the
  registers as they are set; no command may touch a word that a buffer has not, or program places,
  parameters or partial sums beyond their ends.
- `sizes`: `ming overlay --search` on small budgets. Engines of a grid, each given whole, may not be better
  than what was found by more than a percent, and what was found must fit the budget.
- `whole`: what the search predicts for random networks on engines of random sizes, maps outside included, is
  at most 2 % off what the simulator counts.
"""
import argparse
import itertools
import pathlib
import random
import re
import sys
import tempfile

import numpy as np

import overlay_check
import tiles_check
from engine_check import Failure, run, up
from tiles_model import layer_text, numbers

BEAT, PAGE = 512, 4096                  # bits; words
PU_LENGTH, WORD = 5, 16                 # instructions of PU; bits of an element
LATENCY, RESTART = 64, 4
SMALL_CNN = pathlib.Path(__file__).resolve().parents[2] / "examples" / "small_cnn" / "model.onnx"


# The model.

class Model:
    """A layer on an engine of `size` with 16-bit elements, rows = columns."""

    def __init__(self, size, shape, spill, rate):
        self.size, self.spill, self.rate = size, spill, rate
        self.kind, self.height, self.width, c_in, c_out, self.kernel, self.stride, self.pad = shape
        side = size["rows"]
        self.taps = self.kernel ** 2
        self.out = [(n + 2 * self.pad - self.kernel) // self.stride + 1 for n in (self.height, self.width)]
        self.in_words, self.out_words = up(c_in, side), up(c_out, side)
        self.extents = [self.out_words, *self.out, self.in_words if self.kind == "dense" else 1]

    def transfer(self, runs, beats):
        return LATENCY + (runs - 1) * RESTART + up(runs * beats * 64000, min(self.rate, 64000))

    def runs(self, tile):
        """Eq. 2: cycles of a tile's run."""
        (m0, m1), (y0, y1), (x0, x1), (n0, n1) = tile
        side = self.size["rows"]
        behind = max(1, up(PU_LENGTH, self.size["pu_stages"]) if n1 == self.extents[3] else 0)
        vector = max(self.taps * (n1 - n0 if self.kind == "dense" else 1), behind)
        chains = up(side, 16)
        tree = (chains - 1).bit_length()
        depth = side - 1 + 4 + min(side, 16) + tree + up(PU_LENGTH, self.size["pu_stages"])
        return (m1 - m0) * (y1 - y0) * (x1 - x0) * vector + depth

    def weights(self, tile):
        return self.taps * (tile[0][1] - tile[0][0]) * (tile[3][1] - tile[3][0])

    def input_part(self, tile):
        rows, cols = [(max(0, a * self.stride - self.pad),
                       min(n, (b - 1) * self.stride + self.kernel - self.pad))
                      for (a, b), n in zip(tile[1:3], (self.height, self.width))]
        return rows, cols, tile[3] if self.kind == "dense" else tile[0]

    def move(self, part, words, width):
        """Cycles of moving a part of a map: whole pixels in a run for each row, else a run for each pixel.
        A word is a beat."""
        (r0, r1), (c0, c1), (w0, w1) = part
        rows, cols = r1 - r0, c1 - c0
        if (w0, w1) == (0, words):
            return self.transfer(1, rows * width * words) if cols == width else self.transfer(rows, cols * words)
        if cols == width:
            return self.transfer(rows * cols, w1 - w0)
        return rows * self.transfer(cols, w1 - w0)

    def tiles(self, sizes, order):
        """Tiles in the order of the loops."""
        steps = [list(range(0, extent, size)) for extent, size in zip(self.extents, sizes)]
        for begins in itertools.product(*(steps["myxn".index(d)] for d in order)):
            at = dict(zip(order, begins))
            yield [(at[d], min(at[d] + sizes[i], self.extents[i])) for i, d in enumerate("myxn")]

    def trips(self, sizes):
        return {d: up(self.extents[i], sizes[i]) for i, d in enumerate("myxn")}

    def is_held(self, sizes, order):
        """Bounds of the buffers."""
        trips, size = self.trips(sizes), self.size
        if trips["n"] > 1:
            sums = sizes[0] * sizes[1] * sizes[2]
            for letter in order[order.index("n") + 1:]:
                sums *= trips[letter]
            if sums > size["acc_words"]:
                return False
        if self.kind != "pool" and self.taps * sizes[0] * sizes[3] > min(
                size["pe_words"], size["w_words"] // size["cols"]):
            return False
        pages = 0
        for name, words, extent in (("input", self.in_words, (self.height, self.width)),
                                    ("result", self.out_words, self.out)):
            if name not in self.spill:
                pages += up(words * extent[0] * extent[1], PAGE)
                continue
            parts = [self.input_part(t) if name == "input" else (t[1], t[2], t[0])
                     for t in self.tiles(sizes, order)]
            distinct = [p for i, p in enumerate(parts) if i == 0 or p != parts[i - 1]]
            most = max((b - a) * (d - c) * (f - e) for (a, b), (c, d), (e, f) in distinct)
            pages += up(max(most, 1), PAGE) * min(2, len(distinct))
        return pages <= size["act_pages"]

    def keeps(self, sizes, order):
        """Whether weights that come back stay in the buffer."""
        trips = self.trips(sizes)
        looped = [d for d in order if trips[d] > 1]
        comes_back = any(d in "mn" and set(looped[:i]) & set("yx") for i, d in enumerate(looped))
        words = self.taps * self.extents[0] * self.extents[3] * self.size["cols"]
        beats = up(words * self.size["rows"] * WORD, BEAT) + trips["m"] * trips["n"]
        return comes_back and up(beats * BEAT, self.size["rows"] * WORD) <= self.size["w_words"]

    def cycles(self, sizes, order):
        """Five units in order, each waiting for what it reads and for room; what the first tile needs is
        there."""
        keeps, has_weights = self.keeps(sizes, order), self.kind != "pool"
        load_a = load_w = fill = array = store = bank = 0
        halves, half, before = [0, 0], 0, None
        rooms = {"input": [0, 0], "result": [0, 0]}
        turn = {"input": 0, "result": 0}
        tiles = list(self.tiles(sizes, order))
        there = 0
        part = self.input_part(tiles[0])
        for i, tile in enumerate(tiles):
            if has_weights and (before is None or (before[0], before[3]) != (tile[0], tile[3])):
                half = 1 - half
                if before is not None:
                    words = self.weights(tile) * self.size["cols"]
                    if not keeps:
                        load_w += self.transfer(1, up(words * self.size["rows"] * WORD, BEAT))
                    fill = max(fill, 0 if keeps else load_w, halves[half]) + up(words, self.size["fill_words"])
            now, room, after, next_room = there, turn["input"], there, turn["input"]
            if "input" in self.spill and i + 1 < len(tiles):
                following = self.input_part(tiles[i + 1])
                if following != part:
                    next_room = 1 - room
                    begin = max(load_a, bank, rooms["input"][next_room])
                    after = load_a = bank = begin + self.move(following, self.in_words, self.width)
                    part = following
            begin, waits = max(array, fill if has_weights else 0), 0
            if "input" in self.spill:
                begin, waits = max(begin, now), 2
            gives = "result" in self.spill and tile[3][1] == self.extents[3]
            if gives:
                turn["result"] = 1 - turn["result"]
                begin, waits = max(begin, rooms["result"][turn["result"]]), waits + 2
            array = begin + waits + self.runs(tile)
            halves[half] = rooms["input"][room] = array
            if gives:
                cycles = self.move((tile[1], tile[2], tile[0]), self.out_words, self.out[1])
                store = bank = max(array, store, bank) + cycles
                rooms["result"][turn["result"]] = store
            there, turn["input"], before = after, next_room, tile
        return max(array, store)


def check_choice(args, index, folder):
    rng = random.Random(f"{args.seed}/{index}/choice")
    side = 32
    size = {"rows": side, "cols": side, "acc": 48, "act_pages": rng.randint(2, 5), "w_words": rng.choice([512, 2048]),
            "pe_words": rng.choice([9, 18, 36]), "fill_words": rng.choice([1, 4]),
            "acc_words": rng.choice([4, 16, 64]), "param_words": 64, "pu_stages": rng.choice([1, 2, 4])}
    text = ", ".join(f"{name} = {value}" + (", act = i16, weight = i16" if name == "cols" else "")
                     for name, value in size.items())
    shape = (rng.choice(["dense", "dense", "depthwise"]), rng.randint(2, 4), rng.randint(2, 4),
             *[rng.randint(1, 3) * side] * 2, rng.choice([1, 3]), rng.randint(1, 2), 1)
    spill = [name for name in ("input", "result") if rng.random() < 0.5]
    rate = rng.choice([3000, 30000, 64000])
    (folder / "layer.mir").write_text(layer_text(text, shape, (), spill), encoding="ascii")
    done = run(args.tools / "ming-opt", folder / "layer.mir", f"--choose-sa-tiles=rate={rate}")
    if done.returncode:
        return 0
    chosen = done.stdout.decode()
    spilled = [name for name, word in (("input", "sa.input"), ("result", "sa.tile"))
               if "sa.spill" in next(line for line in chosen.splitlines() if word in line)]
    model = Model(size, shape, spilled, rate)
    tile, order = numbers(chosen, "sa.tile"), re.search(r'sa.order = "([myxn]+)"', chosen)[1]
    said = numbers(chosen, "sa.cycles")[0]
    if not model.is_held(tile, order):
        raise Failure(f"{shape} {size}: tiles {tile} in the order {order} are more than buffers hold")
    if model.cycles(tile, order) != said:
        raise Failure(f"{shape} {size} {spilled} rate {rate}: tiles {tile} in the order {order} take "
                      f"{model.cycles(tile, order)} cycles, not {said}")
    best = min(model.cycles(sizes, order) for sizes in
               itertools.product(*(range(1, extent + 1) for extent in model.extents))
               for order in map("".join, itertools.permutations("myxn")) if model.is_held(sizes, order))
    if best != said:
        raise Failure(f"{shape} {size} {spilled} rate {rate}: {said} cycles chosen, {best} are possible")
    return 1


# Buffers.

class Walk:
    """Registers, and what commands touch with them."""

    def __init__(self, overlay):
        self.o = overlay
        self.regs, self.programs = {}, {}

    def reg(self, name):
        return self.regs.get(name, 0)

    def limit(self, what, end, most, line):
        if end > most:
            raise Failure(f"{line}: {what} to {end} of {most}")

    def moved(self, bits):
        return self.reg("rows") * self.reg("beats") * BEAT // bits

    def activations(self, which, last, line):
        begin = self.reg(f"{which}_page") * PAGE + self.reg(f"{which}_base")
        self.limit(f"words of {which}", begin + last, self.o["act_pages"] * PAGE, line)

    def pixels(self, which, rows, cols, words, line):
        if rows > 0 and cols > 0:
            last = (rows - 1) * self.reg(f"{which}_row") + (cols - 1) * self.reg(f"{which}_pixel")
            self.activations(which, last + words, line)

    def run(self, line):
        o, r = self.o, self.reg
        mode, blocks, words = r("mode"), r("out_cblk"), up(r("out_cblk") * o["rows"], o["cols"])
        rows, cols = r("out_h"), r("out_w")
        taps = r("k_h") * r("k_w")
        self.pixels("act", r("in_h"), r("in_w"), r("in_cblk") if mode == 0 else words, line)
        if mode < 2:
            depth = r("in_cblk") if mode == 0 else 1
            self.limit("weights", r("w_base") + blocks * taps * depth, o["pe_words"], line)
        if not (r("c_first") and r("c_last")):
            self.limit("partial sums", r("acc_base") + blocks * rows * cols, o["acc_words"], line)
        if not r("c_last"):
            return
        self.pixels("out", rows, cols, words, line)
        for first, length in (("pu_out", "pu_out_length"), ("pu_tap", "pu_tap_length")):
            if first == "pu_tap" and mode != 2:
                continue
            self.limit("the programs", r(first) + r(length), 256, line)
            for place in range(r(first), r(first) + r(length)):
                if place not in self.programs:
                    raise Failure(f"{line}: place {place} of the programs has no instruction")
                address = self.programs[place]
                if address is not None:
                    self.limit("parameters", r("p_base") + address + blocks, o["param_words"], line)

    def command(self, name, line):
        o, r = self.o, self.reg
        if name in ("load_a", "store"):
            which = "act" if name == "load_a" else "out"
            self.activations(which, self.moved(o["cols"] * o["act"]), line)
        elif name == "load_w":
            self.limit("the weight buffer", r("wb_base") + self.moved(o["rows"] * o["weight"]), o["w_words"], line)
        elif name == "load_p":
            self.limit("parameters", r("p_base") + self.moved(o["rows"] * 32), o["param_words"], line)
        elif name == "fill":
            self.limit("the array's memories", r("w_base") + r("fill_count"), o["pe_words"], line)
            self.limit("the weight buffer", r("wb_base") + r("fill_count") * o["cols"], o["w_words"], line)
        elif name == "run":
            self.run(line)
        elif name not in ("nop", "end", "addr"):
            raise Failure(f"{line}: what is {name}?")

    def step(self, line):
        found = re.match(r"sa\.(pu\.)?(\w+)(.*)", line)
        if not found:
            return 0
        if found[1]:
            operands = found[3].replace(",", " ").split()
            place = self.reg("pu_pc")
            is_parameter = found[2] == "load" and "parameter" in operands
            self.programs[place] = int(operands[-1]) if is_parameter else None
            self.regs["pu_pc"] = place + 1
        elif found[2] == "set":
            name, value = found[3].split(",")
            self.regs[name.strip()] = int(value)
        else:
            self.command(found[2], line)
        return 1


def walk(path):
    """How many instructions a program has."""
    text = path.read_text(encoding="ascii")
    attribute = re.search(r"sa\.program .*#sa\.overlay<(.*?)>", text)[1]
    overlay = {name: int(value.lstrip("iu")) for name, value in
               (pair.split(" = ") for pair in attribute.split(", "))}
    at = Walk(overlay)
    body = text[text.index("sa.program"):]
    return sum(at.step(line.strip()) for line in body.splitlines()[1:])


def check_buffers(args, index, folder):
    rng = random.Random(f"{args.seed}/{index}/tiles")
    net = tiles_check.Tiled(rng, np.random.default_rng(rng.getrandbits(32)))
    is_drawn = index % 2 == 0
    net.overlay.act_pages = 48 if is_drawn else rng.randint(3, 7)
    if is_drawn:
        net.overlay.pe_words = max(64, net.overlay.pe_words)
    net.overlay.acc_words = 1024 if is_drawn else rng.choice([4, 16, 64])
    if not tiles_check.is_held(tiles_check.lower(args.tools, folder, tiles_check.text_of(rng, net, is_drawn))):
        return 0
    if walk(folder / "p.mir") < 10:
        raise Failure("the program has no instructions")
    return 1


# Sizes.

def search(args, *options):
    """The value of the objective, and the sizes; None: refused."""
    done = run(args.tools / "ming", "overlay", f"--search={SMALL_CNN}", *options)
    if done.returncode:
        return None
    text = done.stdout.decode()
    sizes = dict(pair.split("=") for pair in re.search(r"--overlay=(\S+)", text)[1].split(","))
    used = dict(zip(("dsp", "bram18", "uram", "lut", "ff"), map(int, re.search(r"total +([\d ]+)", text)[1].split())))
    return float(re.search(r" is ([0-9.e+]+)\n", text)[1]), sizes, used


def check_sizes(args, index, _folder):
    rng = random.Random(f"{args.seed}/{index}/sizes")
    limits = {"dsp": rng.choice([100, 200, 400]), "uram": rng.choice([20, 40]), "bram": rng.choice([120, 250])}
    budget = ["--device=kv260", *(f"--{name}={value}" for name, value in limits.items())]
    found = search(args, *budget)
    if found is None:
        raise Failure(f"{budget}: nothing is found")
    value, sizes, used = found
    over = [name for name, most in (("dsp", limits["dsp"]), ("uram", limits["uram"]), ("bram18", limits["bram"]))
            if used[name] > most]
    if over:
        raise Failure(f"{budget}: {sizes} takes more {', '.join(over)} than there is")
    fixed = [f"--{name}={sizes[name]}" for name in ("act", "weight", "acc")]
    fixed.append(f"--param-words={sizes['param_words']}")
    grid = {"rows": (4, 8, 16, 32), "cols": (4, 8, 16, 32), "act-pages": (3, 6), "w-words": (512, 4096),
            "pe-words": (32, 128), "fill-words": (1, 4), "pu-stages": (1, 2, 4), "acc-words": (64,)}
    points = list(itertools.product(*grid.values()))
    for point in rng.sample(points, args.points):
        pins = [f"--{name}={number}" for name, number in zip(grid, point)]
        other = search(args, *budget, *fixed, *pins)
        if other and other[0] < value * 0.99:
            raise Failure(f"{budget}: {sizes} has {value}, and {pins} {other[0]}")
    return 1


def check_whole(args, index, folder):
    rng = random.Random(f"{args.seed}/{index}/whole")
    model = folder / "m.onnx"
    model.write_bytes(overlay_check.generate(args.seed, index).encode())
    pins = [f"--{name}={rng.choice(values)}" for name, values in
            {"rows": (4, 8, 16), "cols": (4, 8, 16), "act-pages": (3, 4, 16), "w-words": (512, 4096),
             "pe-words": (64, 256), "fill-words": (1, 4), "pu-stages": (1, 2, 4)}.items()]
    done = run(args.tools / "ming", "overlay", f"--search={model}", "--device=zcu104", *pins,
               f"--rate={rng.choice([2000, 20000, 64000])}")
    if done.returncode:
        return 0
    off = re.search(r"the prediction is ([-+0-9.]+) % off", done.stdout.decode())
    if not off or abs(float(off[1])) > 2:
        raise Failure(f"{pins}: the prediction is {off and off[1]} % off")
    return 1


# Those that must not all be refused.
LEAST = {check_choice: 0.5, check_buffers: 0.5, check_sizes: 1, check_whole: 0.5}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True, type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--points", type=int, default=15, help="engines of the grid for each budget")
    args = parser.parse_args()
    passed = failed = 0
    for function, count in ((check_choice, args.count), (check_buffers, args.count),
                            (check_sizes, up(args.count, 10)), (check_whole, up(args.count, 2))):
        held = 0
        for index in range(count):
            with tempfile.TemporaryDirectory() as name:
                try:
                    held += function(args, index, pathlib.Path(name))
                    passed += 1
                except Failure as why:
                    print(f"{function.__name__} {args.seed}-{index}: {why}")
                    failed += 1
        if held + failed < int(LEAST[function] * count):
            print(f"{function.__name__}: only {held} of {count} are no refusals")
            failed += 1
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
