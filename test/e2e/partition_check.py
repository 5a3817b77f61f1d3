#!/usr/bin/env python3
"""The advice of ming check on random networks in which some operators are unknown.

    test/e2e/partition_check.py --tools=build/tools [--count=N] [--seed=N] [--filter=TEXT]

A network is a graph of Conv, Add, Mul and Relu on integers in floats, with nodes of a foreign
operator among them; the types of some tensors are written down, those of others are not. For each,

- if the network does not compile, no convex and connected part of the nodes that `ming check` says
  compile has more MACs than the one it names, found by trying all of them;
- the part compiles with --partition=FILE and with the options that the report prints, and gives the
  values of numpy, from the values of the tensors that go in;
- each cut that a hint names (`--to=a ends before it`, `--from=b begins behind it`) leaves a network
  that compiles, and ends or begins at a tensor of the very node;
- head, part and tail name every node once, and no node of the head needs one of part or tail.

The last line counts the cases.
"""
import argparse
import json
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile

import numpy as np

import onnx_file
import qonnx_builder

SHAPE = (1, 2, 4, 4)


class Network:
    """A random network: nodes with names of operands and of the result, in order."""

    def __init__(self, rng, size):
        self.rng = rng
        self.graph = {"name": "net", "node": [], "initializer": [], "value_info": [],
                      "input": [qonnx_builder.value_info("x", SHAPE)], "output": []}
        self.nodes, self.weights = [], {}
        tensors = ["x"]
        for number in range(size):
            result = f"t{number}"
            kind = rng.choice(["Conv", "Conv", "Relu", "Add", "Mul", "Foreign"])
            # Mostly what was made just before, so that there are long paths.
            operands = [rng.choice(tensors[-3:] if rng.random() < 0.8 else tensors)
                        for _ in range(2 if kind in ("Add", "Mul") else 1)]
            self.add(kind, f"n{number}", operands, result)
            tensors.append(result)
            if kind != "Foreign" or rng.random() < 0.6:
                self.graph["value_info"].append(qonnx_builder.value_info(result, SHAPE))
        used = {name for _, _, operands, _ in self.nodes for name in operands}
        for _, _, _, result in self.nodes:
            if result not in used:
                self.graph["output"].append(qonnx_builder.value_info(result, SHAPE))

    def add(self, kind, name, operands, result):
        inputs = list(operands)
        node = {"op_type": kind, "name": name, "input": inputs, "output": [result]}
        if kind == "Conv":
            size = self.rng.choice([1, 3])
            weights = np.array([self.rng.randint(-2, 2) for _ in range(4 * size * size)],
                               dtype=np.float32).reshape(2, 2, size, size)
            self.weights[name] = weights
            self.graph["initializer"].append(onnx_file.tensor_from_array(f"w_{name}", weights, True))
            inputs.append(f"w_{name}")
            node["attribute"] = [{"name": "pads", "type": 7, "ints": [size // 2] * 4}]
        if kind == "Foreign":
            node["domain"] = "foreign"
        self.graph["node"].append(node)
        self.nodes.append((kind, name, operands, result))

    def bytes(self):
        return onnx_file.encode("Model", {
            "ir_version": 8, "graph": self.graph,
            "opset_import": [{"version": 13}, {"domain": "foreign", "version": 1}]})

    def values(self, x):
        """All tensors, computed with numpy. The foreign operator subtracts one. None: they become
        larger than the integers that floats hold exactly."""
        values = {"x": x}
        for kind, name, operands, result in self.nodes:
            args = [values[operand] for operand in operands]
            if kind == "Conv":
                values[result] = convolve(args[0], self.weights[name])
            elif kind == "Relu":
                values[result] = np.maximum(args[0], 0)
            elif kind == "Foreign":
                values[result] = args[0] - 1
            else:
                values[result] = args[0] + args[1] if kind == "Add" else args[0] * args[1]
            if np.abs(values[result]).max() > 2**16:
                return None
        return values


def convolve(x, weights):
    size = weights.shape[2]
    padded = np.pad(x, ((0, 0), (0, 0), (size // 2,) * 2, (size // 2,) * 2))
    result = np.zeros_like(x)
    for i in range(size):
        for j in range(size):
            result += np.einsum("oc,nchw->nohw", weights[:, :, i, j],
                                padded[:, :, i:i + x.shape[2], j:j + x.shape[3]])
    return result


def best_part(network, good, macs):
    """MACs of the heaviest convex, connected set of good nodes."""
    producers = {result: number for number, (_, _, _, result) in enumerate(network.nodes)}
    before = [{producers[name] for name in operands if name in producers}
              for _, _, operands, _ in network.nodes]
    count = len(before)
    above = []  # all nodes that a node needs, as bits
    for needs in before:
        bits = 0
        for number in needs:
            bits |= above[number] | 1 << number
        above.append(bits)
    below = [sum(1 << v for v in range(count) if above[v] >> u & 1) for u in range(count)]
    near = [sum(1 << v for v in range(count) if v in before[u] or u in before[v])
            for u in range(count)]
    usable = sum(1 << number for number in good)
    best, part = -1, usable
    while part:
        members = [u for u in range(count) if part >> u & 1]
        needs = needed = 0
        for u in members:
            needs |= above[u]
            needed |= below[u]
        if not needs & needed & ~part:
            seen = grown = part & -part
            while grown:
                more = 0
                for u in range(count):
                    if grown >> u & 1:
                        more |= near[u]
                grown = more & part & ~seen
                seen |= grown
            if seen == part:
                best = max(best, sum(macs[u] for u in members))
        part = (part - 1) & usable
    return best


class Checker:
    def __init__(self, tools, folder):
        self.ming = str(tools / "ming")
        self.folder = folder

    def run(self, *arguments):
        return subprocess.run([self.ming, *map(str, arguments)], capture_output=True, text=True,
                              timeout=300, check=False)

    def must(self, *arguments):
        done = self.run(*arguments)
        assert done.returncode == 0, (arguments, done.stderr, done.stdout)
        return done.stdout

    def cut(self, model, node, options):
        """A cut that a hint names: it compiles, and at this node."""
        _, _, operands, result = node
        for option in options:
            flag, names = option.split("=")
            if flag == "--to":
                assert set(names.split(",")) <= set(operands), (node, option)
            elif flag == "--from":
                assert names == result, (node, option)
        if not any(option.endswith(":SHAPE") for option in options):
            self.must("check", model, *options)

    def network(self, network, model, x):
        """Checks a network; gives the number of cuts that hints name."""
        model.write_bytes(network.bytes())
        report = json.loads(self.run("check", model, "--json").stdout)
        rows = report["nodes"]
        cuts = 0
        for row, node in zip(rows, network.nodes):
            words = row["hint"].split(": ", 1)
            for cut in (words[1].split(", ") if len(words) > 1 else []):
                options = [word for word in shlex.split(cut) if word.startswith("--")]
                if row["status"] == "unsupported":
                    self.cut(model, node, options)
                cuts += 1
        good = [number for number, row in enumerate(rows)
                if row["status"] in ("compiles", "folded away")]
        macs = [row["macs"] or 0 for row in rows]
        best = sum(macs) if report["compiles"] else best_part(network, good, macs)
        file = self.folder / "partition.json"
        done = self.run("check", model, f"--partition-out={file}")
        if best < 0:
            assert done.returncode == 1 and "since none compiles" in done.stderr, done.stderr
            return cuts
        assert done.returncode == 0, done.stderr
        part = json.loads(file.read_text())
        assert part["macs"] == best and part["total_macs"] == sum(macs), (part, best)
        self.part(network, model, file, part, x)
        if report["partition"] is not None:
            self.must("check", model, *shlex.split(report["partition"]))
        return cuts

    def part(self, network, model, file, part, x):
        """A part that was found: places of nodes, and values."""
        makers = {result: name for _, name, _, result in network.nodes}
        places = {}
        for place in ("head", "nodes", "tail"):
            for name in part[place]:
                assert name not in places, name
                places[name] = place
        assert set(places) == {name for _, name, _, _ in network.nodes}
        order = {"head": 0, "nodes": 1, "tail": 2}
        for _, name, operands, _ in network.nodes:
            for operand in operands:
                if operand in makers:
                    assert order[places[makers[operand]]] <= order[places[name]], (name, operand)
        self.must("check", model, f"--partition={file}")
        values = network.values(x)
        if values is None:
            return
        command = ["run", model, f"--partition={file}"]
        for port in part["inputs"]:
            assert port["shape"] == list(SHAPE) and port["type"] == "f32", port
            np.save(self.folder / f"{port['name']}.npy", values[port["name"]])
            command.append(f"--input={port['name']}={self.folder}/{port['name']}.npy")
        for port in part["outputs"]:
            command.append(f"--output={port['name']}={self.folder}/{port['name']}_out.npy")
        self.must(*command)
        for port in part["outputs"]:
            got = np.load(self.folder / f"{port['name']}_out.npy")
            assert np.array_equal(got, values[port["name"]]), port


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tools", default="build/tools", type=pathlib.Path)
    parser.add_argument("--count", default=60, type=int)
    parser.add_argument("--seed", default=1, type=int)
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    passed = failed = cuts = 0
    with tempfile.TemporaryDirectory() as scratch:
        checker = Checker(options.tools.resolve(), pathlib.Path(scratch))
        for number in range(options.count):
            name = f"net-{options.seed}-{number}"
            if options.filter not in name:
                continue
            rng = random.Random(name)
            network = Network(rng, rng.randint(3, 13))
            x = np.array([rng.randint(-2, 2) for _ in range(32)], np.float32).reshape(SHAPE)
            try:
                cuts += checker.network(network, checker.folder / "model.onnx", x)
                passed += 1
            except (AssertionError, subprocess.SubprocessError) as error:
                failed += 1
                print(f"{name}: {str(error)[:600]}")
    print(f"{cuts} cuts")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
