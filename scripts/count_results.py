#!/usr/bin/env python3
"""Counts the test cases in a result file.

    count_results.py junit FILE     testlog.junit.xml of meson test
    count_results.py lit FILE       what lit writes with -o

Prints `N passed, N failed`; skipped and unsupported cases are neither.
"""
import json
import sys
import xml.etree.ElementTree as ElementTree

LIT_PASSED = {"PASS", "XFAIL", "FLAKYPASS"}
LIT_NEUTRAL = {"UNSUPPORTED", "EXCLUDED", "SKIPPED"}


def count_junit(path):
    passed = failed = 0
    for case in ElementTree.parse(path).iter("testcase"):
        outcome = {child.tag for child in case}
        if outcome & {"failure", "error"}:
            failed += 1
        elif "skipped" not in outcome:
            passed += 1
    return passed, failed


def count_lit(path):
    with open(path, encoding="utf-8") as file:
        codes = [test["code"] for test in json.load(file)["tests"]]
    passed = sum(code in LIT_PASSED for code in codes)
    neutral = sum(code in LIT_NEUTRAL for code in codes)
    return passed, len(codes) - passed - neutral


def main(args):
    counters = {"junit": count_junit, "lit": count_lit}
    if len(args) != 2 or args[0] not in counters:
        sys.exit(__doc__)
    passed, failed = counters[args[0]](args[1])
    print(f"{passed} passed, {failed} failed")


if __name__ == "__main__":
    main(sys.argv[1:])
