#!/usr/bin/env python3
"""Projects for boards (--platform=pynq) and cards (--platform=xrt). driver.py, emulated and with DMAs that
behave as those of a board, or kernels as those of a card, gives what csim gives, and so do a driver of the
tests' own, written from report.json alone, and host.cpp, which is also built with XRT's own headers where they are installed; what driver.py packs and unpacks is
compared with the C++ at random ports; vivado.tcl runs in tclsh against commands that check every
argument, and so that each of some changes of it is found, and so do v++'s. With --models=DIR also networks
there. Ends in `N passed, N failed`."""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import sys
import tempfile

import numpy as np

import board_tools
import report_driver
import stream_check
from board_tools import expect, load_report, must_make, must_run, run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = pathlib.Path(__file__).resolve().parent
SMALL = ROOT / "examples/small_cnn"
XRT_HEADER = pathlib.Path("/usr/include/xrt/xrt/xrt_kernel.h")
NETWORKS = (("two_layers", ()), ("TFC_1W1A", ("--device=pynq-z2",)), ("resnet8_a8w8b16", ("--device=zcu102",)))
HOSTILE = "x{[exit 3]}$env(HOME)\\22; \\0A</script>`id`'%s"
# Changes of vivado.tcl that Vivado would refuse, or that make a design that does not run.
WRONG = ((r"CONFIG.NUM_MI 1\]", "CONFIG.NUM_MI 2]"), (r"c_include_sg 0", "c_include_sg 1"),
         (r"c_sg_length_width 26", "c_sg_length_width 27"), (r"connect_reset \$dma/axi_resetn", ""),
         (r"assign_bd_address\n", ""), (r"tdata_width \$bits", "tdata_width 1024"), (r"ps_slave S_AXI_HP0", "ps_slave S_AXI_HP9"),
         (r"create_bd_cell -type ip -vlnv \[newest \$ps_type\] ps", "create_bd_cell -type ip -vlnv xilinx.com:ip:ps:1.0 ps"),
         (r"connect_clock control/aclk memory/aclk", "connect_clock control/aclk"),
         (r"-to_step write_bitstream", "-to_step bitstream"), (r"set_property top", "set_property topp"))


class Project:
    def __init__(self, tools, path, model, *options):
        self.path, self.model = path, model
        if not any(str(o).startswith("--platform") for o in options):
            options = ("--platform=pynq", *options)
        must_run(tools / "ming", "compile", model, "-o", path, *options)
        self.report = load_report(path)
        self.ports = self.report["ports"]

    def csim(self, x, y):
        must_make(self.path, "csim", f"INPUT={x}", f"OUTPUT={y}")
        return np.load(y)

    def drive(self, *arguments, env=None):
        return run("/usr/bin/python3", "-B", self.path / "board/driver.py", *arguments, env=env)

    def check_driver(self, x):
        y = self.path / "y.npy"
        expected = self.csim(x, self.path / "expected.npy")
        must_make(self.path, "libcsim.so")
        for batch in (64, 2):
            result = self.drive("--emulate", x, f"--output={y}", f"--batch={batch}")
            expect(result.returncode == 0 and "frames/s emulated" in result.stdout, result.stderr)
            got = np.load(y)
            expect(got.dtype == expected.dtype and np.array_equal(got, expected), "differs from csim")
        self.check_labels(x, expected)
        self.check_from_report(x, expected)
        return expected

    def check_from_report(self, x, expected):
        """A driver that knows nothing but report.json."""
        top = self.report["top"]
        weights = [np.load(self.path / (f"{top}_weights.npy" if port["interface"] == "axis" else f"{top}_{port['argument']}.npy"))
                   for port in self.ports if port.get("weights")]
        got, = report_driver.drive(self.path, self.report, [np.load(x)], weights)
        expect(np.array_equal(got.reshape(expected.shape), expected), "a driver from report.json differs from csim")

    def check_labels(self, x, scores):
        scores = scores.reshape(len(scores), -1)
        labels = np.random.default_rng(3).integers(0, scores.shape[1], len(scores))
        ranks = [[(s > row[label]) | ((s == row[label]) & (i < label)) for i, s in enumerate(row)]
                 for row, label in zip(scores, labels)]
        ranks = np.array([sum(r) for r in ranks])
        np.save(self.path / "labels.npy", labels)
        said = self.drive("--emulate", x, f"--labels={self.path / 'labels.npy'}").stdout
        want = f"top-1 {100 * (ranks < 1).mean():.2f} %, top-5 {100 * (ranks < 5).mean():.2f} %"
        expect(want in said, want, "is not in", said)

    def check_board(self, x):
        """With DMAs: after check_driver."""
        modules = self.path / "modules"
        modules.mkdir(exist_ok=True)
        shutil.copy(HERE / "fake_pynq.py", modules / "pynq.py")
        for suffix in (".bit", ".hwh"):
            (self.path / "board" / (self.report["top"] + suffix)).touch()
        env = dict(os.environ, PYTHONPATH=str(modules), MING_FAKE_PROJECT=str(self.path))
        result = self.drive(x, f"--output={self.path / 'z.npy'}", "--batch=2", env=env)
        expect(result.returncode == 0 and "on the board" in result.stdout, result.stderr[-300:])
        expect(np.array_equal(np.load(self.path / "z.npy"), np.load(self.path / "expected.npy")), "board differs")

    def check_card(self, x):
        """As check_board, with kernels of a card."""
        modules = self.path / "modules"
        modules.mkdir(exist_ok=True)
        shutil.copy(HERE / "fake_pyxrt.py", modules / "pyxrt.py")
        (self.path / "board" / (self.report["top"] + ".xclbin")).touch()
        env = dict(os.environ, PYTHONPATH=str(modules), MING_FAKE_PROJECT=str(self.path), MING_FAKE_SLOTS="3")
        for batch in (1, 64):
            result = self.drive(x, f"--output={self.path / 'z.npy'}", f"--batch={batch}", env=env)
            expect(result.returncode == 0 and "on the card" in result.stdout, result.stderr[-300:])
            expect(np.array_equal(np.load(self.path / "z.npy"), np.load(self.path / "expected.npy")), "card differs")
        for lacks, words in (("card", "Could not open device"), ("end", "the kernel ended in state")):
            result = self.drive(x, env=dict(env, MING_FAKE_LACKS=lacks))
            expect(result.returncode == 1 and words in result.stderr and "Traceback" not in result.stderr, result.stderr)

    def check_host(self, x):
        """host.cpp, without XRT and with it."""
        y, host = self.path / "h.npy", self.path / "board/host"
        must_make(self.path, "host", "XRT_HEADER=")
        for options in ((), ("--batch=1",), ("--batch=1", "--slots=1"), ("--batch=2", "--slots=2")):
            y.unlink(missing_ok=True)
            result = must_run(host, "--emulate", *options, x, y)
            expect("frames/s emulated" in result.stdout, result.stdout)
            expect(y.read_bytes() == (self.path / "expected.npy").read_bytes(), "host differs from csim", options)
        for arguments, words in (([x, y], "built without XRT"), (["--emulate", x], "1 files, not the 2"),
                                 (["--emulate", "--slots=0", x, y], "--slots takes a number from 1 to 64"),
                                 (["--emulate", "--what", x, y], "unknown option --what"),
                                 (["--emulate", f"--xclbin={x}", x, y], "invalid ELF header"),
                                 (["--emulate", self.path / "none.npy", y], "none.npy")):
            result = run(host, *arguments)
            expect(result.returncode == 1 and result.stderr.startswith("error: ") and words in result.stderr, arguments,
                   result.stderr)
        if not XRT_HEADER.is_file():
            print("SKIP host.cpp with XRT's headers: libxrt-dev is not installed", flush=True)
            return
        must_make(self.path, "-B", "host", f"XRT_HEADER={XRT_HEADER}")
        must_run(host, "--emulate", x, y)
        expect(y.read_bytes() == (self.path / "expected.npy").read_bytes(), "host with XRT differs from csim")
        result = run(host, x, y)
        expect(result.returncode == 1 and result.stderr.startswith("error: "), "runs without a card", result.stderr)

    def vitis(self, *targets, **env):
        stub = HERE / "vitis_stub.py"
        return run("make", "-s", "-C", self.path, f"VPP={stub}", f"VITIS_RUN={stub}", *targets,
                   env=dict(os.environ, **env))

    def check_link(self):
        top = self.report["top"]
        result = self.vitis("link", "PLATFORM=p")
        expect(result.returncode == 2 and "make xo first" in result.stderr, result.stderr)
        result = self.vitis("xo", MING_STUB_LACKS="xo")
        expect(result.returncode == 2 and f"packaged no {top}.xo" in result.stderr, result.stderr)
        result = self.vitis("xo")
        expect(result.returncode == 0, result.stderr)
        result = self.vitis("link")
        expect(result.returncode == 2 and "give PLATFORM=NAME" in result.stderr, result.stderr)
        result = self.vitis("link", "PLATFORM=some_card", "TARGET=hw_emu")
        expect(result.returncode == 0, result.stderr)
        made = (self.path / "board" / (top + ".xclbin")).read_text()
        expect(made == "some_card hw_emu", made)
        result = run("make", "-s", "-C", self.path, "xo", "VPP=no-such-vpp")
        expect(result.returncode == 2 and "no-such-vpp is not installed" in result.stderr, result.stderr)

    def vivado(self, part, script="board/vivado.tcl", **env):
        ports = [f"{p['argument']} {p['direction']} {p['padded_bits']}" for p in self.ports if p["interface"] == "axis"]
        ports += [f"m_axi_gmem_{p['argument']} memory 0" for p in self.ports if p["interface"] == "m_axi"]
        ports += ["s_axi_control registers 0"] if any(p["interface"] != "axis" for p in self.ports) else []
        (self.path / f"{self.report['top']}_hls/hls/impl/ip").mkdir(parents=True, exist_ok=True)
        return run("tclsh", HERE / "vivado_stub.tcl", script, self.report["top"], part, *ports, cwd=self.path,
                   env=dict(os.environ, **env))

    def check_vivado(self, part):
        result = self.vivado(part)
        expect(result.returncode == 0 and f"{self.report['clock_mhz']} MHz" in result.stdout, result.stderr)
        expect((self.path / "board" / f"{self.report['top']}.hwh").is_file(), "no .hwh")


def check_wrong_scripts(project, part):
    script = (project.path / "board/vivado.tcl").read_text(encoding="utf-8")
    for pattern, wrong in WRONG:
        changed = re.sub(pattern, lambda _, w=wrong: w, script, count=1)
        expect(changed != script, pattern, "is not in the script")
        (project.path / "board/wrong.tcl").write_text(changed, encoding="utf-8")
        result = project.vivado(part, "board/wrong.tcl")
        expect(result.returncode != 0, "passes with", wrong)
    for lacks, words in (("board", "board files of *:pynq-z2:* are not installed"),
                         ("run", "the implementation failed: place_design ERROR")):
        result = project.vivado(part, MING_STUB_LACKS=lacks)
        expect(result.returncode == 1 and words in result.stderr, result.stderr)
    shutil.rmtree(project.path / f"{project.report['top']}_hls")
    result = run("tclsh", HERE / "vivado_stub.tcl", "board/vivado.tcl", project.report["top"], part,
                 cwd=project.path)
    expect(result.returncode == 1 and "make synth export" in result.stderr, result.stderr)
    result = run("make", "-s", "-C", project.path, "bitstream", "VIVADO=no-such-vivado")
    expect(result.returncode == 2 and "no-such-vivado is not installed" in result.stderr, result.stderr)


def check_driver_errors(project, folder):
    np.save(folder / "bad.npy", np.zeros((1, 2), np.float32))
    (folder / "text.npy").write_text("no array")
    good = SMALL / "input.npy"
    lone = folder / "lone"
    lone.mkdir()
    shutil.copy(project.path / "board/driver.py", lone)
    for arguments, words in ((["--emulate"], "0 arrays for 1 inputs"),
                             (["--emulate", folder / "bad.npy"], "shape (1, 2) is not"),
                             (["--emulate", folder / "text.npy"], "text.npy"),
                             (["--emulate", folder / "none.npy"], "none.npy"),
                             (["--emulate", good, "--batch=0"], "a batch has at least one frame"),
                             (["--emulate", good, f"--labels={good}"], "labels for"),
                             (["--emulate", good, "--output=a", "--output=b"], "2 --output for 1 outputs"),
                             ([good], "PYNQ is not installed")):
        result = project.drive(*arguments)
        expect(result.returncode == 1 and words in result.stderr and "Traceback" not in result.stderr,
               arguments, result.stderr[-200:])
    result = run("/usr/bin/python3", "-B", lone / "driver.py", "--emulate", good)
    expect(result.returncode == 1 and "report.json is neither in" in result.stderr, result.stderr)


def random_port(rng, number):
    """A port as C++ and as a row of report.json."""
    rank = rng.randint(1, 4)
    word = [rng.choice((1, 1, 2, 3)) for _ in range(rank)]
    stream = [w * rng.randint(1, 3) for w in word]
    order = rng.sample(range(rank), rank)
    shape = [0] * rank
    for d, dim in enumerate(order):
        shape[dim] = stream[d]
    lanes = int(np.prod(word))
    is_float, is_bipolar = rng.random() < 0.15, rng.random() < 0.1
    bits = rng.choice((32, 64)) if is_float else 1 if is_bipolar else rng.choice((1, 2, 3, 5, 8, 11, 16, 24, 31, 32))
    signed = not is_float and bits > 1 and rng.random() < 0.6
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    stride = 1 if bits == 1 and lanes > 1 else next(s for s in (8, 16, 32, 64) if s >= bits)
    if lanes == 1:
        stride = -(-bits // 8) * 8
    padded = next(p for p in (8 << k for k in range(12)) if p >= lanes * stride)
    q = None
    scale, zero = rng.uniform(0.01, 2), 0
    text = f'ming::Port("p{number}", {{{", ".join(map(str, shape))}}}).stream_order({{{", ".join(map(str, order))}}})'
    text += f".word({{{', '.join(map(str, word))}}})"
    if is_float:
        text += f".floats({bits})"
    else:
        text += f".integers({bits}{'' if signed else ', false'})"
    if not is_float and (is_bipolar or rng.random() < 0.7):
        mode = rng.choice(("ROUND", "HALF_EVEN", "HALF_UP", "HALF_DOWN", "UP", "DOWN", "CEIL", "FLOOR"))
        zero = 0 if is_bipolar else rng.randint(low, high)
        if is_bipolar:
            low, high = -1, 1
            text += f".bipolar({scale!r})"
        else:
            text += f".quantize({scale!r}, {zero}, {low}, {high}, ming::Rounding::{mode})"
        q = {"scale": scale, "zero_point": zero, "divisor": 1, "low": low, "high": high, "rounding": mode,
             "bipolar": is_bipolar}
    text += f".packing({padded}, {stride})"
    words = int(np.prod(shape)) // lanes
    row = {"name": f"p{number}", "argument": f"p{number}", "direction": "in", "shape": shape, "order": order,
           "word": word, "kind": "float" if is_float else "integer", "bits": bits, "signed": is_float or signed,
           "quantizer": q, "element_bits": stride, "word_bits": lanes * stride, "padded_bits": padded,
           "words_per_frame": words, "frame_bytes": words * padded // 8}
    return text, row


def random_array(rng, row, kind):
    shape = [row["shape"][0] * 3, *row["shape"][1:]]
    q = row["quantizer"]
    if row["kind"] == "float" or (q and kind < 2):
        x = rng.normal(size=shape) * (q["scale"] * max(4, q["high"] / 2) if q else 1)
        if q: # ties, and what is far outside
            ties = rng.random(shape) < 0.3
            x[ties] = ((np.floor(x[ties] / q["scale"]) + 0.5) * q["scale"])
            x.flat[0] = 1e30
            x.flat[-1] = np.nan
        return x.astype((np.float32, np.float64)[kind % 2])
    if q and q["bipolar"]:
        return rng.choice([-1, 1], shape).astype(np.int8)
    low, high = (q["low"], q["high"]) if q else (
        (-(1 << row["bits"] - 1), (1 << row["bits"] - 1) - 1) if row["signed"] else (0, (1 << row["bits"]) - 1))
    return rng.integers(low, high, shape, dtype=np.int64, endpoint=True)


def check_random_ports(folder, tools, count=30):
    """driver.py's packing and its inverse, and the C++'s, with three kinds of arrays for each port."""
    sys.path.insert(0, str(ROOT / "emit/board"))
    import driver
    rng, arrays = random.Random(7), np.random.default_rng(7)
    ports = [random_port(rng, n) for n in range(count)]
    project = folder / "random"
    project.mkdir()
    shutil.copytree(ROOT / "emit/csim", project / "csim")
    (project / "report.json").write_text(json.dumps({"top": "r", "ports": [row for _, row in ports]}))
    (project / "r_host.h").write_text('#include "csim/ming_port.h"\nnamespace r_host {\n' + "".join(
        f"inline ming::Port p{n}() {{ return {text}; }}\n" for n, (text, _) in enumerate(ports)) + "}\n")
    packer = board_tools.Packer(project)
    for text, row in ports:
        port = driver.Port(row)
        for kind in range(3):
            x = random_array(arrays, row, kind)
            np.save(project / "x.npy", x)
            want = packer.pack(row, project / "x.npy", project / "x.bin")
            got = port.pack(x)
            expect(got.tobytes() == want, "packs in another way:", text, x.dtype)
            packer.unpack(row, want, project / "y.bin", project / "y.npy")
            back, there = port.unpack(got), np.load(project / "y.npy")
            expect(back.dtype == there.dtype and back.shape == there.shape and
                   np.array_equal(back, there, equal_nan=True), "unpacks in another way:", text)


def check_hostile(tools, folder):
    """Names of tensors reach neither Tcl nor make nor Python's code."""
    model = folder / "hostile.mir"
    name = HOSTILE
    model.write_text(f"""func.func @f(%x: tensor<4x6xi8> {{dfg.name = "{name}"}}) -> (tensor<4x6xi8> {{dfg.name = "{name}"}}) {{
  %y = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}} ins(%x : tensor<4x6xi8>) outs(%x : tensor<4x6xi8>) {{
  ^bb0(%a: i8, %b: i8):
    %c = arith.xori %a, %a : i8
    linalg.yield %c : i8
  }} -> tensor<4x6xi8>
  return %y : tensor<4x6xi8>
}}
""", encoding="utf-8")
    project = Project(tools, folder / "hostile", model, "--device=pynq-z2")
    expect("</script>" in project.ports[0]["name"], project.ports[0]["name"])
    settings = (project.path / "board/design.tcl").read_text(encoding="utf-8")
    expect(not set(settings) & set("<>`$'%;/"), settings)
    np.save(folder / "h.npy", np.ones((8, 6), np.int8))
    project.check_driver(folder / "h.npy")
    project.check_vivado("xc7z020-1clg400c")


def check_refusals(tools, folder):
    for options, words in ((["--platform=xrt", "--device=pynq-z2"], "is no card with memory banks"),
                           (["--platform=xrt", "--device=adm-8k5"], "is no card with memory banks"),
                           (["--platform=xrt", "--device=u50", "--interface=dma"], "not by --interface=dma"),
                           (["--platform=xrt", "--device=u50", "--control=none"], "registers start an accelerator"),
                           (["--device=u250"], "has no processing system"),
                           (["--control=none"], "--rewind=off is needed"),
                           (["--rewind=on"], "--rewind=off is needed"),
                           (["--interface=m_axi"], "moves frames by DMAs, not by --interface=m_axi")):
        result = run(tools / "ming", "compile", SMALL / "model.onnx", "-o", folder / "no", "--platform=pynq", *options)
        expect(result.returncode == 1 and words in result.stderr and not (folder / "no").exists(), result.stderr)
    count, kind = 17, "tensor<4xi8>"
    text = f"func.func @f({', '.join(f'%x{i}: {kind}' for i in range(count))}) -> {kind} {{\n  %e = tensor.empty() : {kind}\n"
    for i in range(1, count):
        left = "%x0" if i == 1 else f"%y{i - 1}"
        text += (f"  %y{i} = linalg.generic {{indexing_maps = [{', '.join(['affine_map<(i) -> (i)>'] * 3)}], "
                 f"iterator_types = [\"parallel\"]}} ins({left}, %x{i} : {kind}, {kind}) outs(%e : {kind}) {{\n"
                 "  ^bb0(%a: i8, %b: i8, %c: i8):\n    %d = arith.xori %a, %b : i8\n    linalg.yield %d : i8\n"
                 f"  }} -> {kind}\n")
    text += f"  return %y{count - 1} : {kind}\n}}\n"
    (folder / "many.mir").write_text(text, encoding="utf-8")
    result = run(tools / "ming", "compile", folder / "many.mir", "-o", folder / "no", "--platform=pynq")
    expect(result.returncode == 1 and "needs 1 to 16 ports that are streams of DMAs" in result.stderr and
           not (folder / "no").exists(), result.stderr)


def check_stale(tools, folder):
    """Another compile without a platform takes the files away, but not what was made of them."""
    path = folder / "stale"
    must_run(tools / "ming", "compile", SMALL / "model.onnx", "-o", path, "--platform=pynq")
    (path / "board/mine.bit").touch()
    must_run(tools / "ming", "compile", SMALL / "model.onnx", "-o", path, "--platform=xrt", "--device=u50")
    names = sorted(f.name for f in (path / "board").iterdir())
    expect(names == ["csim_xrt.h", "design.h", "driver.py", "host.cpp", "host_frames.h", "host_main.h", "link.cfg", "mine.bit",
                     "two_sided.h"], names)
    must_run(tools / "ming", "compile", SMALL / "model.onnx", "-o", path)
    expect([f.name for f in (path / "board").iterdir()] == ["mine.bit"], list((path / "board").iterdir()))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True)
    parser.add_argument("--models")
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    tools = pathlib.Path(options.tools).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        image = np.load(SMALL / "input.npy")
        x = folder / "x.npy"
        np.save(x, np.concatenate([image, -image, image[..., ::-1]]).astype(image.dtype))
        made = {}

        def project(key, *flags):
            if key not in made:
                made[key] = Project(tools, folder / key, SMALL / "model.onnx", *flags)
            return made[key]

        def whole(key, part, *flags):
            project(key, *flags).check_driver(x)
            project(key).check_board(x)
            project(key).check_vivado(part)

        def card(key, *flags):
            project(key, "--platform=xrt", *flags).check_driver(x)
            project(key).check_card(x)
            project(key).check_host(x)
            project(key).check_link()

        def streamed():
            """Weights that stay in the card's memory."""
            found, pinned = folder / "found", folder / "pinned.json"
            must_run(tools / "ming", "compile", SMALL / "model.onnx", "-o", found, "--device=u50", "--fps=30000")
            stream_check.pin(found / "folding.json", pinned, lambda: True)
            card("xrt-stream", "--device=u50", "--fps=30000", "--weights=stream", f"--folding={pinned}")

        def memory_board(key, part, model, *flags):
            """Weights are in memories that registers tell of; results are the model's published ones."""
            made[key] = one = Project(tools, folder / key, model / "model.onnx", *flags)
            must_make(one.path, "libcsim.so")
            given, wanted = model / "input.npy", np.load(model / "output.npy")
            shape = next(port["shape"] for port in one.ports if port["direction"] == "out")
            wanted = wanted.reshape(len(wanted) * shape[0], *shape[1:])
            np.save(one.path / "expected.npy", wanted)
            result = one.drive("--emulate", given, f"--output={one.path / 'z.npy'}", "--batch=3")
            expect(result.returncode == 0, result.stderr)
            expect(np.array_equal(np.load(one.path / "z.npy"), wanted), "emulated differs")
            one.check_board(given)
            env = dict(os.environ, PYTHONPATH=str(one.path / "modules"), MING_FAKE_PROJECT=str(one.path))
            result = one.drive(given, env=dict(env, MING_FAKE_LACKS="CTRL"))
            expect(result.returncode == 1 and "the accelerator has no register CTRL" in result.stderr, result.stderr)
            one.check_vivado(part)

        def streamed_board(key, model, *flags):
            found, pinned = folder / f"{key}-found", folder / f"{key}.json"
            must_run(tools / "ming", "compile", model / "model.onnx", "-o", found, *flags)
            stream_check.pin(found / "folding.json", pinned, lambda: True)
            memory_board(key, "xck26-sfvc784-2LV-c", model, "--weights=stream", f"--folding={pinned}", *flags)
            for port in made[key].ports:
                expect(port["interface"] == ("m_axi" if port.get("weights") else "axis"), port)

        cases = [("xrt-u250", lambda: card("xrt-u250", "--device=u250", "--fps=2000")),
                 ("xrt-weights", lambda: card("xrt-weights", "--device=u50", "--fps=2000", "--weights=load:512")),
                 ("xrt-stream", streamed),
                 ("pynq-stream", lambda: streamed_board("pynq-stream", SMALL, "--fps=2000")),
                 ("pynq-axilite", lambda: memory_board("pynq-axilite", "xck26-sfvc784-2LV-c", SMALL, "--weights=load:8",
                                                       "--weights-interface=axilite")),
                 ("pynq-z2", lambda: whole("pynq-z2", "xc7z020-1clg400c", "--device=pynq-z2")),
                 ("errors", lambda: check_driver_errors(project("pynq-z2", "--device=pynq-z2"), folder)),
                 ("wrong", lambda: check_wrong_scripts(project("pynq-z2", "--device=pynq-z2"), "xc7z020-1clg400c")),
                 ("kv260", lambda: whole("kv260", "xck26-sfvc784-2LV-c", "--weights=load:128", "--control=none", "--rewind=off")),
                 ("random", lambda: check_random_ports(folder, tools)),
                 ("hostile", lambda: check_hostile(tools, folder)),
                 ("refused", lambda: check_refusals(tools, folder)),
                 ("stale", lambda: check_stale(tools, folder))]
        if options.models:
            cases += [("xrt-memory", lambda: card("xrt-memory", "--device=u50", "--fps=2000", "--weights=load:512",
                                                  "--weights-interface=m_axi")),
                      ("pynq-memory", lambda: memory_board("pynq-memory", "xc7z020-1clg400c", SMALL, "--device=pynq-z2",
                                                           "--weights=load:32", "--weights-interface=m_axi")),
                      ("pynq-two-layers", lambda: streamed_board("pynq-two-layers", pathlib.Path(options.models) / "two_layers"))]
        for network, flags in NETWORKS if options.models else ():
            model = pathlib.Path(options.models) / network

            def network_case(network=network, flags=flags, model=model):
                one = Project(tools, folder / network, model / "model.onnx", *flags)
                one.check_driver(model / "input.npy")
                one.check_board(model / "input.npy")

            def card_case(network=network, model=model):
                one = Project(tools, folder / f"xrt-{network}", model / "model.onnx", "--platform=xrt", "--device=u250")
                one.check_driver(model / "input.npy")
                one.check_card(model / "input.npy")
                one.check_host(model / "input.npy")

            cases += [(network, network_case), (f"xrt-{network}", card_case)]
        return board_tools.report_cases([c for c in cases if options.filter in c[0]])


if __name__ == "__main__":
    sys.exit(main())
