#!/usr/bin/env python3
"""check_front.py POINTS.json COUNT [REPORT.json]: a front of ming explore has at most COUNT points, the
fastest first; no point is as good as another in everything, and none exceeds the limits. The first is as
fast as the report predicts."""
import itertools
import json
import sys

COSTS = ("dsp", "bram18", "uram", "lut")


def beats(a, b):
    return a["interval_cycles"] <= b["interval_cycles"] and all(a[k] <= b[k] for k in COSTS)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        front = json.load(file)
    points = front["points"]
    assert 2 <= len(points) <= int(sys.argv[2]), len(points)
    intervals = [point["interval_cycles"] for point in points]
    assert intervals == sorted(intervals), intervals
    for a, b in itertools.permutations(points, 2):
        assert not beats(a, b), (a, b)
    for point in points:
        assert all(point[key] <= limit for key, limit in front["limits"].items()), point
        assert point["bound"] <= point["value"], point
        fps = 1e6 * front["clock_mhz"] / point["interval_cycles"]
        assert abs(point["predicted_fps"] - fps) < 0.001, point
    if len(sys.argv) > 3:
        with open(sys.argv[3], encoding="utf-8") as file:
            predicted = json.load(file)["predicted"]["interval_cycles"]
        assert predicted == intervals[0], (predicted, intervals[0])


main()
