"""What bench/rtl and bench/residual ask Yosys: the cells of a module behind synth_xilinx and its longest path.

A path is measured by the numbers of the latency model (schedule/latency.c), so that it can be set
beside the clock that the model allows; Yosys only says what it leads through. Results are kept in
a folder, by the module's text, and found there again.
"""
import collections
import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parent / "yosys.js"
FIGURES = ("dsp", "bram18", "uram", "lut", "ff")
VERSION = 1                             # of what is kept
# Picoseconds, as in schedule/latency.c: a level of logic with its wire, a bit of a choice; into
# and out of a carry chain beside the level in front of it, a bit of it; outputs of what is clocked.
LUT, CHOICE, CARRY, CARRY_BIT = 250, 265, 420, 11
OUTPUTS = (("RAMB", 1237), ("URAM", 1237), ("DSP48", 600))
LUTRAM = 677
CARRY_BITS = {"CARRY4": 4, "CARRY8": 8}
REGISTERS = re.compile(r"FD[RSCP]E|SRL|RAMB|URAM|DSP48")
RAMS = re.compile(r"RAM\d+[XM]")


@dataclasses.dataclass(frozen=True)
class Module:
    """A module that is synthesized for itself. sources: files of the folder that it needs, in the
    order in which they are read; parameters: of the module, by name."""
    folder: pathlib.Path
    name: str
    sources: tuple
    family: str = "xcup"
    parameters: tuple = ()

    def script(self, lutrams=None):
        """lutrams: a library of LUTRAM for the memories that Yosys's own does not map."""
        synthesis = (f"synth_xilinx -flatten -family {self.family} -noiopad -noclkbuf "
                     f"-top {self.name}")
        if lutrams:
            synthesis += (f" -run begin:map_memory; memory_libmap -lib {lutrams} t:$mem_v2 "
                          "a:ram_style=distributed %i r:SIZE>256 %i; "
                          f"techmap -map +/xilinx/lutrams_xc5v_map.v; {synthesis} -run map_memory:")
        values = "".join(f"-set {name} {value} " for name, value in self.parameters)
        change = f"chparam {values}{self.name}; " if values else ""
        return (f"read_verilog {' '.join(s for s in self.sources if s.endswith('.v'))}; {change}"
                f"{synthesis}; tee -q -o count.txt stat -json; write_json net.json")

    def size(self):
        return sum((self.folder / source).stat().st_size for source in self.sources)

    def key(self, tool):
        digest = hashlib.sha256(f"{VERSION}\n{tool}\n{self.script()}\n".encode())
        for source in self.sources:
            digest.update((self.folder / source).read_bytes())
        return digest.hexdigest()[:32]


def is_instantiated(library, text):
    """Whether a module of the library's file is named by another module."""
    names = re.findall(r"^module (\w+)", library.read_text(encoding="utf-8"), flags=re.M)
    return any(re.search(rf"\b{name}\b", text) for name in names)


def process_module(folder, name, family):
    """A process of the design in the folder."""
    rtl = folder / "rtl"
    name = name if (rtl / f"{name}.v").exists() else f"{name}_"
    text = (rtl / f"{name}.v").read_text(encoding="utf-8")
    library = [path.name for path in sorted(rtl.glob("ming_*.v")) if is_instantiated(path, text)]
    files = re.findall(r'\$readmemh\("(.*?)"', text)
    return Module(rtl, name, (*library, f"{name}.v", *files), family)


def fifo_modules(folder, family):
    """Of the design in the folder, by instance: the FIFO's module and its parameters."""
    rtl, found = folder / "rtl", {}
    top = rtl / (rtl / "files.f").read_text(encoding="utf-8").split()[-1]
    for module, values, name in re.findall(r"(ming_fifo_\w+) #\((.*?)\) (\w+) \(",
                                           top.read_text(encoding="utf-8")):
        values = tuple(re.findall(r"\.(\w+)\((\d+)\)", values))
        library = [path.name for path in sorted(rtl.glob("ming_*.v"))]
        found[name] = Module(rtl, module, tuple(library), family, values)
    return found


def figures(tools, folder, results):
    """(predicted, counted) of the processes and FIFOs of the design in the folder that were counted, by
    name, each a dictionary of FIGURES: what `ming report` says, with the FIFOs as processes."""
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    report["processes"] += [fifo for fifo in report["fifos"] if "verilog" in fifo]
    modules = {name: {"num_cells_by_type": result["cells"]}
               for name, result in results.items() if "cells" in result}
    if not modules:
        return {}
    synthesis = {"creator": "", "modules": modules, "design": {"num_cells_by_type": {}}}
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        (work / "report.json").write_text(json.dumps(report), encoding="utf-8")
        (work / "synth.json").write_text(json.dumps(synthesis), encoding="utf-8")
        done = subprocess.run([tools / "ming", "report", work, f"--yosys={work / 'synth.json'}",
                               "--json"], capture_output=True, text=True, check=True)
    return {row["name"]: tuple({figure: row[key][figure] or 0 for figure in FIGURES}
                               for key in ("predicted", "reported"))
            for row in json.loads(done.stdout) if row["name"] in modules}


class Timing:
    """Arrival times at the nets of a netlist. Ports and registers give their data at 0."""

    def __init__(self, module):
        self.cells = module["cells"].values()
        self.arrival, self.level = collections.defaultdict(int), collections.defaultdict(int)
        self.longest = (0, 0)           # picoseconds, levels of logic
        self.walk()

    @staticmethod
    def pins(cell, direction):
        directions = cell["port_directions"]
        return {port: bits for port, bits in cell["connections"].items()
                if directions[port] == direction}

    @staticmethod
    def arcs(cell):
        """Pairs of the bits that a function reads, and the bits that it gives, with its delay and
        its levels; none for what is clocked."""
        kind, pins = cell["type"], cell["connections"]
        inputs = [bit for port, bits in Timing.pins(cell, "input").items() for bit in bits]
        outputs = [bit for port, bits in Timing.pins(cell, "output").items() for bit in bits]
        if REGISTERS.match(kind):
            return []
        if kind.startswith("CARRY"):
            return [Timing.carry(pins, bit) for bit in range(CARRY_BITS[kind])]
        if RAMS.match(kind):
            return [([bit for port, bits in pins.items() if port.startswith(("A", "DPRA"))
                      for bit in bits], outputs, LUTRAM, 1)]
        is_choice = kind.startswith("MUXF")
        is_wire = kind in ("INV", "BUF", "BUFG", "VCC", "GND")
        return [(inputs, outputs, 0 if is_wire else CHOICE if is_choice else LUT,
                 0 if is_wire or is_choice else 1)]

    @staticmethod
    def carry(pins, bit):
        """Sum and carry of a bit, from all bits below."""
        entering = [b for port in ("S", "DI") for b in pins.get(port, [])[:bit + 1]]
        leaving = [pins[port][bit] for port in ("O", "CO") if bit < len(pins.get(port, []))]
        return entering + pins.get("CYINIT", []), leaving, CARRY + CARRY_BIT * bit, 0

    def chained(self):
        """Carries from one block of a chain to the next one do not leave it."""
        found = {}
        for cell in self.cells:
            if cell["type"].startswith("CARRY"):
                pins = cell["connections"]
                for port in ("O", "CO"):
                    for bit, out in enumerate(pins.get(port, [])):
                        found[out] = pins.get("CI", ["0"])[0], CARRY_BIT * (bit + 1)
        return found

    def walk(self):
        producers, chained = {}, self.chained()
        for cell in self.cells:
            for inputs, outputs, delay, levels in self.arcs(cell):
                for out in outputs:
                    producers[out] = [b for b in inputs if isinstance(b, int)], delay, levels
            if REGISTERS.match(cell["type"]):
                start = next((ps for name, ps in OUTPUTS if cell["type"].startswith(name)), 0)
                for bits in self.pins(cell, "output").values():
                    for bit in bits:
                        self.arrival[bit] = start
        self.propagate(producers, chained)
        ends = [(self.arrival[bit], self.level[bit]) for bit in list(producers)]
        self.longest = max(ends, default=(0, 0))

    def propagate(self, producers, chained):
        done = set()
        for root in producers:
            stack = [root]
            while stack:
                bit = stack[-1]
                inputs, delay, levels = producers[bit]
                carry, along = chained.get(bit, (None, 0))
                waits = [b for b in [*inputs, carry] if b in producers and b not in done]
                if bit in done or not waits:
                    stack.pop()
                    self.finish(bit, inputs, delay, levels, carry, along)
                    done.add(bit)
                else:
                    stack += waits

    def finish(self, bit, inputs, delay, levels, carry, along):
        ways = [(self.arrival[b] + delay, self.level[b] + levels) for b in inputs]
        if isinstance(carry, int):
            ways.append((self.arrival[carry] + along, self.level[carry]))
        self.arrival[bit], self.level[bit] = max(ways, default=(0, 0))


class Yosys:
    """Debian's, or with `folder` the one of npm's package that is installed there. Synthesizes
    modules, each within `limit` seconds of the processor, `jobs` at a time; 0: takes from the cache
    what is there."""

    def __init__(self, folder, cache, limit, jobs):
        self.folder, self.cache, self.limit, self.jobs = folder, cache, limit, jobs
        cache.mkdir(parents=True, exist_ok=True)
        self.version = self.find_version()

    def find_version(self):
        if self.folder:
            package = self.folder / "node_modules" / "@yowasp" / "yosys" / "package.json"
            return f"@yowasp/yosys {json.loads(package.read_text(encoding='utf-8'))['version']}"
        found = subprocess.run(["yosys", "-V"], capture_output=True, text=True, check=True)
        return " ".join(found.stdout.split()[:2])

    def command(self, module, lutrams=None):
        if not self.folder:
            return ["yosys", "-q", "-p", module.script(lutrams)]
        return ["node", SCRIPT, self.folder.resolve(), module.script(), *module.sources]

    @staticmethod
    def mended_lutrams(work):
        """Yosys's LUTRAM of UltraScale with RAM512X1S, which its library has with 16 bits of address:
        then it maps none of more than 256 words whose ports share their address."""
        share = pathlib.Path(shutil.which("yosys")).resolve().parent.parent / "share" / "yosys"
        text = (share / "xilinx" / "lutrams_xcu.txt").read_text(encoding="utf-8")
        mended = text.replace('option "ABITS" 16', 'option "ABITS" 9').replace("abits 16;", "abits 9;")
        (work / "lutrams.txt").write_text(mended, encoding="utf-8")
        return "lutrams.txt"

    def limited(self):
        os.nice(15)
        resource.setrlimit(resource.RLIMIT_CPU, (self.limit, self.limit + 1))

    def run(self, module):
        """{"cells": …, "path_ps": …, "levels": …}; {"failed": why}."""
        with tempfile.TemporaryDirectory() as temporary:
            work = pathlib.Path(temporary)
            for source in module.sources:
                shutil.copy(module.folder / source, work)
            how = {"cwd": work, "capture_output": True, "text": True, "errors": "replace",
                   "check": False, "preexec_fn": self.limited}
            done = subprocess.run(self.command(module), **how)
            if done.returncode and "invalid OPTION_ABITS" in done.stderr and not self.folder:
                done = subprocess.run(self.command(module, self.mended_lutrams(work)), **how)
            if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
                return {"failed": f"takes more than {self.limit} s"}
            if done.returncode:
                return {"failed": done.stderr.strip().split("\n")[-1]}
            net = json.loads((work / "net.json").read_text(encoding="utf-8"))
        return self.measure(net["modules"][module.name])

    @staticmethod
    def measure(module):
        cells = collections.Counter(cell["type"] for cell in module["cells"].values())
        path, levels = Timing(module).longest
        return {"cells": dict(sorted(cells.items())), "path_ps": path, "levels": levels}

    def synthesize(self, module):
        kept = self.cache / f"{module.key(self.version)}.json"
        if kept.exists():
            result = json.loads(kept.read_text(encoding="utf-8"))
            if "failed" not in result or result.get("limit", 0) >= self.limit:
                return result
        if self.limit == 0:
            return {"failed": "is not in the cache"}
        result = self.run(module)
        if "failed" in result:
            result["limit"] = self.limit
        temporary = kept.with_suffix(".new")
        temporary.write_text(json.dumps(result, indent=1), encoding="utf-8")
        temporary.replace(kept)
        return result

    def all(self, modules):
        """Results in the modules' order. Small ones are first, and each text once."""
        by_key = {module.key(self.version): module for module in modules}
        unique = sorted(by_key.values(), key=Module.size)
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            results = dict(zip((module.key(self.version) for module in unique),
                               pool.map(self.synthesize, unique)))
        return [results[module.key(self.version)] for module in modules]
