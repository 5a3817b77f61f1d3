#!/usr/bin/env python3
"""Places designs on devices of several dies and checks the places from report.json, the emitted IR and
the device's XML alone, without the code that found them:

  - every process has a die, and what the processes of a die take in sum keeps the device's shares,
    with the margin for LUTs, and the mean share of BRAM18, URAM and DSP;
  - the report's uses, links and crossings are those sums;
  - no border carries more wires than it has, counted anew from the calls of the top function;
  - a folding file, given back, gives the same folding file and the same places;
  - a design for one die, or for one pool, says nothing of dies; for a device of one die it is the same,
    byte for byte, with --pooled and without, and the pool of several dies is that of one as large.

Devices are shrunk so that networks need several dies. A refusal must say why.
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
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
KINDS = ("lut", "ff", "bram18", "uram", "dsp")
LUT_MARGIN = 25         # percent, the default of --lut-margin
HANDSHAKE = 3           # valid, ready, last

DEVICE = """<device name="{name}" title="Shrunk" part="xcu280-fsvh2892-2L-e" dspKind="DSP48E2">
  <clock default="250" maximum="738"/>
{dies}
  <links sll="{sll}"/>
  <utilization lut="70" ff="50" bram18="80" uram="80" dsp="80" mean="70"/>
</device>
"""
DIE = '  <die name="D{i}" lut="{lut}" ff="{ff}" bram18="{bram18}" uram="{uram}" dsp="{dsp}"/>'

# A network and what one pool of 100 % of it holds well.
NETWORKS = [
    ("lit/target/dse/Inputs/folding.mir", dict(lut=6000, ff=14000, bram18=8, uram=2, dsp=12)),
    ("examples/small_cnn/model.onnx", dict(lut=30000, ff=60000, bram18=60, uram=4, dsp=90)),
    ("../shared/models/resnet8_a8w8b16/model.onnx",
     dict(lut=75000, ff=150000, bram18=210, uram=8, dsp=300)),
]

# For devices of one die: network, device, options; the others are for --one-die.
ONE_DIE = [
    ("lit/target/dse/Inputs/folding.mir", "kv260", ["--interface=m_axi"]),
    ("examples/small_cnn/model.onnx", "pynq-z1", ["--weights=load"]),
    ("examples/small_cnn/model.onnx", None, []),
]
ALL_ONE_DIE = [(network, device, flags) for network in (
    "lit/target/dse/Inputs/folding.mir", "examples/small_cnn/model.onnx",
    "../shared/models/two_layers/model.onnx", "../shared/models/resnet8_a8w8b16/model.onnx",
    "../shared/models/TFC_1W1A/model.onnx") for device in ("kv260", "pynq-z1", "ultra96", "zcu102", None)
    for flags in ([], ["--interface=m_axi"], ["--weights=load"], ["--interface=dma"],
                  ["--objective=latency"], ["--dsp=20", "--fps=100"], ["--emit=verilog"],
                  ["--platform=pynq"])]


class Failed(Exception):
    pass


def require(holds, text):
    if not holds:
        raise Failed(text)


def write_device(path, rng, pool):
    count = rng.choice((2, 2, 3, 3, 4))
    scale = rng.uniform(.6, 1.3)
    dies = []
    for i in range(count):
        part = {k: max(2, int(v * scale * rng.uniform(.8, 1.2) / count)) for k, v in pool.items()}
        dies.append(DIE.format(i=i, **part))
    path.write_text(DEVICE.format(name=path.stem, dies="\n".join(dies), sll=rng.choice((60, 300, 5000))))


def read_device(path):
    root = xml.parse(path).getroot()
    dies = [{k: int(die.get(k)) for k in KINDS} for die in root.findall("die")]
    share = {k: int(root.find("utilization").get(k)) for k in KINDS}
    mean = int(root.find("utilization").get("mean"))
    return dies, share, mean, int(root.find("links").get("sll"))


def calls_of(text):
    """The top function's calls in order: callee and arguments."""
    top = re.search(r"emithls\.func @\S+\([^\n]*\btop\b.*?\n(.*?)\n  }", text, re.S)
    body = top.group(1) if top else text[text.rindex("emithls.func"):]
    return [(name, [a.strip() for a in args.split(",")])
            for name, args in re.findall(r"emithls\.call @(\w+)\(([^)]*)\)", body)]


def stream_bits(text):
    """Bits of a word of each stream by its name."""
    out = {}
    for name, _, word in re.findall(r'(%\w+) = emithls\.stream "([^"]+)"[^\n]*?: !emithls\.stream<(.*?)>$',
                                    text, re.M):
        lanes, elem = re.match(r"(?:vector<(\d+)x)?([a-z]+\d+)>?$", word).groups()
        out[name] = int(lanes or 1) * int(re.sub(r"\D", "", elem))
    return out


def check_sums(report, device):
    dies, share, mean, _ = device
    sums = [collections.Counter() for _ in dies]
    for process in report["processes"]:
        require(0 <= process.get("die", -1) < len(dies), f"{process['name']} has no die")
        for kind in KINDS:
            sums[process["die"]][kind] += process[kind]
    require(len(report["dies"]) == len(dies), "the report has other dies")
    for i, (die, use) in enumerate(zip(dies, sums)):
        told = report["dies"][i]
        for kind in KINDS:
            percent = share[kind] * (100 / (100 + LUT_MARGIN) if kind == "lut" else 1)
            require(told["use"][kind] == use[kind], f"die {i}: {kind} is {use[kind]}, not as told")
            require(told["capacity"][kind] == die[kind], f"die {i}: capacity of {kind}")
            require(use[kind] * 100 <= die[kind] * percent + 1e-6,
                    f"die {i}: {use[kind]} {kind} of {die[kind]}, above {percent} %")
        parts = [use[k] / die[k] for k in ("bram18", "uram", "dsp")]
        require(sum(parts) / 3 * 100 <= mean + 1e-9, f"die {i}: mean share {sum(parts) / 3}")


def check_wires(report, text, device):
    dies, _, _, sll = device
    where = {p["name"]: p["die"] for p in report["processes"]}
    bits, ends = stream_bits(text), collections.defaultdict(list)
    for callee, args in calls_of(text):
        for arg in args:
            if arg in bits:
                ends[arg].append(where[callee])
    borders, crossings = collections.Counter(), []
    for stream, (writer, reader) in ends.items():
        step = 1 if reader > writer else -1
        for die in range(writer, reader, step):
            borders[die, die + step] += bits[stream] + HANDSHAKE
        if writer != reader:
            crossings.append((writer, reader, bits[stream] + HANDSHAKE))
    for border, wires in borders.items():
        require(wires <= sll, f"border {border}: {wires} wires of {sll}")
    told = {(l["from"], l["to"]): l["wires"] for l in report["die_links"]}
    require({k: v for k, v in told.items() if v} == dict(borders), f"links {told}, not {borders}")
    told = sorted((c["from"], c["to"], c["wires"]) for c in report["crossings"])
    require(told == sorted(crossings), "crossings are not as told")
    return len(crossings)


def run(tools, *args):
    return subprocess.run([str(tools / "ming"), "compile", *map(str, args)], capture_output=True,
                          text=True, timeout=600)


def load(folder):
    report = json.loads((folder / "report.json").read_text())
    text = (folder / f"{report['top']}.mir").read_text()
    return report, text


def check_folding(tools, model, device, folder, flags):
    again = folder.with_name("again")
    done = run(tools, model, "-o", again, f"--device={device}", f"--folding={folder}/folding.json",
               *flags)
    require(done.returncode == 0, "its folding file is refused: " + done.stderr[:300])
    for name in ("folding.json", "report.json"):
        one, two = ((d / name).read_text() for d in (folder, again))
        if name == "report.json":       # what is given leaves nothing to search below the value
            one, two = (re.sub(r'"(value|bound)": \d+', "", t) for t in (one, two))
        require(one == two, f"{name} differs behind its folding file")


def check_pooled(tools, model, device, folder):
    done = run(tools, model, "-o", folder, f"--device={device}", "--pooled")
    if done.returncode == 0:
        report, text = load(folder)
        require("dies" not in report and "sys." not in text, "one pool has dies")
        return report["totals"]["interval_cycles"]
    return None


def all_bytes(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def write_pool(folder, dies):
    """A device of so many equal dies; what they have in all does not depend on that."""
    folder.mkdir(exist_ok=True)
    pool = dict(lut=240000, ff=480000, bram18=400, uram=80, dsp=1200)
    lines = [DIE.format(i=i, **{k: v // dies for k, v in pool.items()}) for i in range(dies)]
    (folder / "pool.xml").write_text(DEVICE.format(name="pool", dies="\n".join(lines), sll=5000))
    return folder / "pool.xml"


def check_one_die(tools, network, device, flags, work):
    """Gives whether there is a design. device: None: a die as large as the pool of two."""
    one = device or write_pool(work / "xml1", 1)
    other = device or write_pool(work / "xml2", 2)
    for name in ("one", "pooled"):
        subprocess.run(["rm", "-rf", str(work / name)], check=True)
    done = run(tools, ROOT / network, "-o", work / "one", f"--device={one}", *flags)
    pooled = run(tools, ROOT / network, "-o", work / "pooled", f"--device={other}", "--pooled", *flags)
    require(done.returncode == pooled.returncode, f"{device} {flags}: {(done.stderr + pooled.stderr)[:300]}")
    if done.returncode != 0:
        return False
    designs = all_bytes(work / "one"), all_bytes(work / "pooled")
    require(designs[0].keys() == designs[1].keys(), f"{device} {flags}: other files")
    for name, text in designs[0].items():
        require(text == designs[1][name], f"{device} {flags}: {name} is another one with --pooled")
    report, text = load(work / "one")
    require("dies" not in report and "sys." not in text and
            b'"place"' not in designs[0]["folding.json"], f"{device} {flags}: one die has dies")
    return True


def check_case(tools, rng, number, work, tally):
    name, pool = NETWORKS[number % len(NETWORKS)]
    model, device = ROOT / name, work / f"device{number}.xml"
    write_device(device, rng, pool)
    flags = rng.choice(([], [], ["--interface=m_axi"], ["--weights=load"]))
    folder = work / "out"
    for old in work.glob("*/"):
        if old.is_dir():
            subprocess.run(["rm", "-rf", str(old)], check=True)
    done = run(tools, model, "-o", folder, f"--device={device}", *flags)
    if done.returncode != 0:
        require(done.returncode == 1 and re.search("has no places|does not fit", done.stderr),
                "no reason: " + done.stderr[:300])
        require(not folder.exists(), "a refusal has written something")
        tally["refused"] += 1
        return
    report, text = load(folder)
    measures = read_device(device)
    check_sums(report, measures)
    crossings = check_wires(report, text, measures)
    tally["several"] += crossings > 0
    if number % 2 == 0:
        check_folding(tools, model, device, folder, flags)
    else:
        pooled = check_pooled(tools, model, device, work / "pooled") if not flags else None
        if pooled and report["simulated"]:
            require(report["value"] >= report["bound"], "the value is below the bound")
    tally["placed"] += 1


def check_project(folder, device):
    """A project that is there, of a device as it is."""
    report, text = load(folder)
    check_sums(report, read_device(device))
    print(f"{folder}: {check_wires(report, text, read_device(device))} streams between dies, all limits kept")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "build/tools")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=9)
    parser.add_argument("--keep", type=pathlib.Path, help="keep the files here")
    parser.add_argument("--project", type=pathlib.Path, nargs=2, metavar=("DIR", "XML"),
                        help="check a compiled project on a device, and nothing else")
    parser.add_argument("--one-die", action="store_true", help="check more designs for one die, and nothing else")
    args = parser.parse_args()
    if args.project:
        return check_project(*args.project)
    tools, tally, failed = args.tools.resolve(), collections.Counter(), 0
    with tempfile.TemporaryDirectory() as temporary:
        work = args.keep or pathlib.Path(temporary)
        work.mkdir(exist_ok=True)
        one_die = ALL_ONE_DIE if args.one_die else ONE_DIE
        for network, device, flags in one_die:
            try:
                tally["one"] += check_one_die(tools, network, device, flags, work)
            except (Failed, subprocess.SubprocessError) as why:
                failed += 1
                print(f"FAIL {network}: {why}")
        for number in range(0 if args.one_die else args.count):
            rng = random.Random(args.seed * 1000 + number)
            try:
                check_case(tools, rng, number, work, tally)
            except (Failed, subprocess.SubprocessError) as why:
                failed += 1
                print(f"FAIL case {number} of seed {args.seed}: {why}")
                if args.keep:
                    break
    if tally["one"] < len(ONE_DIE):
        failed += 1
        print("FAIL: too few designs for one die")
    if tally["several"] == 0 and not args.one_die:
        failed += 1
        print("FAIL: no design was placed on several dies")
    print(f"{tally['one']} for one die, {tally['placed']} placed, {tally['several']} on several dies, "
          f"{tally['refused']} refused")
    cases = len(one_die) + (0 if args.one_die else args.count)
    print(f"{cases + 1 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
