#!/usr/bin/env python3
"""check_table.py LAYERS PROCESSES REPORT.json: the tables of ming compile, one row per layer and one per
process, say what the report says: sums of resources per layer, the longest of its cycles."""
import json
import sys

COSTS = ("dsp", "bram18", "uram", "lut", "ff")


def rows(path):
    """The numbers of the rows between title and total."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    end = next(i for i, line in enumerate(lines) if line.startswith("total"))
    return [[int(word) for word in line.split()[-6:]] for line in lines[1:end]], lines[end].split()


def main():
    with open(sys.argv[3], encoding="utf-8") as file:
        processes = json.load(file)["processes"]
    layers = {}
    for process in processes:
        row = layers.setdefault(process["source"], [0] * 6)
        row[0] = max(row[0], process["cycles"])
        for i, key in enumerate(COSTS):
            row[1 + i] += process[key]
    total = ["total"] + [str(sum(process[key] for process in processes)) for key in COSTS]
    assert rows(sys.argv[1]) == (list(layers.values()), total), rows(sys.argv[1])
    each = [[process["cycles"]] + [process[key] for key in COSTS] for process in processes]
    assert rows(sys.argv[2]) == (each, total), rows(sys.argv[2])
    assert len(each) > len(layers) > 2


main()
