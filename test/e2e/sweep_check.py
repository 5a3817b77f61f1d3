#!/usr/bin/env python3
"""ming sweep: a plan of small designs by GNU parallel and by a real Slurm on this machine, each also killed in
the middle and gone on with, gives the same results.csv; a design that does not fit stops nothing; figures
are those of the designs' reports and fronts those of a search over all pairs; the page needs no network, its
links lead somewhere and names stay text. Slurm, whose commands wait for each other, only with --slurm; 200
designs with --full, and Slurm. Ends in `N passed, N failed`."""
import argparse
import csv
import html.parser
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import board_tools
from board_tools import expect
from slurm import Slurm

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODEL = ROOT / "examples/small_cnn/model.onnx"
HOSTILE = "</td><script>alert(1)</script>\"=1+1\"'; $(touch pwned) `id`\u202e"
RESOURCES = ("dsp", "bram18", "uram", "lut", "ff")
FEW = {"devices": ["kv260", "pynq-z2"], "objectives": ["fps=500", "fps=20000"],
       "limits": [{"utilization": 60}, {"dsp": 4}, {"lut": 100}]}
MANY = {"devices": ["kv260", "pynq-z2"], "clocks": [100, 150], "objectives": [f"fps={n}" for n in range(100, 2100, 200)],
        "limits": [{"utilization": 60}, {"dsp": 4}, {"dsp": 8, "bram": 10}, {"utilization": 80}, {"lut": 100}]}


class Sweep:
    def __init__(self, tools, folder, plan):
        self.tools, self.folder, self.plan = tools, folder, plan
        self.count = 1
        for key in ("models", "devices", "clocks", "objectives", "limits"):
            self.count *= len(plan.get(key, [0]))

    def command(self, out, *options, plan=None):
        file = self.folder / "plan.json"
        file.write_text(json.dumps(plan or self.plan), encoding="utf-8")
        return [str(self.tools / "ming"), "sweep", str(file), "-o", str(out), *options]

    def run(self, out, *options, plan=None, env=None):
        return subprocess.run(self.command(out, *options, plan=plan), env=env, stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, errors="replace", timeout=60 + 10 * self.count, check=False)

    def must(self, out, *options, plan=None, env=None):
        result = self.run(out, *options, plan=plan, env=env)
        expect(result.returncode == 0, result.stderr)
        return result.stdout

    def interrupt(self, out, *options, env=None):
        """Kills a sweep, and all that it started here, once some designs are there."""
        with subprocess.Popen(self.command(out, *options), env=env, stdin=subprocess.DEVNULL, start_new_session=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            end = time.monotonic() + 120
            while len(list(out.glob("jobs/*/status"))) < max(2, self.count // 4):
                expect(time.monotonic() < end and process.poll() is None, "nothing to interrupt")
                time.sleep(0.02)
            os.killpg(process.pid, signal.SIGKILL)
        expect(not (out / "results.csv").exists(), "the sweep was over")
        return len(list(out.glob("jobs/*/status")))


def rows_of(out):
    with open(out / "results.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check_rows(sweep, out):
    """Figures are those of the reports, and fronts those of all pairs."""
    rows = rows_of(out)
    expect(len(rows) == sweep.count, len(rows), "rows")
    done = [row for row in rows if row["state"] == "done"]
    expect(done and any(row["state"] == "failed" and row["message"] for row in rows), "all done or all failed")
    for row in done:
        report = json.loads((out / row["folder"] / "design/report.json").read_text(encoding="utf-8"))
        totals = report["totals"]
        expect(report["device"] == row["device"] and report["clock_mhz"] == int(row["clock_mhz"]), row)
        expect(f"{totals['fps']:.3f}" == row["predicted_fps"], row)
        expect([str(totals[key]) for key in ("interval_cycles", *RESOURCES)] ==
               [row[key] for key in ("interval_cycles", *RESOURCES)], row)
        want = [key for key in RESOURCES if not any(
            float(other["predicted_fps"]) >= float(row["predicted_fps"]) and int(other[key]) <= int(row[key]) and
            (float(other["predicted_fps"]) > float(row["predicted_fps"]) or int(other[key]) < int(row[key]))
            for other in done if other["model"] == row["model"])]
        expect(row["fronts"].split() == want, row, want)
    for row in rows:
        expect((row["state"] == "done") == (out / row["folder"] / "design/report.json").exists(), row)


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.ids = set(), [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for key, value in attrs:
            expect(not key.startswith("on") and key != "src", "runs or loads", tag, key)
            if key == "href":
                self.links.append(value)
            if key == "id":
                self.ids.add(value)


def check_page(out):
    text = (out / "index.html").read_text(encoding="utf-8")
    page = Page(text)
    expect(not page.tags & {"script", "link", "img", "iframe", "object", "base"}, page.tags)
    expect(not re.search(r"https?://", text) and "\u202e" not in text, "names something outside")
    for link in page.links:
        expect(link[1:] in page.ids if link.startswith("#") else (out / link).exists(), "leads nowhere:", link)
    expect({"svg", "circle", "table"} <= page.tags and page.links, page.tags)


def check_whole(sweep, first):
    said = sweep.must(first, "--jobs=2")
    expect(f"{sweep.count} designs, {sweep.count} of them run now" in said, said)
    check_rows(sweep, first)
    check_page(first)
    before = (first / "results.csv").read_bytes(), (first / "index.html").read_bytes()
    for options in ((), ("--engine=none",)):
        expect("0 of them run now" in sweep.must(first, *options), options)
        expect(((first / "results.csv").read_bytes(), (first / "index.html").read_bytes()) == before, "changed")


def check_interrupted(sweep, first, out, *options, env=None):
    done = sweep.interrupt(out, *options, env=env)
    said = sweep.must(out, *options, env=env)
    expect(f"{sweep.count} designs, " in said and f" 0 missing" in said, said)
    left = int(re.search(r"(\d+) of them run now", said).group(1))
    expect(0 < left <= sweep.count - done, said)
    expect((out / "results.csv").read_bytes() == (first / "results.csv").read_bytes(), "another results.csv")


def check_slurm(sweep, first, folder):
    with Slurm(folder / "slurm") as slurm:
        if slurm.reason:
            print("SKIP slurm:", slurm.reason, flush=True)
            return
        out = folder / "by-slurm"
        check_interrupted(sweep, first, out, "--engine=slurm", "--jobs=2", env=slurm.env)
        result = sweep.run(folder / "refused", "--engine=slurm", "--engine-option=--partition=none", env=slurm.env)
        expect(result.returncode == 1 and "invalid partition" in result.stderr and
               f"{sweep.count} designs are missing" in result.stderr, result.stderr)


def check_changes(sweep, folder):
    """A longer plan runs what is new, another model runs again, --retry runs what failed."""
    model = folder / "changing.onnx"
    model.write_bytes(MODEL.read_bytes())
    plan = {"models": [{"name": "m", "file": "changing.onnx"}], "devices": ["kv260"], "objectives": ["fps=100"]}
    out = folder / "changes"
    expect("1 designs, 1 of them run now" in sweep.must(out, plan=plan), "first")
    plan["limits"] = [{}, {"lut": 100}]
    expect("2 designs, 1 of them run now: 1 done, 1 failed" in sweep.must(out, plan=plan, ), "second")
    expect("0 of them run now" in sweep.must(out, plan=plan), "third")
    expect("1 of them run now: 1 done, 1 failed" in sweep.must(out, "--retry", "--ssh=:", plan=plan), "fourth")
    plan.update(limits=[{}], synthesis=True)
    model.write_bytes(MODEL.read_bytes() + b"\x72\x00") # an empty field of the file
    said = sweep.must(out, plan=plan, env=dict(os.environ, VPP="/bin/false"))
    expect("1 of them run now: 1 done" in said and rows_of(out)[0]["synthesis"] == "failed", said, rows_of(out))


def check_locks(sweep, folder):
    """Of two sweeps of a folder the second one is refused."""
    out = folder / "locked"
    with subprocess.Popen(sweep.command(out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        while not list(out.glob("jobs/*/lock")) and process.poll() is None:
            time.sleep(0.01)
        result = sweep.run(out)
        expect(result.returncode == 1 and "another sweep runs in" in result.stderr, result.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True)
    parser.add_argument("--filter", default="")
    parser.add_argument("--full", action="store_true", help="200 designs in place of 12")
    parser.add_argument("--slurm", action="store_true", help="also by Slurm: half a minute")
    parser.add_argument("--keep", help="a folder for what is made")
    options = parser.parse_args()
    tools = pathlib.Path(options.tools).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(options.keep or name)
        folder.mkdir(exist_ok=True)
        plan = {"models": [{"name": HOSTILE, "file": str(MODEL)}], **(MANY if options.full else FEW)}
        sweep, first = Sweep(tools, folder, plan), folder / "first"
        by_slurm = [("slurm", lambda: check_slurm(sweep, first, folder))]
        if not (options.slurm or options.full):
            print("SKIP slurm: --slurm asks for it", flush=True)
            by_slurm = []
        cases = [("parallel", lambda: check_whole(sweep, first)),
                 ("interrupted", lambda: check_interrupted(sweep, first, folder / "second", "--jobs=2")),
                 *by_slurm,
                 ("changes", lambda: check_changes(sweep, folder)),
                 ("locks", lambda: check_locks(sweep, folder))]
        return board_tools.report_cases([c for c in cases if options.filter in c[0]])


if __name__ == "__main__":
    sys.exit(main())
