"""Engines as C++ (`ming overlay`), which run the files of programs."""
import numpy as np

from overlay_check import Failure, run

FLAGS = "-std=c++17 -O1 -Wall -Wextra -Wno-unknown-pragmas -Wno-unused-label"


def finish(done):
    if done.returncode:
        raise Failure((done.stderr.decode().splitlines() or ["fails"])[0])


class Engine:
    """A built project."""

    def __init__(self, tools, folder, overlay, flags=FLAGS):
        self.overlay, self.folder = overlay, folder
        sizes = [f"--{pair.replace('_', '-')}" for pair in overlay.split(",")]
        finish(run(tools / "ming", "overlay", "-o", folder, *sizes))
        done = run("make", "-s", "-C", folder, f"CXXFLAGS={flags}", "engine_csim")
        if done.returncode or done.stderr:
            raise Failure(f"does not build: {done.stderr.decode()[:300]}")

    def run(self, program, banks, output):
        return run(self.folder / "engine_csim", program, *banks, output)


class Engines(dict):
    """Built projects by name, and those of other sizes, each built when first asked for."""

    def __init__(self, tools, folder, flags, overlays):
        self.tools, self.folder, self.flags, self.built = tools, folder, flags, {}
        super().__init__({name: self.build(overlay) for name, overlay in overlays.items()})

    def build(self, overlay):
        if overlay not in self.built:
            place = self.folder / str(len(self.built))
            self.built[overlay] = Engine(self.tools, place, overlay, self.flags)
        return self.built[overlay]


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
