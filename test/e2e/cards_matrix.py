#!/usr/bin/env python3
"""Networks on one, two and three cards in every mode, through `make emulate`: frames against those of
another program (output.npy beside the model, or numpy's for the networks of bench/imagenet_networks.py),
cycles against `ming sim`.

    cards_matrix.py --tools=DIR [--networks=NAME,...] [--modes=MODE,...] [--cards=N,...]
                    [--frames=N] [--asan [--sim=DIR]] [--all]

Without --networks it takes two_layers and ResNet8; with --all those for ImageNet, too (an hour or two).
--asan builds the cards with AddressSanitizer and UBSan; --sim names the tools whose `ming sim` counts
cycles, such as those of an ASan build. Prints a row for each cell and ends in `N passed, N failed`.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import sys
import tempfile

import numpy as np

from design_cases import judge
from emulate_check import emulate, expect
from run_check import command

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODELS = ROOT / "../shared/models"
sys.path.insert(0, str(ROOT / "bench"))
from imagenet_networks import NETWORKS, write_imagenet  # noqa: E402

SHORT = ("two_layers", "resnet8_a8w8b16")
LONG = ("mobilenet_v2_a8w6b32", "mobilenet_v1", "resnet50_v1")
MODES = ("dp", "swmp", "hwmp", "tmp")
# clang takes a half to two thirds of g++'s time; at -O0 the networks for ImageNet run for hours.
FLAGS = "-std=c++17 -O1"
SANITIZE = f"{FLAGS} -fsanitize=address,undefined -fno-sanitize-recover=undefined"
UNIT = re.compile(r"^emulate: (\S+): latency of the first frame: (\d+) cycles$", re.M)
INTERVAL = re.compile(r"^emulate: (\S+): interval between the last two frames: (\d+) cycles$", re.M)
WHOLE = re.compile(r"^emulate: (?:latency|interval).*: (\d+) cycles$", re.M)


class Cell:
    """A network, compiled for so many cards in a mode."""

    def __init__(self, args, name, mode, cards, folder):
        self.args, self.name, self.mode, self.cards, self.folder = args, name, mode, cards, folder
        self.project = folder / f"{name}_{mode}_{cards}"
        self.source = folder / name if name in NETWORKS else MODELS / name

    def compile(self):
        command(self.args.tools / "ming", "compile", self.source / "model.onnx", "-o", self.project,
                "--device=u280", f"--cards={self.cards}", f"--mode={self.mode}", *self.args.options)
        return json.loads((self.project / "system.json").read_text(encoding="utf-8"))

    def frames(self, name):
        """Those beside the model, again and again until they are as many as asked for."""
        found = np.load(self.source / name)
        return np.concatenate([found] * -(-max(self.args.frames, 1) // len(found)))

    def simulated(self, frames):
        """Cycles of the first frame, and between the last two ones."""
        table = self.project / f"sim{frames}.json"
        command(self.args.sim / "ming", "sim", self.project, "--timing-only", f"--json={table}",
                f"--frames={frames}")
        found = json.loads(table.read_text(encoding="utf-8"))
        return [found["latency_cycles"]] + ([found["last_interval_cycles"]] if frames > 1 else [])

    def check_times(self, text, frames):
        if self.mode != "dp":
            got = [int(cycles) for cycles in WHOLE.findall(text)]
            expect(got == self.simulated(frames), "emulate takes", got, "ming sim",
                   self.simulated(frames))
            return
        latencies, intervals = dict(UNIT.findall(text)), dict(INTERVAL.findall(text))
        expect(len(latencies) == min(self.cards, frames), "times of", latencies)
        for number, card in enumerate(sorted(latencies)):
            own = (frames - number + self.cards - 1) // self.cards
            got = [int(latencies[card])] + ([int(intervals[card])] if own > 1 else [])
            expect(got == self.simulated(own), card, "takes", got, "ming sim", self.simulated(own))

    def run(self):
        system = self.compile()
        output = self.project / "y.npy"
        given = self.project / "x.npy"
        np.save(given, self.frames("input.npy"))
        wanted = self.frames("output.npy")
        result = emulate(self.project, [given], [output], self.args.flags,
                         timeout=3600, CXX="clang++-14")
        expect(result.returncode == 0, "emulate:", result.stderr[-300:])
        got = np.load(output)
        wrong = np.count_nonzero(got.reshape(-1) != wanted.reshape(-1))
        expect(got.size == wanted.size and wrong == 0, wrong, "numbers differ")
        frames = len(wanted)
        self.check_times(result.stdout, frames)
        links = system["links"] + system.get("copies", [])
        first, *rest = self.simulated(frames)
        print(f"| {self.name} | {self.mode} | {self.cards} | {frames} | {len(links)} | {first} | "
              f"{system.get('interval_cycles', '-')} | {rest[0] if rest else '-'} |", flush=True)
        return len(links)


def run_cell(args, folder, name, mode, cards):
    title = f"{name} {mode} {cards}{' ASan' if args.asan else ''}"
    return judge(title, Cell(args, name, mode, cards, folder).run)


def names(text, known, what):
    chosen = text.split(",")
    for name in chosen:
        if name not in known:
            sys.exit(f"{what}: {name} is none of {', '.join(known)}")
    return chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True, help="folder of ming")
    parser.add_argument("--networks", default=",".join(SHORT))
    parser.add_argument("--all", action="store_true", help="all networks")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--cards", default="1,2,3")
    parser.add_argument("--frames", type=int, default=1, metavar="N", help="at least so many")
    parser.add_argument("--asan", action="store_true")
    parser.add_argument("--sim", type=pathlib.Path, metavar="DIR", help="folder of ming for cycles")
    parser.add_argument("--options", default="", help="of ming compile, with spaces")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="leave designs there")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    args.tools, args.options = args.tools.resolve(), args.options.split()
    args.sim = (args.sim or args.tools).resolve()
    args.flags = SANITIZE if args.asan else FLAGS
    known = SHORT + LONG + tuple(NETWORKS)
    networks = SHORT + LONG if args.all else names(args.networks, known, "--networks")
    modes = names(args.modes, MODES, "--modes")
    cards = [int(number) for number in args.cards.split(",")]
    print("| network | mode | cards | frames | links | first frame | interval | last interval |",
          "|---|---|--:|--:|--:|--:|--:|--:|", sep="\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="ming-cards-") as scratch, \
         concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        folder = (args.keep or pathlib.Path(scratch)).resolve()
        for name in networks:
            if name in NETWORKS and not (folder / name / "output.npy").exists():
                write_imagenet(folder / name, name)
        works = [pool.submit(run_cell, args, folder, name, mode, count)
                 for name in networks for mode in modes for count in cards]
        found = [work.result() for work in works]
    failed = found.count(None)
    print(f"{len(found) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
