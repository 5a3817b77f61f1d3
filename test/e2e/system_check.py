#!/usr/bin/env python3
"""Designs on several cards: compiles networks with --cards and --system in all modes, and checks

  - the frames that come out of ming sim (of the whole design and of its kernels) and of the C++ of the
    kernels against those of another program (output.npy beside the model);
  - that splitting into kernels changes no cycle, and that system.json says what was simulated;
  - system.json, kernels/*.mir and cardN/link.cfg against each other and against the C++ of the kernels,
    with readers of this file's own: every process in one kernel, every kernel and stream linked once on
    the card where it is, both ends of a stream with the same type, no die over its limits without a
    warning, data from card to card as the mode has it;
  - that a receiver of a link without back-pressure is never filled to its last packet.

--all takes more networks and more cards (minutes). Ends in `N passed, N failed`."""
import argparse
import ast
import collections
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from board_tools import Failure, expect, must_run, run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODELS = ROOT / "../shared/models"
SYSTEM = """<system name="pair"><card name="left" device="u280"/><card name="right" device="u280"/>
<link from="left.eth0" to="right.eth1" gbps="10" latency-ns="1376" protocol="credit"/></system>
"""
OVER = 1.05  # of a limit: FIFOs are fitted when dies are chosen
FORMATS = {"f4": "f", "f8": "d", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "i8": "q"}

# Network, options, whether a short run has it.
CASES = [
    ("small_cnn", ["--system=SYSTEM", "--mode=tmp", "--dsp=40"], True),
    ("two_layers", ["--cards=3", "--mode=tmp", "--dsp=200"], True),
    ("small_cnn", ["--cards=2", "--mode=dp", "--instances=2", "--dsp=60", "--interface=m_axi",
                   "--weights=load:128"], True),
    ("two_layers", ["--cards=3", "--mode=tmp", "--dsp=200", "--weights=load:16"], False),
    ("two_layers", ["--cards=2", "--weights=load:512"], False),
    ("two_layers", ["--cards=3", "--mode=swmp", "--weights=load"], False),
    ("small_cnn", ["--cards=2", "--mode=dp", "--weights=load"], False),
    ("small_cnn", ["--cards=2", "--mode=swmp", "--interface=m_axi", "--weights=load"], False),
    ("small_cnn", ["--cards=2", "--mode=swmp", "--interface=m_axi", "--dsp=40"], False),
    ("small_cnn", ["--system=SYSTEM", "--dsp=40"], False),
] + [(name, options, False)
     for name in ("two_layers", "small_cnn", "resnet8_a8w8b16")
     for options in (["--cards=1"], ["--cards=2"], ["--cards=3"],
                     ["--cards=2", "--mode=tmp"], ["--cards=3", "--mode=tmp"],
                     ["--cards=2", "--mode=swmp"], ["--cards=3", "--mode=swmp"],
                     ["--cards=2", "--interface=m_axi"], ["--cards=3", "--control=none"],
                     ["--cards=1", "--mode=dp", "--instances=3"], ["--cards=3", "--mode=dp"],
                     ["--system=SYSTEM"], ["--system=SYSTEM", "--mode=tmp"])]


def read_npy(path):
    """The numbers of a file, whatever its shape."""
    data = path.read_bytes()
    expect(data[:6] == b"\x93NUMPY", path, "is no .npy file")
    size, = struct.unpack("<H", data[8:10])
    header = ast.literal_eval(data[10:10 + size].decode())
    expect(header["descr"][0] in "<|" and not header["fortran_order"], path, header)
    code = FORMATS[header["descr"][1:]]
    return struct.unpack(f"<{(len(data) - 10 - size) // struct.calcsize(code)}{code}",
                         data[10 + size:])


def folder_of(name):
    return ROOT / "examples" / name if name == "small_cnn" else MODELS / name


def expect_frames(what, output, wanted):
    got = read_npy(output)
    expect(len(got) == len(wanted), what, "gives", len(got), "numbers in place of", len(wanted))
    wrong = sum(a != b for a, b in zip(got, wanted, strict=True))
    expect(wrong == 0, what, "is wrong in", wrong, "numbers")


Kernel = collections.namedtuple("Kernel", "name operands card die types")


def read_system(path):
    """Kernels and streams of a sys.system, from its text."""
    text = path.read_text(encoding="utf-8")
    text = text[text.index("sys.system "):]
    kernels = [Kernel(m[1], re.findall(r"%([\w.$-]+)", m[2]), int(m[3]), int(m[4]),
                      re.findall(r"!emithls\.(?:stream|array)<(?:[^<>]|<[^<>]*>)*>", m[5]))
               for m in re.finditer(r'sys\.kernel "[^"]*" @([\w.$-]+)\(([^)]*)\) at '
                                    r'<card = (\d+), die = (\d+)> :(.*)', text)]
    streams = re.findall(r"%([\w.$-]+) = (emithls\.stream|sys\.link) ", text)
    arguments = re.findall(r"%([\w.$-]+): ", text[:text.index("{")])
    expect(kernels and len(kernels) == text.count("sys.kernel "), "not all kernels were read")
    return kernels, dict(streams), arguments


def ports_of(project, kernel):
    """{argument: C++ type} of the prototype of a kernel, and whether it is a stream."""
    text = (project / "kernels" / f"{kernel}.h").read_text(encoding="utf-8")
    prototype = re.search(rf"void {kernel}\(([^;]*)\);", text)
    expect(prototype, kernel, "has no prototype")
    aliases = dict(re.findall(r"using (\w+) = (.*);", text))
    found = {}
    for part in re.split(r",\s*(?![^<>]*>)", prototype[1]):
        m = re.fullmatch(r"\s*(?:const )?(.*?)\s*([&*]?)(\w+)", part)
        stream = re.fullmatch(r"hls::stream<(.*)>", m[1])
        word = stream[1] if stream else m[1]
        found[m[3]] = (aliases.get(word, word), stream is not None)
    return found


def check_dies(system, messages):
    """Limits are kept, or each that is not is warned of, with what is taken and what may be."""
    warned = {(card or None, die, kind.lower(), int(amount), int(limit)) for amount, kind, die, card, limit in
              re.findall(r"warning: takes (\d+) (\w+) on die (\S+) of (?:card (\S+)|each card), "
                         r"of which at most (\d+) are recommended", messages)}
    over = {(None if system["mode"] == "dp" else card["name"], die["name"], kind, amount, die["limit"][kind])
            for card in system["cards"] for die in card["dies"] for kind, amount in die["use"].items()
            if amount > die["limit"][kind]}
    expect(over == warned, "dies have too little:", over, "but warnings say", warned)
    expect(all(amount <= OVER * limit for *_, amount, limit in over), "far too little", over)


def check_way(system, kernels, arguments):
    """Where data enters and leaves, and over which links it goes."""
    card = {k.name: k.card for k in kernels}
    last = len(system["cards"]) - 1
    first_card = next(k.card for k in kernels if arguments[0] in k.operands)
    end_card = next(k.card for k in kernels if arguments[-1] in k.operands)
    expect(first_card == 0, "frames enter on card", first_card)
    is_one_way = system["mode"] in ("hwmp", "swmp")
    expect(end_card == (last if is_one_way else 0), "frames leave on card", end_card)
    expect(not system["links" if system["mode"] == "swmp" else "copies"], "links and copies")
    for link in system["links"] + system["copies"]:
        step = card[link["to"].split(".")[0]] - card[link["from"].split(".")[0]]
        expect(step == 1 or (step == -1 and system["mode"] == "tmp"), link["name"], "goes", step)
    if last > 0 and system["mode"] != "dp":
        expect({k.card for k in kernels} == set(range(last + 1)), "cards stay empty")


def check_kernels(project, system, report):
    """Every process is in one kernel; kernels and their places are those of the IR."""
    kernels, streams, arguments = read_system(project / "kernels" / f"{report['top']}.mir")
    processes = collections.Counter(p for k in system["kernels"] for p in k["processes"])
    calls = re.findall(r"emithls\.call @([\w.$-]+)\(",
                       (project / f"{report['top']}.mir").read_text(encoding="utf-8"))
    expect(processes == collections.Counter(calls), "kernels have other processes than the design")
    expect([k["name"] for k in system["kernels"]] == [k.name for k in kernels], "other kernels")
    for said, kernel in zip(system["kernels"], kernels, strict=True):
        expect(said["die"] == kernel.die, kernel.name, "is on another die")
        expect(said.get("card", kernel.card) == kernel.card, kernel.name, "is on another card")
    named = {"emithls.stream": "streams", "sys.link": "links"}
    for name, op in streams.items():
        users = [k for k in kernels if name in k.operands]
        expect(len(users) == 2, name, "joins", len(users))
        expect((users[0].card == users[1].card) == (op == "emithls.stream"), name, "is", op)
    for op, key in named.items():
        count = len(system[key]) + (len(system["copies"]) if key == "links" else 0)
        expect(sum(o == op for o in streams.values()) == count, "other", key)
    return kernels, arguments


def check_ends(project, system):
    ports = {k["name"]: ports_of(project, k["name"]) for k in system["kernels"]}
    used = collections.Counter()
    for stream in system["streams"] + system["links"] + system["copies"]:
        types = []
        for end in (stream["from"], stream["to"]):
            kernel, port = end.split(".")
            is_stream = stream not in system["copies"]
            expect(ports[kernel][port][1] == is_stream, end, "is", ports[kernel][port])
            types.append(ports[kernel][port][0])
            used[end] += 1
        expect(types[0] == types[1], stream["name"], "joins", types)
    expect(all(count == 1 for count in used.values()), "an argument is joined twice")
    return ports


def read_link(path):
    """{key: values} of [connectivity]; comments begin lines."""
    section, found = None, collections.defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            section = line
            continue
        expect(re.fullmatch(r"[a-z_]+=[\w.:=\[\]]+", line), path, "has", repr(line))
        if section == "[connectivity]":
            key, value = line.split("=", 1)
            found[key].append(value.split(":", 1) if key == "sp" else value.split(":"))
    expect(set(found) <= {"nk", "slr", "sp", "stream_connect"}, path, "has", set(found))
    return found


def network_of(number, system):
    """The UDP core and the MAC of each port of a card, as adapters are."""
    card = {k["name"]: (k.get("card"), k["die"]) for k in system["kernels"]}
    found = {}
    for link in system["links"]:
        for end, port in (("from", link["from_port"]), ("to", link["to_port"])):
            place = card[link[end].split(".")[0]]
            if place[0] == number:
                found[f"networklayer_{port}"] = {"name": "networklayer", "die": place[1]}
                found[f"cmac_{port}"] = {"name": f"cmac_{port}", "die": place[1]}
    return found


def bank_of(device, die):
    """The banks of a die by the device's description: HBM, where the device has any."""
    root = xml.etree.ElementTree.parse(ROOT / f"target/devices/{device}.xml").getroot()
    banks = root.findall("bank")
    kind = "HBM" if any(bank.get("name") == "HBM" for bank in banks) else "DDR"
    found, = [bank for bank in banks if bank.get("name") == kind and bank.get("die") == die["name"]]
    first, count = int(found.get("first")), int(found.get("count"))
    return f"{kind}[{first}]" if count == 1 else f"{kind}[{first}:{first + count - 1}]"


def check_banks(project, card, kernels, found, instances):
    """Each memory of a kernel is in a bank that its die has."""
    wanted = []
    for kernel in kernels:
        source = (project / "kernels" / f"{kernel['name']}.cpp").read_text(encoding="utf-8")
        for bundle in sorted(set(re.findall(r"mode ?= ?m_axi .*?bundle ?= ?(\w+)", source))):
            bank = bank_of(card["device"], card["dies"][kernel["die"]])
            wanted += [[f"{kernel['name']}_{n}.m_axi_{bundle}", bank] for n in range(instances)]
    expect(sorted(found) == sorted(wanted), card["name"], "has banks", found, "and not", wanted)


def loaders_of(project, system, number):
    """Rows of weights that a card needs; each kernel with a port of weights has one, whose file has as
    many words as the row says, those of more than 64 bits as several integers."""
    rows = [w for w in system["weights"] if w.get("card", number) == number]
    ports = {k["name"]: [p for p in ports_of(project, k["name"]) if p.startswith("weights")]
             for k in system["kernels"] if k.get("card", number) == number}
    expect(sorted(w["kernel"] for w in rows) == sorted(k for k, found in ports.items() if found),
           "card", number, "has other loaders than kernels with weights")
    for row in rows:
        expect(len(ports[row["kernel"]]) == 1, row["kernel"], "has ports", ports[row["kernel"]])
        integers = row["words"] * max(1, row["width"] // 64)
        expect(len(read_npy(project / row["file"])) == integers, row["file"], "is of another size")
        bank = bank_of(system["cards"][number]["device"],
                       system["cards"][number]["dies"][row["die"]])
        expect(row.get("bank") == bank, row["name"], "is in", row.get("bank"), "and not", bank)
    return [(w, ports[w["kernel"]][0]) for w in rows]


def adapter_streams(project, name):
    """{argument: type of its words} of an adapter."""
    text = (project / "kernels" / f"{name}.cpp").read_text(encoding="utf-8")
    arguments = re.search(rf"void {name}\(([^;{{]*)\)\n\{{", text)[1]
    return {m[2]: m[1] for m in re.finditer(r"hls::stream<([^&]*)> &(\w+)", arguments)}


def check_adapters(project, system, joined):
    """Every stream of every adapter is joined once, with its like, and from a link's writer the way leads
    over adapters and UDP cores to its reader."""
    types = {f"{a['name']}_0": adapter_streams(project, a["name"]) for a in system["adapters"]}
    for kernel in system["kernels"]:
        types[f"{kernel['name']}_0"] = {port: word for port, (word, _) in
                                        ports_of(project, kernel["name"]).items()}
    used = collections.Counter()
    for rows in joined.values():
        for first, second, *_ in rows:
            ends = [end.split(".") for end in (first, second)]
            used.update(end for end in (first, second) if end.split(".")[0] in types)
            words = {types[unit][port] for unit, port in ends if unit in types}
            expect(len(words) <= 1, first, "and", second, "have words", words)
            if any("networklayer" in unit and "sk" in port for unit, port in ends):
                expect(words == {"ming::adapter::Beat"}, first, "and", second, "have words", words)
    wanted = [f"{a['name']}_0.{port}" for a in system["adapters"]
              for port in types[f"{a['name']}_0"]]
    ends = [f"{k}_0.{port}" for link in system["links"]
            for k, port in (link["from"].split("."), link["to"].split("."))]
    expect(used == collections.Counter(wanted + ends), "streams are joined otherwise")
    for number, link in enumerate(system["links"]):
        check_link_way(system, joined, number, link)


def check_link_way(system, joined, number, link):
    card = {f"{k['name']}_0": k.get("card") for k in system["kernels"] + system["adapters"]}
    (k, p), (l, q) = link["from"].split("."), link["to"].split(".")
    here, there = card[f"{k}_0"], card[f"{l}_0"]
    ways = {n: collections.defaultdict(list) for n in joined}
    for n, rows in joined.items():
        for first, second, *_ in rows:
            ways[n][first].append(second)
    of = {f"{a['name']}_0": a.get("link") for a in system["adapters"]}
    sender = ways[here][f"{k}_0.{p}"][0].split(".")[0]
    expect(of[sender] == number, link["name"], "has the sender", sender)
    last = ways[here][f"{sender}.packets"][0]
    if "merge" in last:
        last = ways[here][last.split(".")[0] + ".packets"][0]
    expect(last == f"networklayer_{link['from_port']}.S_AXIS_sk2nl", link["name"], "leaves by", last)
    first, = ways[there][f"networklayer_{link['to_port']}.M_AXIS_nl2sk"]
    if "split" in first:
        unit = first.split(".")[0]
        found = [ways[there][f"{unit}.branch{n}"] for n in range(16)]
        first = next(row[0] for row in found if row and of[row[0].split(".")[0]] == number and
                     row[0].endswith(".packets"))
    receiver = first.split(".")[0]
    expect(of[receiver] == number, link["name"], "has the receiver", receiver)
    last = ways[there][f"{receiver}.words"][0]
    if link["protocol"] == "credit":
        last = ways[there][last.split(".")[0] + ".given"][0]
    expect(last == f"{l}_0.{q}", link["name"], "ends at", last)


def check_links(project, system):
    joined = {}
    for number, card in enumerate(system["cards"]):
        link = read_link(project / f"card{number}" / "link.cfg")
        here = [k for k in system["kernels"] if k.get("card", number) == number]
        here += [a for a in system["adapters"] if a["card"] == number]
        loaders = loaders_of(project, system, number)
        here += [row for row, _ in loaders]
        units = {f"{k['name']}_{n}": k for k in here for n in range(system["instances"])}
        for unit, core in network_of(number, system).items():
            units[unit] = core
        expect(sorted(link["nk"]) == sorted([k["name"], "1", unit] for unit, k in units.items()),
               "card", number, "has other units")
        expect(sorted(link["slr"]) == sorted([unit, card["dies"][k["die"]]["name"]]
                                             for unit, k in units.items()), "other dies")
        check_banks(project, card, here, link["sp"], system["instances"])
        wanted = []
        for stream in system["streams"]:
            (k, p), (l, q) = stream["from"].split("."), stream["to"].split(".")
            if any(k == kernel["name"] for kernel in here):
                wanted += [[f"{k}_{n}.{p}", f"{l}_{n}.{q}", str(stream["depth"])]
                           for n in range(system["instances"])]
        wanted += [[f"{w['name']}_{n}.weights", f"{w['kernel']}_{n}.{port}"]
                   for w, port in loaders for n in range(system["instances"])]
        for row in wanted:
            expect(link["stream_connect"].count(row) == 1, "card", number, "does not join", row)
        joined[number] = [row for row in link["stream_connect"] if row not in wanted]
    check_adapters(project, system, joined)


def check_simulated(tools, project, system, report, work):
    """Cycles of the kernels are those of the whole, and those that system.json has."""
    results = []
    for design in (project, project / "kernels" / f"{report['top']}.mir"):
        out = work / "sim.json"
        must_run(tools / "ming", "sim", design, f"--json={out}", "--timing-only")
        results.append(json.loads(out.read_text(encoding="utf-8")))
        for key in ("processes", "fifos"):      # kernel by kernel they stand in another order
            results[-1][key].sort(key=lambda item: item["name"])
    expect(results[0] == results[1], "kernels take other cycles than the whole design")
    fifos = {f["name"]: f for f in results[0]["fifos"]}
    for link in system["links"]:
        fifo = fifos[link["name"]]
        expect(fifo["depth"] == link["depth"], link["name"], "has another depth")
        if link["protocol"] == "udp":
            expect(fifo["max"] + link["packet"] <= fifo["depth"], link["name"], "may overflow")
    return results[0]


def check_case(args, work, name, options):
    folder = folder_of(name)
    project = work / "project"
    wanted = read_npy(folder / "output.npy")
    system_file = work / "pair.xml"
    system_file.write_text(SYSTEM, encoding="utf-8")
    options = [o.replace("SYSTEM", str(system_file)) for o in options]
    if not any(o.startswith(("--device", "--system")) for o in options):
        options.append("--device=u280")
    compiled = must_run(args.tools / "ming", "compile", folder / "model.onnx", "-o", project, *options)
    system = json.loads((project / "system.json").read_text(encoding="utf-8"))
    report = json.loads((project / "report.json").read_text(encoding="utf-8"))
    check_dies(system, compiled.stderr)
    kernels, arguments = check_kernels(project, system, report)
    arguments = [a for a in arguments if not a.startswith("weights")]
    expect(bool(system["weights"]) == any(o.startswith("--weights") for o in options), "weights")
    check_way(system, kernels, arguments)
    check_ends(project, system)
    check_links(project, system)
    simulated = check_simulated(args.tools, project, system, report, work)
    if "--interface=m_axi" not in options:
        expect(simulated["interval_cycles"] == system["interval_cycles"], "the interval is",
               simulated["interval_cycles"], "and not", system["interval_cycles"])
        # What rewinds gives the end of a frame with the next one, unless there is none.
        expect(simulated["latency_cycles"] == system["latency_cycles"] or
               "--control=none" in options, "the latency is", simulated["latency_cycles"])
    for design in (project, project / "kernels" / f"{report['top']}.mir"):
        must_run(args.tools / "ming", "sim", design, f"--input={folder / 'input.npy'}",
                 f"--output={work / 'out.npy'}")
        expect_frames("ming sim", work / "out.npy", wanted)
    must_run("make", "-s", "-C", project, "system-csim", f"INPUT={folder / 'input.npy'}",
             f"OUTPUT={work / 'csim.npy'}", "CXXFLAGS=-std=c++17 -O0 -Wall -Wextra -Werror "
             "-Wno-unknown-pragmas")
    expect_frames("the C++ of the kernels", work / "csim.npy", wanted)


def check_targets(args, work):
    """xo and link say what lacks; with tools of the name they call them with what exists."""
    project = work / "project"
    folder = folder_of("small_cnn")
    must_run(args.tools / "ming", "compile", folder / "model.onnx", "-o", project, "--cards=2",
             "--dsp=40", "--device=u280")
    for target in ("xo", "link"):
        result = run("make", "-s", "-C", project, target, "VPP=no-such-tool")
        expect(result.returncode != 0 and "no-such-tool is not installed" in result.stderr,
               target, "says", result.stderr)
    tool = work / "v++"
    log = work / "calls"
    tool.write_text('#!/bin/sh\necho "$PWD $*" >>"$LOG"\n'
                    'case "$*" in *--link*) for a; do o=$a; done; : >"$o";;\n'
                    '*) c=$(echo "$*" | sed "s/.*--config \\([^ ]*\\).*/\\1/")\n'
                    'o=$(sed -n "s/^package.output.file=//p" "$c"); : >"$o";; esac\n',
                    encoding="utf-8")
    tool.chmod(0o755)
    env = dict(os.environ, LOG=str(log))
    result = run("make", "-s", "-C", project, "link", f"VPP={tool}", env=env)
    expect(result.returncode != 0 and "give PLATFORM" in result.stderr, "no platform:",
           result.stderr)
    result = run("make", "-s", "-C", project, "link", f"VPP={tool}", "PLATFORM=p", env=env)
    expect(result.returncode != 0 and "give NETWORK" in result.stderr, "no network:",
           result.stderr)
    network = work / "networklayer.xo"
    network.write_text("", encoding="utf-8")
    must_run("make", "-s", "-C", project, "link", f"VPP={tool}", "PLATFORM=p",
             f"NETWORK={network}", env=env)
    calls = log.read_text(encoding="utf-8")
    system = json.loads((project / "system.json").read_text(encoding="utf-8"))
    for kernel in system["kernels"] + system["adapters"]:
        link = next(line for line in calls.splitlines()
                    if f"--config card{kernel['card']}/link.cfg" in line)
        expect(f" kernels/{kernel['name']}.xo" in link, kernel["name"], "is not linked")
        expect(f" {network}" in link, "the UDP core is not linked")
        for line in (project / "kernels" / f"{kernel['name']}.cfg").read_text().splitlines():
            if line.startswith("syn.file="):
                expect((project / "kernels" / line[9:]).exists(), line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--all", action="store_true")
    args = parser.parse_args()
    args.tools = args.tools.resolve()
    passed = failed = 0
    cases = [(f"{name} {' '.join(options)}",
              lambda work, n=name, o=options: check_case(args, work, n, list(o)))
             for name, options, is_short in CASES if args.all or is_short]
    cases.append(("targets", lambda work: check_targets(args, work)))
    for title, check in cases:
        with tempfile.TemporaryDirectory() as work:
            try:
                check(pathlib.Path(work))
                passed += 1
            except (Failure, KeyError, ValueError, StopIteration, OSError,
                    subprocess.SubprocessError) as failure:
                failed += 1
                print(f"FAILED {title}: {type(failure).__name__} {failure}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
