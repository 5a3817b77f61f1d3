#!/usr/bin/env python3
"""Compares `ming partition` with cbc on random task graphs.

    place_check.py --tools=DIR [--seed=N] [--count=N] [--nodes=N] [--seconds=N] [--steps=N] [--hundred]

Each graph is written with --dump-lp and solved by cbc, goal after goal: the
value of each goal must be that of ming, and what ming calls infeasible, cbc
must, too. Failures are printed as `FAIL seed: why`; the last line counts.
What cbc does not decide in time is counted apart, and is a tenth at most; so is
what ming leaves open, if there is something better.
--nodes: graphs of up to so many nodes instead of ten, with more time for cbc
(--seconds, for each question) and as many undecided as there are; they are named.
--steps: of ming, for each graph. Then graphs of a hundred nodes on ten nearly full
dies (gen_tasks.py) must be proven in so many steps, and their placements are added
up anew; --hundred: 20 of them, for the cost and for all goals, in 5 s of processor
time each.
"""
import argparse
import json
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile

import gen_tasks

CARDS = (("u50", 1), ("u280", 1), ("u250", 1), ("u50", 2), ("u280", 2))
DIES = {"u50": 2, "u280": 3, "u250": 4}
ALL_GOALS = ("cards", "ethernet", "gbps", "crossings", "wires", "utilization")
# Goals, seed, steps.
HUNDRED = ((("cost",), 1, 50_000), (("cost",), 2, 50_000), (("cost",), 4, 100_000),
           (("cost",), 18, 100_000), (ALL_GOALS, 18, 500_000), (ALL_GOALS, 10, 200_000))
HUNDRED_SECONDS = 5
CROWDED = (4, 10, 11)   # seeds
CROWD = 30              # nodes
WIRED_SEEDS = (6, 11, 13, 33)  # of graphs that are searched layer by layer
WIRED = 18              # nodes
OPTIONS = ([], [], ["--convex"], ["--cut=linear"], ["--max-hops=1"])
SECONDS = 15
STEPS = 20_000_000
WITHOUT_HEURISTICS = ("heur", "off")    # they only take time where there is nothing to find


class Failure(Exception):
    pass


def random_versions(rng, share):
    first = {"lut": int(share * 260000 * rng.uniform(.3, 1)),
             "ff": int(share * 300000 * rng.random()),
             "bram18": int(share * 850 * rng.uniform(.2, 1)),
             "uram": int(share * 250 * rng.random()),
             "dsp": int(share * 2000 * rng.random())}
    versions = [first]
    for _ in range(rng.randint(0, 2)):
        less, more = rng.sample(("lut", "bram18", "uram", "dsp"), 2)
        versions.append(dict(first, **{less: first[less] // 2, more: int(first[more] * 1.5) + 10}))
    return versions


def random_graph(rng, device, cards, most):
    count = rng.randint(4, 10) if most == 10 else rng.randint(5, most)
    share = DIES[device] * cards * rng.uniform(.4, 1.05) / count
    nodes = [{"name": f"n{i}", "versions": random_versions(rng, rng.uniform(.3, 1.7) * share)}
             for i in range(count)]
    if rng.random() < .4:
        for version in nodes[0]["versions"]:
            version["controller"] = "ddr" if device == "u250" else "hbm"
    ends = [(i, i + 1) for i in range(count - 1)]
    ends += [tuple(sorted(rng.sample(range(count), 2))) for _ in range(rng.randint(0, 3))]
    edges = [{"from": f"n{a}", "to": f"n{b}", "wires": rng.randint(8, 1200),
              "gbps": round(rng.uniform(.1, 60), 2)} for a, b in ends]
    graph = {"nodes": nodes, "edges": edges}
    if rng.random() < .3:
        graph["colocate"] = [{"nodes": ["n0", f"n{count - 1}"], "same": rng.choice(("die", "card"))}]
    if rng.random() < .3:
        graph["anchors"] = [{"node": f"n{rng.randrange(count)}", "dies": ["c0"]}]
    return graph


def ask(seconds, folder, *options):
    """The first line of cbc's solution; it aborts on some programs, and then there is none."""
    (folder / "solution.txt").write_text("aborted\n")
    subprocess.run(["cbc", "program.lp", *options, "sec", str(seconds), "ratio", "0", "solve", "solu",
                    "solution.txt"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   check=False)
    return (folder / "solution.txt").read_text().splitlines()[0]


def solve(program, goal, rows, seconds, folder, *options):
    """The least value of a goal; None: infeasible, "late": undecided."""
    text = re.sub(r"obj: \S+", "obj: " + goal, program, count=1)
    text = text.replace("Bounds\n", "".join(rows) + "Bounds\n", 1)
    (folder / "program.lp").write_text(text)
    status = ask(seconds, folder, *options)
    if status == "aborted":
        status = ask(seconds, folder, *WITHOUT_HEURISTICS)
    if "nfeasible" in status:
        return None
    return round(float(status.split()[-1])) if status.startswith("Optimal") else "late"


def rows_of(placement, device):
    """Rows that leave the program only a placement."""
    for number, node in enumerate(placement["nodes"]):
        card, die = re.fullmatch(r"c(\d+)\.SLR(\d+)", node["die"]).groups()
        place = int(card) * DIES[device] + int(die)
        yield f" at{number}: n{number}_{node['version']}_{place} = 1\n"


def solve_found(program, goal, rows, found, placed, seconds, folder):
    """The same where ming has found a value. With ming's placement the program must have it, and
    nothing less may be possible. (Asked for the least value alone, cbc sometimes misses what it finds
    with a hint, and takes longer.)"""
    value = solve(program, goal, rows + placed, seconds, folder)
    if value != found["value"] or value == 0:
        return value
    less = solve(program, goal, rows + [f" less: {goal} <= {value - 1}\n"], seconds, folder,
                 *WITHOUT_HEURISTICS)
    return value if less is None else less


def place(tools, folder, graph, arguments):
    """The placement, or None, and the program."""
    (folder / "graph.json").write_text(json.dumps(graph))
    done = subprocess.run([tools / "ming", "partition", "graph.json", *arguments, "-o",
                           "placement.json", "--dump-lp=dump.lp"], cwd=folder,
                          capture_output=True, text=True)
    program = (folder / "dump.lp").read_text()
    if done.returncode == 0:
        return json.loads((folder / "placement.json").read_text()), program
    if "no placement keeps the limits" not in done.stderr:
        raise Failure(done.stderr.strip())
    return None, program


def check_hundred(tools, seed, steps, goals, folder):
    graph = gen_tasks.hundred_nodes(seed)
    (folder / "ten.xml").write_text(gen_tasks.SYSTEM)
    arguments = ["--system=ten.xml", "--goal=" + ",".join(goals), f"--max-steps={steps}"]
    placement, _ = place(tools, folder, graph, arguments)
    values = gen_tasks.check_placement(graph, placement)
    for goal in placement["goals"]:
        if values[goal["goal"]] != goal["value"]:
            raise Failure(f"{goal['goal']} is {values[goal['goal']]}, not {goal['value']}")
        if goal["bound"] > goal["value"]:
            raise Failure(f"the bound is wrong: {goal}")
        if not placement["proven"] or goal["bound"] != goal["value"]:
            raise Failure(f"{goal} is not proven in {steps} steps")


def check_crowded(tools, seed, folder):
    """A chain that fills three kinds of a U250 to 97 %, where only annealing finds a placement."""
    rng = random.Random(seed)
    kinds = {"bram18": 921, "uram": 256, "dsp": 2304}
    sizes = [[rng.uniform(.5, 1.5) for _ in range(CROWD)] for _ in kinds]
    uses = [{kind: int(own[i] / sum(own) * 4 * room * .97) for own, (kind, room) in zip(sizes, kinds.items())}
            for i in range(CROWD)]
    graph = {"nodes": [{"name": f"n{i}", "versions": [use]} for i, use in enumerate(uses)],
             "edges": [{"from": f"n{i}", "to": f"n{i + 1}", "wires": 8} for i in range(CROWD - 1)],
             "averages": []}
    arguments = ["--device=u250", "--goal=crossings", "--max-steps=200000"]
    placement, _ = place(tools, folder, graph, arguments)
    at = [int(node["die"][-1]) for node in placement["nodes"]]
    for die in range(4):
        for kind, room in kinds.items():
            used = sum(use[kind] for use, own in zip(uses, at) if own == die)
            if used > room:
                raise Failure(f"SLR{die} holds {used} {kind}, not {room}")
    crossings = sum(abs(a - b) for a, b in zip(at, at[1:]))
    if crossings != placement["goals"][0]["value"] or max(abs(a - b) for a, b in zip(at, at[1:])) > 2:
        raise Failure(f"{crossings} crossings, not {placement['goals']}")


def processor_time():
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def check_all_hundred(tools, goals, folder):
    """Gives how many fail."""
    failed, most = 0, 0
    for seed in range(20):
        before = processor_time()
        try:
            check_hundred(tools, seed, STEPS, goals, folder)
            seconds = processor_time() - before
            most = max(most, seconds)
            if seconds > HUNDRED_SECONDS:
                raise Failure(f"{seconds:.2f} s")
        except (Failure, AssertionError) as failure:
            print(f"FAIL hundred {seed}: {failure}")
            failed += 1
    print(f"20 graphs of a hundred nodes, {','.join(goals)}: at most {most:.2f} s of processor time")
    return failed


def check(tools, seed, options, folder, nodes, *goals):
    """False: undecided. Without goals, one or all of them."""
    rng = random.Random(seed)
    device, cards = rng.choice(CARDS)
    graph = random_graph(rng, device, cards, nodes)
    seconds = options.seconds or SECONDS * nodes // 10
    goals = goals or rng.choice((("cost",), ALL_GOALS))
    arguments = [f"--device={device}", f"--cards={cards}", "--goal=" + ",".join(goals),
                 f"--max-steps={options.steps}", *rng.choice(OPTIONS)]
    placement, program = place(tools, folder, graph, arguments)
    proven = not placement or placement["proven"]
    rows, placed = [], list(rows_of(placement, device)) if placement else []
    for number, goal in enumerate(goals):
        found = placement and placement["goals"][number]
        least = (solve_found(program, goal, rows, found, placed, seconds, folder) if found
                 else solve(program, goal, rows, seconds, folder))
        if least == "late" or (not proven and found["bound"] <= least < found["value"]):
            print(f"undecided {seed}: {goal} by {'cbc' if least == 'late' else 'ming'}", flush=True)
            return False
        if least != (found and found["value"]) or (proven and found and found["bound"] != least):
            raise Failure(f"{' '.join(arguments)}: {goal} is {least} by cbc, not {found}")
        if least is None:
            return True
        rows.append(f" kept{number}: {goal} <= {least}\n")
    if not proven:
        print(f"{seed}: equal, but proven by cbc alone", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tools", required=True, type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--seconds", type=int)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--hundred", action="store_true")
    options = parser.parse_args()
    if not shutil.which("cbc"):
        sys.exit("place_check.py: error: cbc is not installed (Debian: coinor-cbc)")
    passed = failed = late = 0
    with tempfile.TemporaryDirectory() as name:
        cases = [(seed, options.nodes) for seed in range(options.seed, options.seed + options.count)]
        for seed, *case in cases + [(seed, WIRED, "wires") for seed in WIRED_SEEDS]:
            try:
                decided = check(options.tools.resolve(), seed, options, pathlib.Path(name), *case)
                passed, late = passed + decided, late + (not decided)
            except Failure as failure:
                print(f"FAIL {seed}: {failure}")
                failed += 1
        for goals, seed, steps in HUNDRED if not options.hundred else ():
            try:
                check_hundred(options.tools.resolve(), seed, steps, goals, pathlib.Path(name))
                passed += 1
            except (Failure, AssertionError) as failure:
                print(f"FAIL hundred {seed}: {failure}")
                failed += 1
        for seed in CROWDED:
            try:
                check_crowded(options.tools.resolve(), seed, pathlib.Path(name))
                passed += 1
            except (Failure, AssertionError) as failure:
                print(f"FAIL crowded {seed}: {failure}")
                failed += 1
        if options.hundred:
            for goals in ("cost",), ALL_GOALS:
                failures = check_all_hundred(options.tools.resolve(), goals, pathlib.Path(name))
                passed, failed = passed + 20 - failures, failed + failures
    if options.nodes == 10 and late > options.count // 10:
        print(f"FAIL {late} of {options.count} graphs are undecided")
        failed += 1
    print(f"{late} undecided")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
