#!/usr/bin/env python3
"""Reads every file of projects on cards by something that shares nothing with what printed it.

    cards_files_check.py --tools=DIR [--all]

A network whose layers have names that are hostile to C++, shells, make, Tcl, JSON and XML is compiled
for two cards, with a host and links of both protocols, and for the two dies of one. Then of each file,
by its kind: C++ and headers go through g++, each by itself (--all; other suites compile them together),
configurations through configparser, JSON through json and the schemas, Makefiles through make for every
target, Tcl through tclsh, SVG through an XML parser, awk through awk, IR through ming-opt (which is
ours); a file of another kind is a failure. System files with hostile names and structures are refused, each
with its place. Ends in `N passed, N failed`.
"""
import argparse
import configparser
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

import json_schema
from board_tools import Failure, expect, must_run, run
from case_loop import run_cases

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LOADED = ROOT / "examples/small_cnn/model.onnx"
NETWORK = ROOT / "lit/target/dse/Inputs/folding.mir"
COPIED = ("emulated_xrt.h", "emulated_network.h", "network.h", "host_frames.h", "host_main.h", "csim_xrt.h", "two_sided.h")  # system.cpp has them
HOSTILE = ('a*/ \\22; $(touch pwned) `touch pwned` \\5C\\5C', '${x} %s [exit] #pragma \\0A nk=x:1:y <b>&amp;')
SYSTEM = """<system name="pair"><card name="left" device="u280"/><card name="right" device="u280"/>
<link from="left.eth0" to="right.eth1" gbps="10" latency-ns="700" protocol="{}"/></system>
"""
TARGETS = ("csim", "cosim", "system-csim", "network-csim", "emulate", "xo", "link", "synth",
           "clean")
DIES = """<device name="pair" title="Two small dies" part="xcu280-fsvh2892-2L-e" dspKind="DSP48E2">
<clock default="250" maximum="738"/>
<die name="LEFT" lut="1000" ff="6000" bram18="4" uram="0" dsp="4"/>
<die name="RIGHT" lut="1000" ff="6000" bram18="4" uram="0" dsp="4"/>
<links sll="200"/>
<utilization lut="100" ff="100" bram18="100" uram="100" dsp="100" mean="100"/></device>
"""
DRAWN = {"svg", "title", "desc", "style", "defs", "marker", "g", "path", "rect", "line", "polyline",
         "polygon", "text", "tspan"}
TCL = "proc unknown args {}\nproc get_cells args {return cell}\nproc exit args {}\nsource [lindex $argv 0]\n"


def unique(pairs):
    keys = [key for key, _ in pairs]
    expect(len(keys) == len(set(keys)), "a key is there twice in", keys)
    return dict(pairs)


def check_json(path):
    value = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=unique)
    schema = ROOT / "emit" / f"{path.stem}.schema.json"
    if schema.exists():
        found = list(json_schema.problems(value, json.loads(schema.read_text(encoding="utf-8"))))
        expect(not found, "; ".join(found[:3]))


def check_config(path):
    """v++ reads keys without a section first, and keys again and again."""
    parser = configparser.RawConfigParser(strict=False, delimiters="=", comment_prefixes="#")
    parser.read_string("[v++]\n" + path.read_text(encoding="utf-8"))
    known = {"v++", "hls", "connectivity", "vivado"}
    expect(set(parser.sections()) <= known, "sections", parser.sections())
    for section in parser.sections():
        for key, value in parser.items(section):
            expect(re.fullmatch(r"[\w.]+", key) and re.fullmatch(r"[\w.:=\[\]+-]+", value), key,
                   "is", repr(value))


def check_cpp(project, path):
    flags = ["-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas",
             "-I.", "-Icsim", "-Ikernels"]
    if "emulat" in path.name or path.parent.name == "board":
        flags += ["-DMING_EMULATE", "-include", "csim/ming_emulate.h"]
    if path.name.endswith("_schedule.h"):
        flags += ["-include", "csim/ming_cosim.h"]
    if path.suffix == ".h":
        flags += ["-x", "c++", "-Wno-unused"]
    must_run("g++", *flags, path.relative_to(project), cwd=project)


def check_file(args, project, path):
    if path.suffix in (".cpp", ".h"):
        if path.parent.name != "csim" and path.name not in COPIED and not path.name.endswith(
                "_cards.cpp"):              # test/csim has headers, make the last one
            if args.all:
                check_cpp(project, path)
    elif path.suffix == ".json":
        check_json(path)
    elif path.suffix == ".cfg":
        check_config(path)
    elif path.suffix == ".tcl":
        stub = project.parent / "stub.tcl"
        stub.write_text(TCL, encoding="utf-8")
        must_run("tclsh", stub, path)
    elif path.suffix == ".npy":
        expect(re.match(rb"\x93NUMPY\x01\x00..\{'descr': '<[ui]8', 'fortran_order': False, "
                        rb"'shape': \(\d+,\)", path.read_bytes(), re.S), "is no list of words")
    elif path.suffix == ".awk":
        must_run("awk", "-v", "schedule=/dev/null", "-f", path, "/dev/null")
    elif path.suffix == ".mir":
        must_run(args.tools / "ming-opt", path, "-o", "/dev/null")
    elif path.suffix == ".svg":
        kinds = {element.tag.rsplit("}", 1)[-1] for element in ElementTree.parse(path).iter()}
        expect(kinds <= DRAWN, "draws", kinds - DRAWN)
    elif path.name == ".clang-format":
        lines = path.read_text(encoding="utf-8").splitlines()
        expect(all(re.fullmatch(r"[A-Za-z]+: [\w+-]+|\w+:|  .*|#.*|---|", line) for line in lines),
               "is no YAML:", lines)
    else:
        expect(path.name in ("Makefile", "system.mk"), "is of a kind that nothing checks")


def check_targets(project):
    """make -n says what would be done, in the words of the shell, which reads them."""
    text = (project / "Makefile").read_text() + (project / "system.mk").read_text()
    found = {name for line in re.findall(r"^\.PHONY:(.*)$", text, re.M) for name in line.split()}
    for target in TARGETS:
        expect(target in found, "no target", target)
    for target in sorted(found - {"arguments"}):
        plan = must_run("make", "-n", "-C", project, target, "INPUT=in.npy", "OUTPUT=out.npy",
                        "TRACE=trace", "VPP=true", "PLATFORM=p", "NETWORK=").stdout
        lines = [line for line in plan.splitlines() if not line.startswith("make")]
        script = project.parent / "plan.sh"
        script.write_text("\n".join(lines) + "\n", encoding="utf-8")
        must_run("sh", "-n", script)


def write_network(path, name):
    text = NETWORK.read_text(encoding="utf-8")
    for old, new in zip(("the pool", "the twins"), HOSTILE, strict=True):
        text = text.replace(f'"{old}"', f'"{new}"')
    path.write_text(text.replace("@net", f"@{name}"), encoding="utf-8")


def check_files(args, project):
    files = sorted(path for path in project.rglob("*") if path.is_file())
    for path in files:
        try:
            check_file(args, project, path)
        except (Failure, ValueError, configparser.Error) as failure:
            raise Failure(f"{path.relative_to(project)}: {failure}") from failure


def check_project(args, work, protocol, options, model=None):
    project = work / "project"
    write_network(work / "net.mir", "class")
    (work / "pair.xml").write_text(SYSTEM.format(protocol), encoding="utf-8")
    must_run(args.tools / "ming", "compile", model or work / "net.mir", "-o", project,
             f"--system={work / 'pair.xml'}", "--dsp=8", *options)
    cards, = project.glob("*_emulate.cpp")
    must_run("make", "-s", "-C", project, cards.name.replace("_emulate", "_cards"))
    check_files(args, project)
    check_targets(project)
    expect(not list(work.rglob("pwned")), "a name was run")


def check_dies(args, work):
    """One card of two dies: the floorplan has its places, and no name is more than a name."""
    project = work / "project"
    write_network(work / "net.mir", "class")
    (work / "pair.xml").write_text(DIES, encoding="utf-8")
    must_run(args.tools / "ming", "compile", work / "net.mir", "-o", project, "--lut-margin=0",
             f"--device={work / 'pair.xml'}", f"--place-svg={work / 'place.svg'}")
    (work / "place.svg").rename(project / "place.svg")
    check_files(args, project)
    floorplan = (project / "floorplan.tcl").read_text(encoding="utf-8")
    places = re.findall(r"^ming_place \$ming_kernel (\w+) \{\n((?: {4}\w+\n)+)\}$", floorplan, re.M)
    expect({die for die, _ in places} == {"LEFT", "RIGHT"}, "the floorplan has dies", places)
    expect(floorplan.count("ming_place $ming_kernel") == len(places), "a place is more than names")
    expect(not list(work.rglob("pwned")), "a name was run")


CARD = '<card name="{}" device="u280"/>'
PAIR = CARD.format("a") + CARD.format("b")
HOSTILE_NAMES = ("", "a b", "a;b", "a.b", "a$(x)", "a`x`", "a/b", "..", "a&quot;b", "a&lt;b", "a&amp;b",
                 "a'b", "a\\b", "a\nb", "\u00e4", "a" * 65, "a=b", "a:b", "a,b")
SYSTEMS = [(f'<system name="s">{CARD.format(name)}</system>', "'name'|name") for name in HOSTILE_NAMES
           ] + [(f'<system name="{name}">{CARD.format("a")}</system>', "name")
                for name in HOSTILE_NAMES] + [
    (f'<!DOCTYPE system [<!ENTITY a "b">]><system name="s">{PAIR}</system>', "DOCTYPE|document type"),
    (f'<system name="s">{PAIR}<!-- {"x" * 2**20} --></system>', "1048576|1 MiB|large|bytes"),
    (f'<system name="s">{"".join(CARD.format(f"c{i}") for i in range(17))}</system>', "card"),
    (f'<system name="s">{CARD.format("a") * 2}</system>', "a"),
    (f'<system name="s">{PAIR}<link from="a.eth0" to="c.eth0"/></system>', "'c'|card"),
    (f'<system name="s">{PAIR}<link from="a.eth0" to="b.eth8"/></system>', "eth8|to"),
    (f'<system name="s">{PAIR}<link from="a.eth0" to="b.eth3"/></system>', "eth3"),
    (f'<system name="s">{PAIR}<link from="a.eth0" to="a.eth1"/></system>', "a"),
    (f'<system name="s">{PAIR}<link from="a.eth0" to="b.eth0"/><link from="a.eth0" to="b.eth1"/></system>',
     "two links end at a.eth0"),
    (f'<system name="s">{PAIR}<link from="a.eth0" to="b.eth0" protocol="tcp"/></system>', "protocol"),
    (f'<system name="s">{PAIR}<link from="a.eth0" to="b.eth0" gbps="0"/></system>', "gbps"),
    (f'<system name="s">{PAIR}<link from="a.eth0" to="b.eth0" latency-ns="-1"/></system>', "latency"),
    (f'<system name="s">{PAIR}</system>', "no links connect cards 'a' and 'b'"),
    ('<system name="s"><card name="a" device="u999"/></system>', "u999"),
    ('<system name="s"><card name="a" device="kv260"/><card name="b" device="kv260"/>'
     '<link from="a.eth0" to="b.eth0"/></system>', "eth0"),
    ('<system name="s"></system>', "card"), ("<system", "xml"), ("", "xml|empty"),
]


def check_systems(args, work):
    for text, words in SYSTEMS:
        file = work / "sys.xml"
        file.write_text(text, encoding="utf-8")
        result = run(args.tools / "ming", "compile", NETWORK, "-o", work / "out", f"--system={file}",
                     "--dsp=8")
        what = repr(text[:120])
        expect(result.returncode == 1, what, "ends with", result.returncode, result.stderr[-200:])
        expect(re.search(words, result.stderr, re.I), what, "says", result.stderr[-300:])
        expect("error: " in result.stderr and not (work / "out").exists(), what, "leaves files")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--all", action="store_true", help="each C++ file through g++: a minute")
    args = parser.parse_args()
    args.tools = args.tools.resolve()
    cases = (("credit, host", lambda work: check_project(args, work, "credit", ["--platform=xrt"])),
             ("udp, streams", lambda work: check_project(args, work, "udp", ["--mode=tmp"])),
             ("dies", lambda work: check_dies(args, work)),
             ("weights", lambda work: check_project(args, work, "credit", ["--weights=load"], LOADED)),
             ("system files", lambda work: check_systems(args, work)))
    return run_cases(cases, [Failure])


if __name__ == "__main__":
    sys.exit(main())
