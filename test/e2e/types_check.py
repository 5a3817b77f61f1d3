#!/usr/bin/env python3
"""Runs every operator on every element type, at the input of a graph, inside, at its output, alone.

    types_check.py --tools=DIR [--seed=N] [--filter=REGEX] [--csim=all|some|none]
                   [--quick] [--keep=DIR] [--refusals]

The rows are those of places_check.py. Where they are about float32, each is built once more for
every other element type that holds its constants; rows of one type are taken as they are. In front
of the row's node, behind it, or on both sides stands an addition (Not where elements are bool).
A graph is refused, by `ming run` or by `ming compile` and `ming check`, with one diagnostic that
has a place, or `ming run`, as exported and as linalg, `ming sim` and the C++ give what the row's
numpy function gives: integers exactly, floats to a share of the largest. No pass changes the
semantics (--verify-semantics). Designs have no float16; such graphs are run and then refused. An
operator of the dialect without a row fails.

--quick takes one place of some rows and no C++. --refusals names each graph that is refused.
"""
import collections
import dataclasses
import pathlib
import random
import re
import sys
import tempfile

import numpy as np

import places_check
import places_rows
from places_check import Case, Failure, Refused, Suite, parse_args
from places_graph import F32, F64, FRAMES, Graph, NUMBERS, Redraw

KINDS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float16", "float64", "bool")
INPUT, MIDDLE, LAST, ALONE = "input", "middle", "output", "alone"
PLACES = (INPUT, MIDDLE, LAST, ALONE)
QUICK = 40                              # --quick takes one of so many rows

# Sums and quotients of these do not wrap around in numpy, so their operands are small.
SMALL = re.compile(r"Mean|AveragePool|ReduceL|ReduceSumSq|ReduceProd|Gemm-alpha|PRelu|Div|Mod|Pow")

# Their element types are their own; places_check.py has them all.
QUANTIZED = re.compile(r"(Int|Bipolar|)Quant|Trunc|MultiThreshold|(Dynamic|De|)[Qq]uantizeLinear|"
                       r"QLinear.*|QGemm|.*Integer")

NUMBERS.setdefault(np.dtype("float16"), 10)


class Unfit(Exception):
    """The row has constants that the element type does not hold, or is about no element type."""


class TypedGraph(Graph):
    """A graph whose float32 is another element type."""

    def __init__(self, seed, place, prefix, row, kind, is_small):
        super().__init__(seed, place, prefix, row.exact)
        self.kind = np.dtype(kind) if kind else None
        self.is_small = is_small or SMALL.search(row.name) is not None
        self.has_source = kind is None
        self.is_undefined = False           # the row's function does not take the type

    def const(self, array, kind=""):
        array = np.asarray(array)
        if array.dtype != np.float16:
            return super().const(array, kind)
        value = super().const(array.view(np.uint16), kind)
        self.graph["initializer"][-1]["data_type"] = NUMBERS[array.dtype]
        return dataclasses.replace(value, frames=[array] * FRAMES)

    def f32(self, value):
        if not self.kind:
            return super().f32(value)
        array = np.asarray(value, F32)
        typed = array.astype(self.kind)
        if (typed.astype(F64) != array).any():
            raise Unfit()
        return self.const(typed)

    def integers_of(self, shape, low):
        info = np.iinfo(self.kind)
        least = 1 if low >= 0 else max(-8, info.min)
        small = self.numpy.integers(least, 9, shape).astype(self.kind)
        full = self.numpy.integers(info.min, info.max, shape, self.kind, endpoint=True)
        is_small = self.is_small or low >= 0
        return small if is_small else np.where(self.numpy.random(shape) < 0.5, small, full)

    def numbers_of(self, shape, low, high):
        if self.kind.kind == "b":
            return self.numpy.integers(0, 2, shape).astype(bool)
        if self.kind.kind == "f":
            return self.numbers(shape, low, high, 1 / 8)[0].astype(self.kind)
        return self.integers_of(shape, low)

    def source(self, shape=(1, 3, 4, 4), low=-4.0, high=4.0):
        self.has_source = True
        if not self.kind:
            return super().source(shape, low, high)
        return self.feed([self.numbers_of(shape, low, high) for _ in range(FRAMES)])

    def weights(self, shape, is_positive=False, bits=4, scale=1 / 16):
        if not self.kind:
            return super().weights(shape, is_positive, bits, scale)
        low = 1 if is_positive or self.kind.kind in "ub" else -2
        return self.const(self.numpy.integers(low, 3, shape).astype(self.kind))

    def watch(self, x, scale, zero, bits):
        if x.frames[0].dtype.kind == "f":
            super().watch(x, scale, zero, bits)

    def beside(self, x):
        """What stands in front of the row's node and behind it."""
        dtype = x.frames[0].dtype
        if dtype.kind == "b":
            return self.around(self.op, "Not", [x], np.logical_not)
        one = self.const(np.ones((), dtype))
        return self.around(self.op, "Add", [x, one], lambda a, b: a + b.astype(a.dtype))

    def feed(self, frames):
        x = super().feed(frames)
        return self.beside(x) if self.place in (MIDDLE, LAST) else x

    def counting(self, function):
        """The function, unless numpy counts integers of 64 bits by floats that do not hold them."""
        def checked(*args):
            got = function(*args)
            has_floats = any(np.asarray(g).dtype.kind == "f"
                             for g in (got if isinstance(got, tuple) else [got]))
            wide = [a for a in args if a is not None and a.dtype.kind in "iu" and a.itemsize == 8]
            if has_floats and any((np.abs(a.astype(F64)) > 2.0 ** 53).any() for a in wide):
                raise Redraw()
            return got
        return checked

    def op(self, op_type, inputs, function, attrs=None, domain="", dtype=None, outputs=1, kind=""):
        if self.kind and op_type in ("Constant", "ConstantOfShape"):
            raise Unfit()
        if self.kind and dtype is not None:
            many = isinstance(dtype, (list, tuple))
            typed = [self.kind if d is F32 else d for d in (dtype if many else [dtype])]
            dtype = typed if many else typed[0]
        if self.kind == np.float16:
            inner = function
            function = lambda *args: inner(*(a.astype(F64) if a is not None and
                                             a.dtype == np.float16 else a for a in args))
        try:
            return super().op(op_type, inputs, self.counting(function), attrs, domain, dtype,
                              outputs, kind)
        except (TypeError, OverflowError, ValueError):
            self.is_undefined = True
            raise Unfit() from None

    def finish(self, values):
        if not self.has_source:
            raise Unfit()
        values = values if isinstance(values, list) else [values]
        if self.place in (INPUT, MIDDLE):
            values = [self.beside(value) for value in values]
        place, self.place = self.place, ALONE
        super().finish(values)
        self.place = place


class TypedCase(Case):
    def build(self, prefix):
        kind = self.row.kind
        for attempt in range(20):
            graph = TypedGraph(f"{self.seed}/{self.name}/{attempt}", self.place, prefix, self.row,
                               kind, attempt > 0)
            try:
                graph.finish(self.row.build(graph))
                return graph
            except Redraw:
                pass
        raise Unfit()


@dataclasses.dataclass
class TypedRow(places_rows.Row):
    kind: str = ""              # in place of float32; empty: as the row is


def rows():
    for row in places_rows.ROWS:
        if row.places == places_rows.ALONE:
            yield TypedRow(row.name, row.build, row.operators, row.exact, PLACES, row.integers)
        elif not any(QUANTIZED.fullmatch(name) for name in row.operators):
            for kind in KINDS:
                operators = tuple(f"{name}:{kind}" for name in row.operators)
                yield TypedRow(f"{row.name}:{kind}", row.build, operators,
                               row.exact, PLACES, kind=kind)


class TypedSuite(Suite):
    """The places are those of this file; the reference may refuse a graph, too."""

    compile_options = ("--verify-semantics",)

    def places_of(self, row):
        rng = random.Random(f"{self.args.seed}/{row.name}")
        if not self.args.quick:
            return row.places
        return [rng.choice(row.places)] if rng.randrange(QUICK) == 0 else []

    def imports(self, case):
        """Whether the reference runs the graph; else it refuses it. Compares the results."""
        project = places_check.Project(self.tools, self.work / "reference", case.graph, [case])
        try:
            project.run("run", project.model)
        except Refused as why:
            self.refuse(case, why)
            return False
        project.check("as exported", [case.is_exact] * len(case.graph.results))
        return True

    def refuse(self, case, why):
        if not re.search(r"\.onnx:.*error: |error: .*\.onnx", str(why)):
            raise Failure(f"a refusal without a place: {why}")
        self.refusals[case.row.operators[0]] += 1
        if self.args.refusals:
            print(f"refused {case.name}: {why}")

    def is_refused_by_check(self, case, model):
        """Nodes around the row's have the same type, so any may be refused, and the function."""
        try:
            places_check.run(self.tools / "ming", "check", model)
        except Refused:
            return True
        return False

    def check_cases(self, cases):
        """Designs have no float16, with which a model of several graphs would be refused. Its sums
        are rounded elsewhere in linalg, by more than --verify-semantics allows."""
        has_half = lambda case: case.row.kind == "float16"
        super().check_cases([case for case in cases if not has_half(case)])
        self.compile_options = ()
        for case in filter(has_half, cases):
            self.attempt(case.name, self.check_case, case, False)

    def cases(self):
        for index, row in enumerate(rows()):
            for place in row.places if self.args.filter else self.places_of(row):
                name = f"{row.name}@{place}"
                if not re.search(self.args.filter, name):
                    continue
                try:
                    yield TypedCase(row, place, self.args.seed, f"r{index}{place[0]}_")
                except Unfit:
                    self.unfit.add(row.name)

    def all(self):
        self.unfit = set()
        self.accepted = collections.Counter()
        if not self.args.filter:
            self.attempt("rows", places_check.check_rows)
        taken = []
        for case in self.cases():
            self.places[case.place] += 1
            if self.attempt_import(case):
                taken.append(case)
                self.accepted[case.row.operators[0]] += 1
        self.check_cases(taken)

    def attempt_import(self, case):
        """Counts a case that ends with the reference."""
        try:
            if self.imports(case):
                return True
            self.counts["passed"] += 1
        except (Failure, ValueError, OSError) as why:
            self.attempt(case.name, self.fail, why)
        return False

    @staticmethod
    def fail(why):
        raise Failure(str(why))


def main():
    args = parse_args(__doc__)
    with tempfile.TemporaryDirectory(prefix="ming-types-") as folder:
        suite = TypedSuite(args, args.keep or pathlib.Path(folder))
        suite.all()
    print(f"through the C++: {suite.csim}")
    print("places: " + ", ".join(f"{place} {count}" for place, count in suite.places.items()))
    print(f"operators and types: {len(suite.accepted)} taken, "
          f"{len(set(suite.refusals) - set(suite.accepted))} refused, "
          f"{len(suite.unfit)} rows do not fit their type")
    if suite.refusals:
        print("refused: " + ", ".join(f"{name} {count}"
                                      for name, count in sorted(suite.refusals.items())))
    for line in suite.known:
        print(line)
    print(f"{suite.counts['passed']} passed, {suite.counts['failed']} failed")
    return 1 if suite.counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
