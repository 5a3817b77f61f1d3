#!/usr/bin/env python3
"""check_front_chart.py CHART.svg POINTS.json: the chart of ming explore has, for each resource with a
limit, a line through the shares of all points and a marker of its own shape at each."""
import json
import math
import re
import sys
import xml.etree.ElementTree as etree

KEYS = {"DSP": "dsp", "BRAM18": "bram18", "URAM": "uram", "LUT": "lut", "FF": "ff"}
SVG = "{http://www.w3.org/2000/svg}"


def main():
    root = etree.parse(sys.argv[1]).getroot()
    with open(sys.argv[2], encoding="utf-8") as file:
        front = json.load(file)
    points, limits = front["points"], front["limits"]
    lines = root.findall(SVG + "polyline")
    drawn = [key for key in KEYS.values() if limits[key] > 0]
    assert len(lines) == len(drawn), len(lines)
    assert len({line.get("stroke-dasharray") for line in lines}) == len(lines)
    names = [text.text for text in root.findall(SVG + "text")]
    assert all(name in names for name in KEYS), names
    markers = {}
    for path in root.findall(SVG + "path"):
        title = path.find(SVG + "title")
        if title is None:
            continue
        assert path.get("fill") == "none"
        place, shape = re.match(r"M([-.0-9]+ [-.0-9]+)(.*)", path.get("d")).groups()
        markers.setdefault(title.text.split(",")[0].split(" ")[1], []).append(
            (tuple(map(float, place.split())), shape, int(title.text.split(" ")[0])))
    shapes = set()
    for name, key in KEYS.items():
        if key not in drawn:
            assert name not in markers
            continue
        line = [tuple(map(float, pair.split(",")))
                for pair in lines[drawn.index(key)].get("points").split()]
        assert [place for place, _, _ in markers[name]] == line
        assert [count for _, _, count in markers[name]] == [point[key] for point in points]
        shapes |= {shape for _, shape, _ in markers[name]}
        for (x, y), point in zip(line, points):
            # From 56 (all) to 418 (nothing), from the slowest to the fastest.
            assert abs(y - (418 - 362 * point[key] / limits[key])) < 0.06, (name, y, point)
            low, high = points[-1]["predicted_fps"] / 1.25, points[0]["predicted_fps"] * 1.25
            share = math.log(point["predicted_fps"] / low) / math.log(high / low)
            assert abs(x - (70 + 650 * share)) < 0.2, (name, x, share)
    assert len(shapes) == len(drawn)


main()
