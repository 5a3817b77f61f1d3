#!/usr/bin/env python3
"""Tiles: several instances of a network on cards, of which some lie on more than one.

    card_tiles_check.py --tools=DIR [--all] [--asan] [--filter=TEXT]

Compiles a network so and compares frames of `ming sim`, of the emulated cards and (with --all) of
the kernels' C++ with those of another program (output.npy beside the model), tensors that
`ming sim` traces with those of the interpreter, cycles of the emulation with `ming sim` (with a
host on XRT, of each instance that got frames), and system.json with what a tile must be: as many
instances, each with kernels of its own, so many of them on several cards, which the links join, and
dies within their limits.
There are fewer frames than turns of all instances. Without --all it takes two_layers only; --asan builds
the cards with AddressSanitizer and UBSan. Ends in `N passed, N failed`.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

from design_cases import judge
from emulate_check import SANITIZE, emulate, expect
from run_check import command
from trace_check import TOLERANCE, load

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODELS = ROOT / "../shared/models"
FLAGS = "-std=c++17 -O0"
WHOLE = re.compile(r"^emulate: (?:latency|interval).*: (\d+) cycles$", re.M)
OWN = re.compile(r"^emulate: instance (\d+): latency.*: (\d+) cycles$", re.M)
SMALL = ("--device=u280", "--dsp=0", "--fps=50000")
FULL = ("--device=u280", "--uram=0", "--bram=60")
OVER = 1.05         # of a die's limit: FIFOs are fitted when dies are chosen

# network, cards, instances, of which so many are split, options
SHORT = [("two_layers", 3, 2, 1, ("--mode=hwmp", *SMALL)),
         ("two_layers", 3, 2, 1, ("--mode=swmp", "--platform=xrt", "--weights=load", *SMALL))]
LONG = [("two_layers", 2, 3, 0, ("--mode=tmp", "--interface=m_axi", *SMALL)),
        ("two_layers", 3, 2, 1, ("--mode=tmp", "--platform=xrt", *SMALL)),
        ("two_layers", 3, 2, 1, ("--mode=hwmp", "--platform=xrt", "--weights=load", *SMALL)),
        ("two_layers", 5, 3, 2, ("--mode=hwmp", "--platform=xrt", *SMALL)),
        ("resnet8_a8w8b16", 2, 3, 1, ("--mode=hwmp", "--platform=xrt", "--lut=140000", *FULL)),
        ("two_layers", 3, 2, 1, ("--mode=tmp", *SMALL)),
        ("two_layers", 3, 2, 1, ("--mode=swmp", *SMALL)),
        ("two_layers", 3, 2, 1, ("--mode=hwmp", "--weights=load", *SMALL)),
        ("two_layers", 1, 3, 0, SMALL),
        ("resnet8_a8w8b16", 2, 3, 1, ("--mode=hwmp", "--lut=140000", *FULL)),
        ("resnet8_a8w8b16", 2, 3, 1, ("--mode=swmp", "--lut=140000", *FULL)),
        ("resnet8_a8w8b16", 2, 3, 1, ("--mode=hwmp", "--weights=load", "--lut=140000", *FULL, "--bram=200")),
        ("resnet8_a8w8b16", 2, 3, 0, ("--mode=tmp", "--interface=m_axi", "--lut=160000", *FULL))]


class Tile:
    """A network in so many instances on cards."""

    def __init__(self, args, case, folder):
        self.args, self.case, self.project = args, case, folder / "tile"
        self.source = MODELS / case[0]

    def same(self, what, path):
        wanted, got = np.load(self.source / "output.npy"), np.load(path)
        wrong = np.count_nonzero(got.reshape(-1) != wanted.reshape(-1))
        expect(got.size == wanted.size and wrong == 0, what, wrong, "numbers differ")

    def check_system(self):
        _, cards, instances, split, _ = self.case
        system = json.loads((self.project / "system.json").read_text(encoding="utf-8"))
        places = {}
        for kernel in system["kernels"]:
            places.setdefault(kernel["instance"], set()).add(kernel["card"])
        expect(system["instances"] == instances and sorted(places) == list(range(instances)),
               "instances are", system["instances"], sorted(places))
        found = sum(len(of) > 1 for of in places.values())
        expect(found == split, found, "instances are split")
        expect(set().union(*places.values()) == set(range(cards)), "cards are", places)
        instance_of = {kernel["name"]: kernel["instance"] for kernel in system["kernels"]}
        for kind in ("streams", "links", "copies"):
            for row in system[kind]:
                ends = [instance_of[row[end].split(".")[0]] for end in ("from", "to")]
                expect(ends[0] == ends[1], row["name"], "joins instances", ends)
        for card in system["cards"]:
            for die in card["dies"]:
                over = [kind for kind, amount in die["use"].items() if amount > OVER * die["limit"][kind]]
                expect(not over, card["name"], die["name"], "has too little", over)
        rate = instances * system["clock_mhz"] * 1e6 / system["interval_cycles"]
        expect(abs(system["fps"] - rate) < 0.1, "fps is", system["fps"])
        self.split = {str(number) for number, of in places.items() if len(of) > 1}
        return system

    def simulated(self, frames):
        """Values, and cycles of the first frame and between the last two ones of an instance."""
        instances = self.case[2]
        table, output = self.project / "sim.json", self.project / "sim.npy"
        command(self.args.tools / "ming", "sim", self.project, f"--json={table}",
                f"--input={self.source / 'input.npy'}", f"--output={output}",
                f"--trace={self.project / 'traced'}")
        self.same("ming sim:", output)
        self.check_trace()
        found = json.loads(table.read_text(encoding="utf-8"))
        turns = -(-frames // instances)
        expect(found["frames"] == turns and found["instances"] == instances, "turns", found["frames"])
        return [found["latency_cycles"], found["last_interval_cycles"]]

    def run(self):
        name, cards, instances, _, options = self.case
        command(self.args.tools / "ming", "compile", self.source / "model.onnx", "-o", self.project,
                f"--cards={cards}", f"--instances={instances}", *options)
        self.check_system()
        frames = len(np.load(self.source / "output.npy"))
        expect(frames % instances or instances == 2, name, "has whole turns")
        cycles = self.simulated(frames)
        if instances > 1:
            self.refuses_other_streams()
        if "--platform=xrt" in options:
            for flags in ("--batch=1", "--batch=2 --slots=1", ""):
                self.check_instances(self.emulated(HOST_FLAGS=flags), cycles)
        else:
            got = [int(number) for number in WHOLE.findall(self.emulated())]
            expect(got == cycles, "emulate takes", got, "ming sim", cycles)
        if self.args.all:
            self.run_kernels()
        return cycles

    def emulated(self, **variables):
        output = self.project / "emulated.npy"
        result = emulate(self.project, [self.source / "input.npy"], [output], self.args.flags, **variables)
        expect(result.returncode == 0, "emulate:", result.stderr[-300:])
        self.same("emulate:", output)
        return result.stdout

    def check_instances(self, printed, cycles):
        """Which of them get frames is a matter of time; the first frame takes longest where one is split."""
        got = OWN.findall(printed)
        expect(got, "no instance has run:", printed[-300:])
        for instance, number in got:
            slow = instance in self.split or not self.split
            expect(int(number) == cycles[0] if slow else int(number) <= cycles[0],
                   "instance", instance, "takes", number, "ming sim", cycles[0])

    def check_trace(self):
        """Tensors of all frames are those of the interpreter, which knows no instances."""
        command(self.args.tools / "ming", "run", self.source / "model.onnx",
                f"--input={self.source / 'input.npy'}", f"--trace={self.project / 'network'}")
        wanted, (index, got) = load(self.project / "network")[1], load(self.project / "traced")
        expect(got and set(got) | set(index["fused"]) == set(wanted), "traced are", sorted(got))
        for name, array in got.items():
            same = array.shape == wanted[name].shape and np.allclose(array, wanted[name], rtol=0, atol=(
                TOLERANCE * np.max(np.abs(wanted[name]))))
            expect(same, "tensor", name, "differs")

    def refuses_other_streams(self):
        """A design whose second instance has another list of tensors than the first one."""
        design = next(self.project.glob("*.mir")).read_text(encoding="utf-8")
        lines = design.splitlines(keepends=True)
        place = next(i for i, line in enumerate(lines) if " = emithls.stream" in line and
                     "_i2 = " in line and "dfg.tensors" in line)
        lines[place] = lines[place].replace('dfg.tensors = ', 'dfg.tensors_not = ')
        other = self.project / "other.mir"
        other.write_text("".join(lines), encoding="utf-8")
        folder = self.project / "refused"
        result = subprocess.run([self.args.tools / "ming", "sim", other, f"--trace={folder}",
                                 f"--input={self.source / 'input.npy'}"],
                                capture_output=True, text=True, check=False, timeout=300)
        other.unlink()
        expect(result.returncode == 1 and "of instance 2 with tensor" in result.stderr, result.stderr)
        expect(not folder.exists(), "a trace was written")

    def run_kernels(self):
        for target in ("csim", "system-csim"):
            output = self.project / f"{target}.npy"
            command("make", "-C", self.project, target, f"INPUT={self.source / 'input.npy'}",
                    f"OUTPUT={output}", f"CXXFLAGS={self.args.flags} -Wno-unknown-pragmas")
            self.same(f"{target}:", output)


def title(case):
    name, cards, instances, split, options = case
    modes = " ".join(option for option in options if option.startswith(("--mode", "--int", "--wei", "--pla")))
    return f"{name}: {instances} on {cards}, {split} split {modes}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True, help="folder of ming")
    parser.add_argument("--all", action="store_true", help="ResNet8 and all modes, too: minutes")
    parser.add_argument("--asan", action="store_true")
    parser.add_argument("--filter", default="")
    args = parser.parse_args()
    args.tools, args.flags = args.tools.resolve(), SANITIZE if args.asan else FLAGS
    works = [(title(case), lambda folder, case=case: Tile(args, case, folder).run())
             for case in SHORT + (LONG if args.all else [])]
    found = []
    for name, work in works:
        if args.filter in name:
            with tempfile.TemporaryDirectory(prefix="ming-tile-") as folder:
                found.append(judge(name, lambda: work(pathlib.Path(folder))))
    failed = found.count(None)
    print(f"{len(found) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
