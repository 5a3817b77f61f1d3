#!/usr/bin/env python3
"""The page that ming report writes, and report.json against its schema.

    test/e2e/report_check.py --tools=build/tools [--seed=N] [--filter=TEXT] [--large] [--keep=DIR]

Designs are two U-Nets and a network of two convolutions, with streams, memories, loaded weights and Verilog. For each,

- report.json is as emit/report.schema.json says, and has no key that it does not describe;
- the page is well-formed: tags match, ids are unique, every link leads to one of them, nothing is
  loaded and no script is there; all layers, processes and FIFOs are in it, with their figures; boxes
  of the graph do not overlap; bars of frames lie as `ming sim` says; a second run gives the same;
- the roofline has the lines of `ming roofline`, and a dot per layer that multiplies, at what follows
  from report.json;
- names that are attacks are text, in elements, attributes and drawings.

With Graphviz the layout of `dot` is checked, too, and what stands in for it when it fails; with
Chromium pages are opened: nothing is written to the console, and no name has become an element.
The last line counts the cases.
"""
import argparse
import html.parser
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import gen_networks
import json_schema
import onnx_file
from qonnx_builder import QonnxBuilder
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "emit" / "report.schema.json"
VOID = {"meta", "br", "hr", "link", "img", "input"}
LOADS = {"src", "srcset", "data", "poster", "background", "action", "formaction", "xlink:href"}
MOST_BYTES, MOST_SECONDS = 3_000_000, 2
RESOURCES = ("dsp", "bram18", "uram", "lut", "ff")
ATTACKS = [
    "<script>document.title='pwned'</script>", "\"><img src=x onerror=alert(1)>", "'--><svg onload=1>",
    "]]></style><script>1</script>", "a\u202egnp.exe\u202c \u2066b", "</title></text></a>&amp;&lt;",
    "javascript:alert(1)", "\u0645\u0631\u062d\u0628\u0627 \u200fabc", "tab\tnew\nline", "x" * 300,
]


# Of two-layers: 16 x 16 pixels of 3, 4 and 4 channels of a byte, 3 x 3 x 3 x 4 and 3 x 3 x 4 x 4
# weights of 4 bits.
TWO_BYTES = {"conv_10": 768 + 1024 + 54, "conv_20": 1024 + 1024 + 72}


class Failure(Exception):
    pass


def expect(holds, message):
    if not holds:
        raise Failure(message)


class Page(html.parser.HTMLParser):
    """Elements of a page with their attributes and texts. Raises on what does not match."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.ids = [], [], []
        self.feed(text)
        self.close()
        expect(not self.open, "elements are not closed")

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        expect(len(names) == len(set(names)), f"<{tag}> has an attribute twice: {names}")
        element = {"tag": tag, "attrs": dict(attrs), "text": "", "within": list(self.open)}
        self.elements.append(element)
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        expect(self.open and self.open[-1]["tag"] == tag, f"</{tag}> closes another element")
        self.open.pop()

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def all(self, tag, **attrs):
        return [e for e in self.elements if e["tag"] == tag
                and all(e["attrs"].get(key.rstrip("_")) == value for key, value in attrs.items())]

    def inside(self, tag, id_):
        """Elements of the tag in the element with that id."""
        return [e for e in self.elements if e["tag"] == tag
                and any(outer["attrs"].get("id") == id_ for outer in e["within"])]


def shown(name):
    """A name as the page has it: marks that turn the direction of writing are spelled out, what XML
    cannot hold is replaced."""
    name = re.sub("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]",
                  lambda m: f"[U+{ord(m[0]):04X}]", name)
    return re.sub("[\x00-\x1f\x7f]", "\ufffd", name)


def number(text):
    return None if text.strip() == "\u2013" else int(text.replace(",", ""))


def cells(row, page):
    return [e["text"] for e in page.elements if e["tag"] in ("td", "th") and any(outer is row for outer in e["within"])]


def check_structure(text, page):
    expect(text.startswith("<!DOCTYPE html>\n"), "no document type")
    expect(len(text.encode()) < MOST_BYTES, f"{len(text)} bytes")
    expect(len(page.ids) == len(set(page.ids)), "an id is there twice")
    for element in page.elements:
        for name, value in element["attrs"].items():
            expect(not name.startswith("on") and name not in LOADS, f"attribute {name}={value!r}")
            if name == "href":
                expect(value.startswith("#") and value[1:] in page.ids, f"link to {value}")
    tags = {element["tag"] for element in page.elements}
    expect(not tags & {"script", "img", "iframe", "object", "embed", "link", "base", "form"}, tags)
    policy = page.all("meta", **{"http-equiv": "Content-Security-Policy"})
    expect(len(policy) == 1 and "default-src 'none'" in policy[0]["attrs"]["content"], "no policy")
    style = page.all("style")
    expect(len(style) == 1 and not re.search(r"url\(|@import|expression", style[0]["text"]), "style")
    for rule in ("prefers-color-scheme:dark", "@media print"):
        expect(rule in style[0]["text"], f"no {rule}")


def check_layers(page, report):
    """A row per layer, of its sums and its slowest process, and one for each process and FIFO."""
    layers = {}
    for process in report["processes"]:
        layers.setdefault(process["source"] or process["name"], []).append(process)
    rows = [e for e in page.all("tr") if e["attrs"].get("id", "").startswith("layer-")]
    expect(len(rows) == len(layers), f"{len(rows)} rows of {len(layers)} layers")
    for row, (name, processes) in zip(rows, layers.items()):
        found = cells(row, page)
        slowest = max(processes, key=lambda p: p["cycles"])
        expect(found[0] == shown(name) and found[1] == shown(slowest["name"]), f"{found}")
        expect(number(found[4]) == slowest["cycles"], f"{name} takes {found[4]}")
        sums = [sum(p[key] or 0 for p in processes) for key in RESOURCES]
        expect(list(map(number, found[6:])) == sums, f"{name} takes {found[6:]}, not {sums}")
    texts = {e["text"] for e in page.inside("bdi", "layers")}
    missing = [p["name"] for p in report["processes"] if shown(p["name"]) not in texts]
    texts = {e["text"] for e in page.inside("bdi", "fifos")}
    missing += [f["name"] for f in report["fifos"] if shown(f["name"]) not in texts]
    expect(not missing, f"not in the tables: {missing[:3]}")
    return layers


def check_resources(page, report):
    rows = [e for e in page.inside("tr", "kinds")]
    found = {cells(row, page)[0]: cells(row, page)[1:] for row in rows[1:]}
    totals = [report["totals"][key] for key in RESOURCES]
    expect(list(map(number, found.pop("all"))) == totals, "totals differ")
    limits = [report[f"{key}_limit"] for key in RESOURCES]
    expect(list(map(number, found.pop("budget"))) == limits, "limits differ")
    found.pop("device", None)
    for row, die in zip(page.inside("tr", "dies")[1:], report.get("dies", []), strict=True):
        wanted = [f"{die['use'][key]:,} of {die['limit'][key]:,}" for key in RESOURCES]
        expect(cells(row, page) == [die["name"], *wanted], f"die {die['name']} differs")
    kinds = [sum(number(row[i]) for row in found.values()) for i in range(len(RESOURCES))]
    expect(kinds == totals, f"kinds take {kinds}, all {totals}")


def boxes(page):
    found = []
    for e in page.inside("rect", "graph"):
        if e["attrs"].get("class", "").split()[0] in ("box", "port"):
            found.append([float(e["attrs"][key]) for key in ("x", "y", "width", "height")])
    return found


def check_graph(page, layers, report):
    found = boxes(page)
    ports = len(report["ports"])
    expect(len(found) == len(layers) + ports, f"{len(found)} boxes of {len(layers)} + {ports}")
    for i, (x, y, w, h) in enumerate(found):
        for x2, y2, w2, h2 in found[:i]:
            apart = x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y
            expect(apart, "two boxes overlap")
    view = [e for e in page.inside("svg", "graph") if "viewbox" in e["attrs"]][0]["attrs"]["viewbox"]
    width, height = map(float, view.split()[2:])
    expect(all(x >= 0 and y >= 0 and x + w <= width and y + h <= height for x, y, w, h in found),
           "a box lies outside")
    lines = [e for e in page.inside("path", "graph") if e["attrs"]["class"].startswith("edge")]
    expect(len(lines) >= len(layers) - 1, f"{len(lines)} lines join {len(found)} boxes")
    slow = [e for e in page.inside("rect", "graph") if e["attrs"].get("class") == "box slow"]
    most = max(p["cycles"] for p in report["processes"])
    wanted = sum(max(p["cycles"] for p in ps) == most for ps in layers.values())
    expect(len(slow) == wanted, f"{len(slow)} bottlenecks, not {wanted}")


def check_frames(page, layers, sim):
    """Bars of the same frame begin in the order of the rows' data, and the last one ends where
    `ming sim` says that so many frames do."""
    bars = [e for e in page.inside("title", "frames")]
    pattern = re.compile(r"frame (\d+) of (.*): cycles (\d+) to (\d+); its slowest process, ", re.S)
    spans = [pattern.match(e["text"]) for e in bars]
    expect(all(spans), "a bar tells nothing")
    ends = {}
    for span in spans:
        frame, begin, end = int(span[1]), int(span[3]), int(span[4])
        expect(begin < end, span[0])
        ends[frame] = max(ends.get(frame, 0), end)
    expect(len({span[2] for span in spans}) == len({shown(name) for name in layers}), "layers without bars")
    frames = max(ends)
    text = page.all("section", id="frames")[0]["text"]
    expect(f"takes {sim['latency_cycles']:,} cycles" in text, "another latency")
    for frame in range(2, frames + 1):
        expect(ends[frame] > ends[frame - 1], "frames are out of order")
    if sim["periodic"]:
        expect(ends[frames] - ends[frames - 1] <= sim["interval_cycles"] + sim["latency_cycles"],
               f"frames end {ends}")


def axis(page, css, at, label_at):
    """The least and the largest label of a logarithmic axis, and where they are."""
    ticks = [(float(e["text"].replace(",", "")), float(e["attrs"][at])) for e in page.inside("text", "roofline")
             if e["attrs"].get("class") == css and float(e["attrs"][label_at[0]]) == label_at[1]]
    (low, begin), (high, end) = min(ticks), max(ticks)
    return lambda value: begin + (end - begin) * math.log(value / low) / math.log(high / low)


def check_roofline(page, report, roofline):
    """The lines are those of `ming roofline`, products and ports those of report.json, and dots where
    the table says."""
    rows = [cells(row, page) for row in page.inside("tr", "points")[1:]]
    macs = {}
    for process in report["processes"]:
        if process.get("macs"):
            name = shown(process["source"] or process["name"])
            macs[name] = macs.get(name, 0) + process["macs"]
    expect([row[1] for row in rows[:-1]] == list(macs), f"points of {[row[1] for row in rows]}")
    rate = report["clock_mhz"] / report["totals"]["interval_cycles"] / 1e3
    peaks = {("f32" if p["float"] else f"{p['weight_bits']} x {p['input_bits']} bits"): p["peak_gops"]
             for p in roofline["peaks"]}
    near = lambda text, value: math.isclose(float(text.replace(",", "")), value, rel_tol=0.006)
    for row in rows[:-1]:
        ops = 2 * macs[row[1]]
        expect(near(row[3], ops) and near(row[6], ops * rate), f"{row[1]}: {row}, {ops} at {ops * rate}")
        expect(near(row[8], peaks[row[2]]), f"{row[1]} has a ceiling of {row[8]}, not {peaks[row[2]]}")
        expect(near(row[5], ops / float(row[4].replace(",", ""))), f"{row[1]}: operations per byte")
        expect(float(row[7].replace(",", "")) >= 0.99 * float(row[6].replace(",", "")), f"{row[1]} never rests")
    last = rows[-1]
    expect(near(last[3], roofline["ops_per_frame"]) and near(last[4], roofline["port_bits"] / 8)
           and near(last[8], roofline["compute_gops"]), f"{last} is not {roofline}")
    dots = [e for e in page.inside("circle", "roofline") if "cx" in e["attrs"] and e["attrs"]["cx"] != "6"]
    bottom = max(float(e["attrs"]["y"]) for e in page.inside("text", "roofline") if e["attrs"].get("class") == "d h")
    left = [e for e in page.inside("text", "roofline") if e["attrs"].get("class") == "d r"][0]["attrs"]["x"]
    x_of, y_of = axis(page, "d h", "x", ("y", bottom)), axis(page, "d r", "y", ("x", float(left)))
    expect(len(dots) == len(rows) - 1, f"{len(dots)} dots")
    for dot, row in zip(dots, rows):
        x, y = x_of(float(row[5].replace(",", ""))), y_of(float(row[6].replace(",", ""))) - 4
        expect(abs(float(dot["attrs"]["cx"]) - x) < 2 and abs(float(dot["attrs"]["cy"]) - y) < 2,
               f"the dot of {row[1]} is at {dot['attrs']}, not at {x:.1f}, {y:.1f}")
    slopes = {e["attrs"]["class"] for e in page.inside("line", "roofline")} & {"bank", "wires"}
    expect(("bank" in slopes) == (roofline["bandwidth_gbytes"] is not None) and "wires" in slopes, f"slopes {slopes}")
    return {row[1]: float(row[4].replace(",", "")) for row in rows[:-1]}


class Checker:
    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder
        self.schema = json.loads(SCHEMA.read_text())

    def run(self, *arguments, **options):
        return subprocess.run([str(self.tools / "ming"), *map(str, arguments)], capture_output=True,
                              text=True, timeout=300, check=False, **options)

    def must(self, *arguments, **options):
        done = self.run(*arguments, **options)
        expect(done.returncode == 0, f"{arguments[0]}: {done.stderr[-500:]}")
        return done.stdout

    def compile(self, model, out, *options):
        self.must("compile", model, "-o", out, *options)
        return json.loads((out / "report.json").read_text())

    def page(self, out, *options):
        text = self.must("report", out, "--html=-", *options)
        return text, Page(text)

    def design(self, model, *options):
        out = self.folder / "out"
        report = self.compile(model, out, *options)
        found = list(json_schema.problems(report, self.schema))
        expect(not found, "; ".join(found[:3]))
        sim = json.loads(self.must("sim", out, "--json=-"))
        device = [option for option in options if option.startswith("--device=")]
        roofline = json.loads(self.must("roofline", model, "--json", f"--clock={report['clock_mhz']}", *device))
        layouts = ["own"] + (["dot"] if shutil.which("dot") else [])
        for layout in layouts:
            text, page = self.page(out, f"--layout={layout}")
            check_structure(text, page)
            layers = check_layers(page, report)
            check_resources(page, report)
            check_graph(page, layers, report)
            check_frames(page, layers, sim)
            moved = check_roofline(page, report, roofline)
            if model.name == "two.onnx":
                expect(moved == TWO_BYTES, f"{moved} bytes are moved")
            expect(self.page(out, f"--layout={layout}")[0] == text, "a second page differs")
        expect(f"{len(report['processes'])} processes" in page.all("header")[0]["text"], "no head")
        expect("folding.json" in text and page.all("pre")[0]["text"] ==
               (out / "folding.json").read_text(), "another folding file")
        self.open(out, text)
        return ", ".join(layouts)

    def open(self, out, text):
        """The page in Chromium: nothing to complain about, and quickly."""
        if not shutil.which("chromium"):
            return None
        path = out / "page.html"
        path.write_text(text)
        with tempfile.TemporaryDirectory(prefix="ming-chromium-") as profile:
            began = time.monotonic()
            done = subprocess.run(
                ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
                 "--no-first-run", "--disable-background-networking", "--disable-component-update",
                 "--disable-sync", "--disable-dev-shm-usage", f"--user-data-dir={profile}",
                 "--enable-logging=stderr", "--dump-dom", path.as_uri()],
                capture_output=True, text=True, timeout=120, check=False)
            took = time.monotonic() - began
        expect(done.returncode == 0, done.stderr[-300:])
        console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        expect(not console, console[:3])
        tags = re.findall(r"<([a-zA-Z][a-zA-Z0-9]*)[ >]", done.stdout)
        wanted = [element["tag"] for element in Page(text).elements]
        expect(sorted(map(str.lower, tags)) == sorted(map(str.lower, wanted)),
               "the browser has other elements than the page")
        return took

    def names(self, model):
        """Every name of report.json an attack."""
        out = self.folder / "out"
        report = self.compile(model, out)
        for i, process in enumerate(report["processes"]):
            process["source"] = ATTACKS[i % len(ATTACKS)]
            process["name"] = ATTACKS[(i + 3) % len(ATTACKS)] + str(i)
            process["class"] = ATTACKS[(i + 5) % len(ATTACKS)]
        for i, fifo in enumerate(report["fifos"]):
            fifo["name"], fifo["kind"] = ATTACKS[i % len(ATTACKS)], ATTACKS[(i + 1) % len(ATTACKS)]
        for i, port in enumerate(report["ports"]):
            port["name"] = port["dtype"] = port["direction"] = ATTACKS[i]
        for i, item in enumerate(report["requantizers"]):
            item["layer"] = item["form"] = ATTACKS[i % len(ATTACKS)]
            item["absorbed"] = ATTACKS
        report["top"] = report["device"] = report["objective"] = ATTACKS[0]
        report["warnings"] = ATTACKS
        (out / "report.json").write_text(json.dumps(report))
        (out / "folding.json").write_text("\n".join(ATTACKS))
        text, page = self.page(out)
        check_structure(text, page)
        check_layers(page, report)
        expect(page.all("title")[0]["text"].startswith(shown(ATTACKS[0])), "title")
        found = [e["text"] for e in page.all("p", class_="warn")]
        for attack in ATTACKS:
            expect(shown(attack) in found, f"no warning {attack!r}")
        expect(not re.search("[\u202a-\u202e\u2066-\u2069\u200e\u200f]", text), "marks of direction")
        self.open(out, text)

    def without_dot(self, model):
        """A dot that fails, prints rubbish, or prints places of other nodes."""
        out = self.folder / "out"
        self.compile(model, out)
        own = self.page(out, "--layout=own")[0]
        folder = self.folder / "bin"
        folder.mkdir()
        fake = folder / "dot"
        environment = {**os.environ, "PATH": str(folder)}
        expect(self.must("report", out, "--html=-", env=environment) == own, "without dot")
        for script in ("exit 1", "echo '<svg onload=1>'", "echo graph 1 2 2; echo stop",
                       "echo graph 1 2 2; echo node n999999999 1 1; echo stop",
                       "echo graph 1 2 2; echo node n0 1 1; echo edge n0 n0 4000000000 1 1; echo stop",
                       "kill -9 $$"):
            fake.write_text(f"#!/bin/sh\n{script}\n")
            fake.chmod(0o755)
            expect(self.must("report", out, "--html=-", env=environment) == own, script)
            done = self.run("report", out, "--html=-", "--layout=dot", env=environment)
            expect(done.returncode == 1 and "did not place the layers" in done.stderr, script)
            expect(not done.stdout, "half a page")


def two_layers(folder):
    rng = np.random.default_rng(7)
    net = QonnxBuilder("two")
    x = net.quant(net.input("x", [1, 3, 16, 16]), 0.25, 8)
    channels = 3
    for i in range(2):
        weight = net.constant(f"w{i}", rng.integers(-7, 8, (4, channels, 3, 3)).astype(np.float32))
        weight = net.quant(weight, 1.0, 4, narrow=True)
        x = net.node("Conv", [x, weight], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]})
        x = net.quant(x, 0.5, 8, result="y" if i == 1 else None)
        channels = 4
    net.output("y", [1, 4, 16, 16])
    path = folder / "two.onnx"
    path.write_bytes(onnx_file.encode("Model", net.model()))
    return path


def unet(folder, seed, which):
    families = list(gen_networks.FAMILIES)
    index = next(i for i in range(len(families)) if families[i] == which)
    path = folder / f"{which}.onnx"
    path.write_bytes(gen_networks.generate(seed, index).data)
    return path


LARGE = {"mobilenet_v2_a8w6b32"}        # a minute with sanitizers


def collect(folder, seed, with_large):
    two = two_layers(folder)
    yield "two-layers", Checker.design, (two,)
    yield "memories", Checker.design, (two, "--interface=m_axi", "--weights=load")
    yield "verilog", Checker.design, (two, "--emit=hls,verilog", "--device=zcu102")
    yield "unet", Checker.design, (unet(folder, seed, "unet"),)
    yield "unet-qonnx", Checker.design, (unet(folder, seed, "unet-qonnx"), "--rewind=on")
    yield "dies", Checker.design, (two, "--device=u250", "--utilization=1", "--lut=20000")
    yield "names", Checker.names, (two,)
    yield "without-dot", Checker.without_dot, (two,)
    for path in sorted(pathlib.Path(os.environ.get("MING_MODELS", "/nonexistent")).glob("*/model.onnx")):
        if path.parent.name in LARGE and not with_large:
            continue
        yield f"model-{path.parent.name}", Checker.design, (path, "--device=zcu102")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "build" / "tools")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--filter", default="", help="regular expression in a case's name")
    parser.add_argument("--large", action="store_true", help="MobileNetV2, too")
    parser.add_argument("--keep", type=pathlib.Path, help="leave the files there")
    args = parser.parse_args()
    for program in ("dot", "chromium"):
        if not shutil.which(program):
            print(f"note: {program} is not installed; pages are checked without it")
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="ming-report-") as temporary:
        folder = args.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, check, details in collect(folder, args.seed, args.large):
            if not re.search(args.filter, name):
                continue
            work = folder / name
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            try:
                remark = check(Checker(args.tools.resolve(), work), *details)
                print(f"PASS {name}" + (f" ({remark})" if remark else ""), flush=True)
                passed += 1
            except (Failure, subprocess.TimeoutExpired, ValueError, KeyError) as failure:
                print(f"FAIL {name}: {failure}", flush=True)
                failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
