#!/usr/bin/env python3
"""check_chart.py CHART.svg WAVE.vcd [MAX_BYTES]: a chart of ming sim says what the waveform of the
same run says. For each process and each state, the area of its colour is the share of the run that
the waveform spends in it; the area of a FIFO its mean level over its depth. Labels end before the
bars begin, the bars fill the width up to the numbers beside them, and the background is opaque."""
import collections
import re
import sys
import xml.etree.ElementTree as etree

STATES = {"#1b8a5a": 0, "#f2b632": 1, "#b0357d": 2}
FILL = "#2f6db3"
SVG = "{http://www.w3.org/2000/svg}"
BAR = 12


def read_waveform(path):
    """Mean level, or share of each state, of the signals: {name: {value: cycles}}, and the end."""
    names, now = {}, {}
    spent = collections.defaultdict(collections.Counter)
    time = last = 0
    scope = ""
    with open(path, encoding="ascii") as file:
        for line in file:
            words = line.split()
            if line.startswith("$scope"):
                scope = words[2]
            elif line.startswith("$var"):
                names[words[3]] = scope, words[4]
            elif line.startswith("#"):
                time = int(line[1:])
                for code, value in now.items():
                    spent[names[code]][value] += time - last
                last = time
            elif line.startswith("b"):
                now[words[1]] = int(words[0][1:], 2)
    return spent, time


def area_of(path, left, columns):
    """The area below an outline `M x y (v n | h n | H x | V y)* z` in pixels, and its bottom."""
    tokens = re.findall(r"([MvhHVz])(-?\d+)?(?: (\d+))?", path)
    x, bottom = int(tokens[0][1]), int(tokens[0][2])
    y, area = bottom, 0
    assert left <= x
    for kind, number, _ in tokens[1:]:
        if kind in "hH":
            to = int(number) if kind == "H" else x + int(number)
            assert to > x
            area += (to - x) * (bottom - y)
            x = to
        elif kind in "vV":
            y = int(number) if kind == "V" else y + int(number)
            assert bottom - BAR <= y <= bottom
    assert x <= left + columns and y == bottom, path
    return area, bottom


def main():
    spent, end = read_waveform(sys.argv[2])
    root = etree.parse(sys.argv[1]).getroot()
    with open(sys.argv[1], "rb") as file:
        size = len(file.read())
    assert size <= (int(sys.argv[3]) if len(sys.argv) > 3 else 300000), size
    assert len(list(root.iter())) < 10000
    background = root.find(SVG + "rect")
    assert background.attrib == {"width": root.get("width"), "height": root.get("height"),
                                 "fill": "#fff"}, background.attrib
    bars = [re.match(r"M(\d+) (\d+)v12h(\d+)", path.get("d"))
            for path in root.findall(SVG + "path") if path.get("fill")]
    left, columns = int(bars[0].group(1)), int(bars[0].group(3))
    assert columns == 1000 and left + columns + 130 == int(root.get("width"))
    labels = {}
    for group in root.findall(SVG + "g"):
        for text in group.findall(SVG + "text"):
            assert float(text.get("x")) < left
            title = text.find(SVG + "title")
            name = text.text if title is None else title.text
            labels[int(text.get("y")) + 2] = name.split(" (")[0]
    numbers = {int(text.get("y")) + 2: text.text for text in root.findall(SVG + "text")
               if float(text.get("x")) == left + columns + 6}
    areas = collections.defaultdict(collections.Counter)
    for group in root.findall(SVG + "g"):
        for path in group.findall(SVG + "path"):
            area, bottom = area_of(path.get("d"), left, columns)
            areas[bottom, group.get("fill") == FILL][group.get("fill")] = area
    for bottom, name in labels.items():
        is_fifo = (bottom, True) in areas
        share = {key: value / (columns * BAR) for key, value in areas[bottom, is_fifo].items()}
        cycles = spent["fifos" if is_fifo else "processes", name]
        if is_fifo:
            most, depth = map(int, numbers[bottom].split(" of "))
            assert most == max(cycles, default=0) <= depth, (name, cycles)
            wanted = sum(level * count for level, count in cycles.items()) / end / depth
            # What is little is drawn a pixel high, to be seen.
            assert -0.05 < share.get(FILL, 0) - wanted < 0.09, (name, share, wanted)
            continue
        below = wanted = 0
        for colour, state in STATES.items():
            below, height = share.get(colour, below), share.get(colour, below)
            wanted += cycles[state] / end
            assert abs(height - wanted) < 0.05, (name, colour, share, cycles, end)
    assert len(labels) > 1


main()
