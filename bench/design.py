"""What bench/ming and bench/nn2fpga share: a network or kernel compiled for a budget, simulated
cycle by cycle, its C++ run against the exact outputs, and set beside a published design."""
import argparse
import dataclasses
import json
import pathlib
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEVIATION = 0.01        # of the simulated interval from the predicted one
LUT_ERROR = 0.25        # of our LUTs, which are estimates (docs/cost-model.md)


@dataclasses.dataclass
class Published:
    """What a paper reports; None: it does not. bram18: 18 Kib blocks."""
    cycles: int
    dsp: int
    bram18: int | None = None
    uram: int = 0
    lut: int | None = None

    def limits(self, *resources):
        """Options of ming compile for those of these resources that are known."""
        options = {"dsp": self.dsp, "bram": self.bram18, "uram": self.uram, "lut": self.lut}
        return {name: options[name] for name in resources if options[name] is not None}


def lut_claim(published, lut):
    """What is to be said of fewer LUTs than the published ones: whether they still are fewer when
    the estimate errs as far as it may."""
    undecided = published.lut is not None and lut <= published.lut < lut * (1 + LUT_ERROR)
    return ", LUT within the error" if undecided else ""


def arguments(doc):
    parser = argparse.ArgumentParser(description=doc.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "build" / "tools")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the designs")
    parser.add_argument("--only", default="", help="rows whose names contain this")
    parser.add_argument("--no-csim", action="store_true", help="skip the C++ simulations")
    return parser


def run(command):
    """Standard output; None if the command fails, with its words on standard error."""
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return result.stdout
    print(f"failed: {' '.join(map(str, command))}\n{result.stderr}", file=sys.stderr)
    return None


class Design:
    """One run of ming compile and ming sim. `ok` is false if either fails."""

    def __init__(self, tools, model, folder, **options):
        self.folder = folder
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        simulated = folder / "sim.json"
        folder.parent.mkdir(parents=True, exist_ok=True)
        self.ok = (run([tools / "ming", "compile", model, "-o", folder, *flags]) is not None and
                   run([tools / "ming", "sim", folder, "--timing-only", f"--json={simulated}"])
                   is not None)
        if not self.ok:
            return
        self.report, timing = (json.loads(path.read_text(encoding="utf-8"))
                               for path in (folder / "report.json", simulated))
        totals = self.report["totals"]
        self.dsp, self.bram18, self.uram, self.lut = (totals[name] for name in (
            "dsp", "bram18", "uram", "lut"))
        self.predicted = self.report["predicted"]["interval_cycles"]
        self.latency, self.interval = totals["latency_cycles"], timing["interval_cycles"]
        self.bottleneck = timing["bottleneck"]

    def exceeds(self, limits):
        used = {"dsp": self.dsp, "bram": self.bram18, "uram": self.uram, "lut": self.lut}
        return any(used[name] > limit for name, limit in limits.items())

    def is_as_predicted(self):
        return abs(self.interval - self.predicted) <= DEVIATION * self.predicted

    def computes(self, frames, wanted):
        """Whether the emitted C++ gives exactly these outputs."""
        paths = self.folder / "x.npy", self.folder / "y.npy"
        np.save(paths[0], frames)
        if run(["make", "-s", "-C", self.folder, "csim", f"INPUT={paths[0].resolve()}",
                f"OUTPUT={paths[1].resolve()}"]) is None:
            return False
        return np.array_equal(np.load(paths[1]).reshape(-1), wanted.reshape(-1))


class Table:
    """Rows in markdown, printed as they come; counts what misses its target."""

    def __init__(self, *columns, text=1):
        self.missed = 0
        print(f"| {' | '.join(columns)} |")
        print(f"|{'---|' * text}{'--:|' * (len(columns) - text)}")

    def row(self, *cells, meets=True):
        self.missed += not meets
        text = [f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in cells]
        print(f"| {' | '.join(text)} |", flush=True)
