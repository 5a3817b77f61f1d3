"""Runs the Verilog of a compiled project in Icarus on the model's own arrays.

rtl_bench.py gives and takes the integers of ports. What these mean in the model's real numbers is
read from the emitted host header and computed by numpy, so that neither the project's host code nor
its testbench takes part."""
import re

import numpy as np

import rtl_bench
from run_check import Failure

ROUNDINGS = {"ROUND": np.rint, "HALF_EVEN": np.rint, "FLOOR": np.floor, "CEIL": np.ceil}


def description(header, kind):
    """The text of the only port of a kind, Input or Output."""
    text, = re.findall(rf"// {kind} [^\n]*\ninline ming::Port \w+\(\)\n\{{\n(.*?)\n\}}", header, re.S)
    return text


def arguments(text, call):
    """Those of a call in a port's description; None: it is not there."""
    found = re.search(rf"\.{call}\(([^)]*)\)", text)
    return found and [word.strip() for word in found[1].split(",")]


def is_bit(text):
    """Whether a bipolar is one; beside zeros of a padding it is a number of two bits."""
    return arguments(text, "integers")[0] == "1"


def to_integers(text, array):
    """What of real numbers enters."""
    if arguments(text, "bipolar"):
        return np.where(array >= 0, 1, 0 if is_bit(text) else -1)
    step, zero, low, high, mode = arguments(text, "quantize")
    scaled = array / np.float32(float(step))
    rounded = ROUNDINGS[mode.split("::")[-1]](scaled + np.float32(float(zero)))
    return np.clip(rounded, int(low), int(high)).astype(np.int64)


def to_reals(text, array):
    """What leaves, as real numbers."""
    if (bipolar := arguments(text, "bipolar")) and is_bit(text):
        return np.where(array > 0, 1, -1) * float(bipolar[0])
    step, zero, count = arguments(text, "dequantize") or ("1", "0", "1")
    return (array - float(zero)) * float(step) / float(count)


def simulate(design, array):
    """The only output of a project with one input: frames are along the first axis. A design of
    --emit=hls,verilog; what is loaded into it is beside it."""
    header = next(design.glob("*_host.h")).read_text(encoding="utf-8")
    top = next(design.glob("*_host.h")).name.removesuffix("_host.h")
    folder = design / "rtl"
    ports = rtl_bench.read_ports(header, (folder / f"{top}.v").read_text(encoding="utf-8"))
    source, = (port for port in ports if not port.is_output and not port.is_weights)
    frames = to_integers(description(header, "Input"), array).reshape(-1, 1, int(np.prod(source.shape)))
    weights = [np.load(path)[None] for path in design.glob("*_weights.npy")]
    run = rtl_bench.IcarusBench(folder, top, header, [frames, *weights]).run()
    if run is None:
        raise Failure("the Verilog deadlocks")
    return to_reals(description(header, "Output"), run.outputs()[0])
