"""check_modes.py CHOICE throughput|latency|card PROJECT...: compares what --mode=auto says of modes with the
projects of --mode=THAT, DIR/system.json, and chooses again, by exact fractions; card:
frames a second count for each card."""
import fractions
import json
import pathlib
import sys


def read(path):
    return json.loads(pathlib.Path(path).read_text())


def check(mode, system):
    copies = system["instances"] * (len(system["cards"]) if system["mode"] == "dp" else 1)
    figures = mode["cycles"], mode["first_frame_cycles"], mode["designs"]
    assert figures == (system["interval_cycles"], system["latency_cycles"], copies), mode
    assert mode["cards"] == len(system["cards"]), mode
    assert mode["proven"] == (system["timing"] == "simulated"), mode


def main():
    choice, goal, *projects = sys.argv[1:]
    said = read(choice)
    modes = {mode["mode"]: mode for mode in said["modes"] if mode["possible"]}
    for project in projects:
        system = read(f"{project}/system.json")
        check(modes[system["mode"]], system)
    keys = []
    for mode in modes.values():
        rate = fractions.Fraction(mode["designs"], mode["cycles"])
        assert abs(mode["fps"] - rate * said["clock_mhz"] * 10**6) < 0.1, mode
        key = -rate / (mode["cards"] if goal == "card" else 1), mode["first_frame_cycles"]
        keys.append((key[::-1] if goal == "latency" else key, mode["mode"]))
    assert all(mode["proven"] for mode in modes.values())
    assert min(keys, key=lambda key: key[0])[1] == said["mode"], (keys, said["mode"])
    print("chosen:", said["mode"], "of", len(keys))


main()
