#!/usr/bin/env python3
"""Runs every operator and every form of quantizer at every place in a graph.

    places_check.py --tools=DIR [--seed=N] [--filter=REGEX] [--csim=all|some|none]
                    [--quick] [--keep=DIR]

Each row of places_rows.py, places_sums.py, places_streamline.py,
places_constant.py and places_moved.py stands at a graph's input, between a
quantizer or a sum of quantized products and a quantizer, and at the output;
rows on plain element types stand alone. The same random frames go through
`ming run`, as exported and as linalg, through `ming compile` and `ming sim`,
and, many graphs in one project, through the emitted C++. All must give what the
row's numpy function gives: integers and quantized values exactly, floats to
1e-5 of the largest, or to the step of their type (four of half floats) where
that is larger. `ming compile` may refuse a graph that `ming check` calls
unsupported, `ming run` none as exported. An operator of the dialect without a row fails.

--quick takes one place of each row and no C++. --keep leaves the models there.
"""
import argparse
import collections
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy as np

import onnx_file
import places_rows
import places_constant  # pylint: disable=unused-import (adds rows)
import places_moved  # pylint: disable=unused-import (adds rows)
import places_streamline  # pylint: disable=unused-import (adds rows)
import places_sums  # pylint: disable=unused-import (adds rows)
from networks_check import LOWERING
from places_graph import Graph, PLACES, QUANT_LAST, Redraw, SUM_LAST

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOLERANCE, LEVEL = 1e-5, 1e-6           # of the largest element: floats, quantized values
HALF_ROUNDINGS = 4                      # linalg rounds sums of half floats after every term
TIMEOUT = 300                           # seconds per command
GROUP = 12                              # graphs in a model
SHARE = 24                              # csim=some takes one of so many models
FLOAT_TYPE = re.compile(r"\b(float|double|half)\b")
AMPLE = ("--dsp=100000", "--bram=100000", "--uram=10000", "--lut=100000000", "--ff=100000000")

# Operators that no row needs to cover.
NO_ROW = {"NoValue": "stands for an operand that is absent; no file has it"}

# Rows whose graphs ming compile refuses although ming check says that they compile: a
# regular expression for the name of the case, and the reason.
REFUSED = {}

# Cases that fail: a regular expression for the name, and the reason.
KNOWN = {}


class Failure(Exception):
    """Why a case failed, in one line."""


class Refused(Exception):
    """ming says in one line that it does not support something."""


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, check=False,
                          encoding="utf-8", errors="replace", timeout=TIMEOUT,
                          close_fds=False)
    if done.returncode == 0:
        return done.stdout
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    what = f"{pathlib.Path(command[0]).name} {command[1]}"
    if done.returncode == 1 and len(errors) == 1:
        raise Refused(f"{what}: {errors[0]}")
    first = (errors or done.stderr.strip().splitlines() or ["no message"])[0]
    raise Failure(f"{what}: exit status {done.returncode}, {len(errors)} errors: {first}")


def compare(what, want, got, is_exact):
    if want.dtype.kind == "b":
        want, got = want.astype(np.uint8), got.astype(np.uint8)
    if want.size != got.size or want.shape[1:] != got.shape[1:] and want.ndim == got.ndim:
        raise Failure(f"{what}: shape {got.shape}, not {want.shape}")
    want, got = want.ravel(), got.ravel()
    if want.dtype.kind in "iu":
        wrong = np.array([int(a) != int(b) if np.isfinite(b) else True
                          for a, b in zip(want, got)], bool)
    else:
        most = np.abs(want[np.isfinite(want)]).max(initial=0)
        same = (want == got) | np.isnan(want) & np.isnan(got)
        roundings = HALF_ROUNDINGS if want.dtype == np.float16 else 1
        share = max(LEVEL if is_exact else TOLERANCE, roundings * float(np.finfo(want.dtype).eps))
        with np.errstate(invalid="ignore"):
            wrong = ~(same | (np.abs(got - want) <= share * most))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise Failure(f"{what}: {wrong.sum()} of {want.size} elements differ, {at} is {got[at]}, "
                      f"not {want[at]}")


class Case:
    """A row at a place."""

    def __init__(self, row, place, seed, prefix):
        self.row, self.place, self.name = row, place, f"{row.name}@{place}"
        self.seed = seed
        self.graph = self.build(prefix)
        # The last node's floats are rounded as the operator is, others are levels.
        self.is_exact = row.exact or place not in (QUANT_LAST, SUM_LAST, "alone")

    def build(self, prefix):
        for attempt in range(200):
            graph = Graph(f"{self.seed}/{self.name}/{attempt}", self.place, prefix, self.row.exact)
            try:
                values = self.row.build(graph)
                graph.finish(values)
                return graph
            except Redraw:
                pass
        raise Failure("no values keep away from ties")


class Project:
    """A model in a folder: of one case, or of several behind each other."""

    def __init__(self, tools, folder, graph, cases):
        self.ming, self.folder, self.cases = tools / "ming", folder, cases
        folder.mkdir(parents=True, exist_ok=True)
        self.model, self.out = folder / "model.onnx", folder / "out"
        self.model.write_bytes(graph.encode())
        self.inputs = []
        for name, array in graph.feeds.items():
            path = folder / f"{name}.npy"
            np.save(path, array)
            self.inputs.append(f"--input={name}={path}")
        self.results = graph.wanted()
        self.paths = [folder / f"y{i}.npy" for i in range(len(self.results))]
        self.outputs = [f"--output={path}" for path in self.paths]

    def check(self, what, exact):
        for want, path, is_exact in zip(self.results, self.paths, exact):
            compare(what, want, np.load(path), is_exact)
            path.unlink()

    def run(self, *command):
        return run(self.ming, *command, *self.inputs, *self.outputs)

    def compile(self, *options):
        run(self.ming, "compile", self.model, "-o", self.out, *options)

    def check_integers(self):
        """The emitted C++ of rows that are integers has no floating-point types."""
        for path in sorted(self.out.glob("*.cpp")):
            found = FLOAT_TYPE.search(path.read_text(encoding="utf-8"))
            if found and not path.name.endswith("_tb.cpp") and self.cases[0].row.integers:
                raise Failure(f"{path.name} computes with {found[1]}")

    def csim(self):
        paths = [f"{kind}{i + 1 if i else ''}={flag.rsplit('=', 1)[1]}"
                 for kind, flags in (("INPUT", self.inputs), ("OUTPUT", self.outputs))
                 for i, flag in enumerate(flags)]
        done = subprocess.run(["make", "-C", str(self.out), "csim", *paths], capture_output=True,
                              check=False, encoding="utf-8", errors="replace", timeout=TIMEOUT)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "rror" in line]
            raise Failure(f"csim: {(lines or ['no message'])[0]}")


def unsupported(tools, model):
    """The nodes of which ming check says so, with a reason."""
    done = subprocess.run([str(tools / "ming"), "check", str(model), "--json"],
                          capture_output=True, check=False, timeout=TIMEOUT)
    report = json.loads(done.stdout)
    return {node["name"] for node in report["nodes"]
            if node["status"] == "unsupported" and node["reason"]}


def listed(table, name):
    return next((why for pattern, why in table.items() if re.fullmatch(pattern, name)), None)


class Suite:
    compile_options = ()

    def __init__(self, args, work):
        self.args, self.work, self.tools = args, work, args.tools.resolve()
        self.counts = collections.Counter()
        self.refusals, self.known = collections.Counter(), []
        self.places, self.csim = collections.Counter(), 0

    def is_refused_by_check(self, case, model):
        return not unsupported(self.tools, model).isdisjoint(case.graph.subjects) or \
            listed(REFUSED, case.name) is not None

    def check_case(self, case, with_csim):
        graph = case.graph
        project = Project(self.tools, self.work / re.sub(r"\W", "_", case.name), graph, [case])
        exact = [case.is_exact] * len(graph.results)
        project.run("run", project.model)
        project.check("as exported", exact)
        refusal = None
        try:
            project.run("run", project.model, f"--pass-pipeline={LOWERING}")
            project.check("as linalg", exact)
            project.compile(*self.compile_options)
        except Refused as why:
            refusal = why
        if refusal:
            if not self.is_refused_by_check(case, project.model):
                raise Failure(f"{refusal}, while ming check says that it compiles")
            self.refusals[case.row.operators[0]] += 1
            if self.args.refusals:
                print(f"refused {case.name}: {refusal}")
            return
        project.check_integers()
        project.run("sim", project.out)
        project.check("ming sim", exact)
        if with_csim:
            project.csim()
            project.check("csim", exact)
            self.csim += 1

    def attempt(self, name, function, *values):
        """Counts a case."""
        why = None
        try:
            function(*values)
        except (Failure, Refused, subprocess.TimeoutExpired, ValueError, OSError) as failure:
            why = str(failure)
        reason = listed(KNOWN, name)
        if why and reason:
            self.known.append(f"known: {name}: {reason}")
            return False
        if why or reason:
            print(f"FAIL {name}: {why or 'passes, but is listed as known to fail'}\n"
                  f"    reproduce: {sys.argv[0]} --tools={self.args.tools} --seed={self.args.seed} "
                  f"--filter='^{re.escape(name)}$' --keep=DIR", flush=True)
        self.counts["failed" if why or reason else "passed"] += 1
        return not why

    def joint(self, number, cases):
        """Many graphs as one model."""
        graph = Graph("", "")
        graph.opset = cases[0].graph.opset
        for case in cases:
            for field, values in case.graph.graph.items():
                if field != "name":
                    graph.graph[field] = graph.graph[field] + values
            graph.feeds.update(case.graph.feeds)
            graph.results = graph.results + case.graph.results
        exact = [case.is_exact for case in cases for _ in case.graph.results]
        return Project(self.tools, self.work / f"group{number}", graph, cases), exact

    def check_group(self, number, cases, with_csim):
        """What check_case does. Returns the cases that are refused, which are left out."""
        project, exact = self.joint(number, cases)
        project.run("run", project.model)
        project.check("as exported", exact)
        names = unsupported(self.tools, project.model)
        refused = [case for case in cases if names.intersection(case.graph.subjects)]
        rest = [case for case in cases if case not in refused]
        if refused and rest:
            project, exact = self.joint(number, rest)
        if rest:
            project.run("run", project.model, f"--pass-pipeline={LOWERING}")
            project.check("as linalg", exact)
            project.compile(*AMPLE, *self.compile_options)
            project.check_integers()
            project.run("sim", project.out)
            project.check("ming sim", exact)
        if rest and with_csim:
            project.csim()
            project.check("csim", exact)
            self.csim += len(rest)
        return refused

    def check_cases(self, cases):
        """In groups; those of a group that fails one by one, then by the C++."""
        by_opset = collections.defaultdict(list)
        for case in cases:
            by_opset[case.graph.opset, case.row.integers,
                     listed(KNOWN, case.name) is None].append(case)
        groups = [group[i:i + GROUP] for group in by_opset.values()
                  for i in range(0, len(group), GROUP)]
        chosen = range(len(groups)) if self.args.csim == "all" else \
            range(0, len(groups), SHARE) if self.args.csim == "some" else ()
        for number, group in enumerate(groups):
            single = group
            if len(group) > 1 and not listed(KNOWN, group[0].name):
                try:
                    single = self.check_group(number, group, number in chosen)
                    self.counts["passed"] += len(group) - len(single)
                except (Failure, Refused, subprocess.TimeoutExpired) as why:
                    print(f"note: cases {group[0].name} to {group[-1].name} one by one: {why}",
                          flush=True)
            for case in single:
                self.attempt(case.name, self.check_case, case,
                             number in chosen and len(single) == len(group))

    def places_of(self, row):
        """One place at the input, one in the middle, one at the output."""
        if row.places == places_rows.ALONE:
            return row.places
        rng = random.Random(f"{self.args.seed}/{row.name}")
        kinds = collections.defaultdict(list)
        for place in row.places:
            kinds[place.split("-")[0]].append(place)
        places = [rng.choice(kind) for kind in kinds.values()]
        return [rng.choice(places)] if self.args.quick else places

    def all(self):
        if not self.args.filter:
            self.attempt("rows", check_rows)
        cases = []
        for index, row in enumerate(places_rows.ROWS):
            for place in row.places if self.args.filter else self.places_of(row):
                name = f"{row.name}@{place}"
                if not re.search(self.args.filter, name):
                    continue
                try:
                    cases.append(Case(row, place, self.args.seed, f"r{index}p{len(cases)}_"))
                except Failure as why:
                    print(f"FAIL {name}: {why}")
                    self.counts["failed"] += 1
                self.places[place] += 1
        self.check_cases(cases)


def check_rows():
    """Every operator of the dialect and of com.microsoft has rows, at every place."""
    names = [row.name for row in places_rows.ROWS]
    if len(names) != len(set(names)):
        raise Failure("rows of the same name: " +
                      ", ".join(n for n, c in collections.Counter(names).items() if c > 1))
    table = (ROOT / "dialects" / "onnx" / "onnx_ops.def").read_text(encoding="utf-8")
    contrib = (ROOT / "import" / "contrib.c").read_text(encoding="utf-8")
    operators = set(re.findall(r'^OP\([A-Z0-9_]+, "(\w+)"', table, flags=re.M)) | \
        set(re.findall(r'^ +\{"(\w+)", ONNX_', contrib, flags=re.M))
    if len(operators) < 100:
        raise Failure("the table of operators could not be read")
    covered = collections.defaultdict(set)
    for row in places_rows.ROWS:
        for operator in row.operators:
            covered[operator].update(row.places)
    for operator in sorted(operators - set(NO_ROW)):
        missing = [place for place in PLACES if place not in covered[operator]]
        if missing:
            raise Failure(f"{operator} has no row at {', '.join(missing)}")
    unknown = set(covered) - operators
    if unknown:
        raise Failure(f"rows of operators that the dialect does not have: {sorted(unknown)}")


def parse_args(doc):
    parser = argparse.ArgumentParser(description=doc.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--filter", default="")
    parser.add_argument("--csim", choices=("all", "some", "none"), default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--refusals", action="store_true", help="print what is refused, and why")
    args = parser.parse_args()
    args.csim = args.csim or ("none" if args.quick else "some")
    return args


def main():
    args = parse_args(__doc__)
    with tempfile.TemporaryDirectory(prefix="ming-places-") as folder:
        suite = Suite(args, args.keep or pathlib.Path(folder))
        suite.all()
    print(f"through the C++: {suite.csim}")
    print("places: " + ", ".join(f"{place} {count}" for place, count in suite.places.items()))
    if suite.refusals:
        print("refused by ming compile and ming check alike: " + ", ".join(
            f"{name} {count}" for name, count in sorted(suite.refusals.items())))
    for line in suite.known:
        print(line)
    if suite.known:
        print(f"known: {len(suite.known)}")
    print(f"{suite.counts['passed']} passed, {suite.counts['failed']} failed")
    return 1 if suite.counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
