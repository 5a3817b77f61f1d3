#!/usr/bin/env python3
"""Counts the test cases in a result file.

    count_results.py meson FOLDER   meson-logs, behind meson test
    count_results.py lit FILE       what lit writes with -o

Prints `N passed, N failed`; skipped and unsupported cases are neither. A program that ends before
its last case, by a signal or the time limit, is one that failed.
"""
import json
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

LIT_PASSED = {"PASS", "XFAIL", "FLAKYPASS"}
LIT_NEUTRAL = {"UNSUPPORTED", "EXCLUDED", "SKIPPED"}


MESON_PASSED = {"OK", "SKIP", "EXPECTEDFAIL"}


def count_meson(path):
    """The cases that programs have reported, and programs that ended otherwise than these say."""
    passed, failing = 0, []
    for suite in ElementTree.parse(path / "testlog.junit.xml").iter("testsuite"):
        for case in suite.iter("testcase"):
            outcome = {child.tag for child in case}
            if outcome & {"failure", "error"}:
                failing.append(f"{suite.get('name')}: {case.get('name')}")
            elif "skipped" not in outcome:
                passed += 1
    for line in (path / "testlog.json").read_text(encoding="utf-8").splitlines():
        test = json.loads(line)
        if test["result"] not in MESON_PASSED and not any(test["name"] in name for name in failing):
            failing.append(f"{test['name']}: {test['result']}")
    for name in failing:
        print(f"FAIL {name}")
    return passed, len(failing)


def count_lit(path):
    with open(path, encoding="utf-8") as file:
        codes = [test["code"] for test in json.load(file)["tests"]]
    passed = sum(code in LIT_PASSED for code in codes)
    neutral = sum(code in LIT_NEUTRAL for code in codes)
    return passed, len(codes) - passed - neutral


def main(args):
    counters = {"meson": count_meson, "lit": count_lit}
    if len(args) != 2 or args[0] not in counters:
        sys.exit(__doc__)
    passed, failed = counters[args[0]](pathlib.Path(args[1]))
    print(f"{passed} passed, {failed} failed")


if __name__ == "__main__":
    main(sys.argv[1:])
