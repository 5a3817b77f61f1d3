"""What Yosys counts of the processes of a design that only move words, and of its FIFOs, beside what the
cost model has for them as C++ and as Verilog."""
import dataclasses
import json
import sys

import netlist

MOVERS = ("window", "converter", "fork", "reorder", "merge")
FAMILY = "xcup"
FIGURES = ("bram18", "uram", "lut", "ff")


@dataclasses.dataclass
class Part:
    """A process or FIFO; what it takes, by figure: as C++ and as Verilog by the model, by Yosys."""
    name: str
    kind: str
    module: netlist.Module
    model: dict
    verilog: dict = None
    counted: dict = None

    def text(self):
        """The same for modules that differ in their names alone."""
        files = [(self.module.folder / source).read_text(encoding="utf-8")
                 for source in self.module.sources]
        return (tuple(text.replace(self.module.name, "") for text in files), self.module.parameters)


def parts_of(folder):
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    fifos = netlist.fifo_modules(folder, FAMILY)
    found = [Part(f["name"], f"FIFO {f['kind']}", fifos[f["name"]], {key: f.get(key, 0) for key in FIGURES})
             for f in report["fifos"] if f["name"] in fifos]
    for process in report["processes"]:
        if process["class"] not in MOVERS:
            continue
        written = [f for f in report["fifos"] if f["writer"] == process["name"]]
        own = {key: process[key] - sum(f.get(key, 0) for f in written) for key in FIGURES}
        found.append(Part(process["name"], process["class"],
                          netlist.process_module(folder, process["name"], FAMILY), own))
    return found


def count(tools, folders, yosys):
    """The parts of the design in each folder. Ends the program if Yosys fails."""
    designs = [(folder, parts_of(folder)) for folder in folders]
    first = {}
    for _, parts in designs:
        for part in parts:
            first.setdefault(part.text(), part)
    results = dict(zip(first, yosys.all([part.module for part in first.values()])))
    for folder, parts in designs:
        counted = {part.name: results[part.text()] for part in parts}
        for name, result in counted.items():
            if "failed" in result:
                sys.exit(f"{folder}: {name} was not counted: {result['failed']}")
        figures = netlist.figures(tools, folder, counted)
        for part in parts:
            part.verilog, part.counted = figures[part.name]
    return [parts for _, parts in designs]
