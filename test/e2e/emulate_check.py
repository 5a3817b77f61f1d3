#!/usr/bin/env python3
"""Checks `make emulate`: a process for each card, with links between them.

    emulate_check.py --tools=DIR [--seed=N] [--count=N] [--first=N] [--networks=N] [--losses=N]

- Networks on two and three cards: exact frames, cycles as `ming sim` has them; losses under
  `credit` are made good and counted, the same ones for the same seed; under `udp` they end in an
  error that names link and packet, with no output, as does a receiver that is too small; processes of
  cards end with their host, which is killed at random moments, too, and the host with an error when one
  of them is killed; a deadlock is told; what the host copies (swmp) comes as it lies in memory. The
  host is the testbench, or board/system.cpp on XRT's classes in front of the processes
  (--platform=xrt), with several batches in flight and replicas; it fills the tables of UDP cores.
- Random graphs (gen_sizing.py), whose processes are given to up to three cards at random, with links
  of 1 to 2,000 cycles: `ming sim` and `make emulate` agree in values, deadlocks, latency and interval,
  with the sized and with random depths; the interval is that of unbounded FIFOs, and no FIFO can be
  one shallower (but those of links, which hold a packet at least and without back-pressure all that
  comes, and all where processes rewind). A cut is refused where a word has no room in a packet, which
  the test reckons itself; any other refusal of a cut is a failure.

--all runs everything under ASan and UBSan, too. Ends in `N passed, N failed`.
"""
import argparse
import concurrent.futures
import ipaddress
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

import gen_linalg
import gen_sizing
import sizing_check
from design_cases import REFUSED, Refusal, chain_of_cards, compile_exactly, judge
from emulated_losses import LINKS, check_counted, check_seeds
from run_check import Failure, command

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODELS = ROOT / "../shared/models"
FLAGS = "-std=c++17 -O0 -Wall -Wextra -Werror -Wno-unknown-pragmas"
SANITIZE = "-std=c++17 -O0 -fsanitize=address,undefined -fno-sanitize-recover=undefined"
SYSTEM = """<system name="pair"><card name="left" device="u280"/><card name="right" device="u280"/>
<link from="left.eth0" to="right.eth1" gbps="10" latency-ns="1376" protocol="credit"/></system>
"""
XRT_HEADER = pathlib.Path("/usr/include/xrt/xrt/xrt_kernel.h")
MAX_CYCLES = 2000                       # of a link
MAX_REFUSED = 0.2                       # of the graphs
BEAT_BYTES = 64                         # of which a packet's payload is made
NO_PACKET = re.compile(r"\.mir:(\d+):\d+: error: 'emithls.stream' op has words of (\d+) bytes, but "
                       r"packets of the link carry (\d+)")
STREAM_WORD = re.compile(r'%([\w.$-]+) = emithls\.stream .*!emithls\.stream<(?:vector<(\w+)x)?'
                         r'[a-z]+(\d+)>+$')
FUNCTION = re.compile(r"(emithls\.func @([\w.$-]+)\([^\n]*? attributes \{)(?!top)")
AT_LINKS = re.compile(r'emithls\.stream "(\w+)" depth\((\d+)\)[^\n]*sys\.link = '
                      r'\{pace = \d+ : i64, packet = (\d+) : i64, ports = array<i64: \d, \d>, '
                      r'protocol = "(\w+)"')
TIMES = re.compile(r"^emulate: (?:latency|interval).*: (\d+) cycles$", re.M)


def expect(condition, *what):
    if not condition:
        raise Failure(" ".join(str(part) for part in what)[:400])


def emulate(project, inputs, outputs, flags=FLAGS, depths="", registers="", timeout=600,
            **variables):
    for path in outputs:
        path.unlink(missing_ok=True)
    return subprocess.run(
        ["make", "-s", "-C", project, "emulate", f"CXXFLAGS={flags}",
         *(f"INPUT{i + 1 if i else ''}={path}" for i, path in enumerate(inputs)),
         *(f"OUTPUT{i + 1 if i else ''}={path}" for i, path in enumerate(outputs)),
         *(f"{name}={value}" for name, value in variables.items())],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=timeout,
        env={**os.environ, "MING_DEPTHS": depths, "MING_REGISTERS": str(registers)})


# Networks.

class Network:
    """A compiled network, with its frames."""

    def __init__(self, args, name, work, *options):
        folder = ROOT / "examples" / name
        folder = folder if folder.exists() else MODELS / name
        self.tools, self.work, self.project = args.tools, work, work / "project"
        self.inputs, self.outputs = [folder / "input.npy"], [work / "out.npy"]
        self.wanted = np.load(folder / "output.npy")
        command(args.tools / "ming", "compile", folder / "model.onnx", "-o", self.project, *options)

    def run(self, **variables):
        return emulate(self.project, self.inputs, self.outputs, **variables)

    def check_exact(self, result):
        expect(result.returncode == 0, "emulate:", result.stderr[-300:])
        got = np.load(self.outputs[0])
        expect(np.array_equal(got.reshape(-1), self.wanted.reshape(-1)), "the frames differ")

    def check_fails(self, result, *texts):
        expect(result.returncode != 0, "no error with", texts)
        for text in texts:
            expect(re.search(text, result.stderr), "no", text, "in", result.stderr[-300:])
        expect(not self.outputs[0].exists(), "an output in spite of", texts)

    def simulated(self):
        table = self.work / "sim.json"
        command(self.tools / "ming", "sim", self.project, "--timing-only", f"--json={table}",
                 f"--frames={len(np.load(self.inputs[0]))}")
        found = json.loads(table.read_text(encoding="utf-8"))
        return [found["latency_cycles"], found["last_interval_cycles"]]

    def check_times(self, result):
        got = [int(cycles) for cycles in TIMES.findall(result.stdout)]
        expect(got == self.simulated(), "emulate takes", got, "ming sim", self.simulated())


def children(pid):
    path = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    try:
        return [int(child) for child in path.read_text(encoding="utf-8").split()]
    except OSError:
        return []


def is_alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return state.rsplit(")", 1)[1].split()[0] not in "ZX"


def wait_until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < end, what)
        time.sleep(0.002)


def start_stopped(network):
    """A run of many frames that stands still in its midst, and the processes of its cards."""
    frames = network.work / "frames.npy"
    np.save(frames, np.concatenate([np.load(network.inputs[0])] * 64))
    program, = network.project.glob("*_emulate")
    host = subprocess.Popen([program, frames, network.outputs[0]], stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)
    wait_until(lambda: len(children(host.pid)) == 3, 30, "there are no three processes")
    host.send_signal(signal.SIGSTOP)
    return host, children(host.pid)


def check_ends(network):
    network.outputs[0].unlink(missing_ok=True)
    host, cards = start_stopped(network)
    host.kill()
    host.communicate()
    wait_until(lambda: not any(is_alive(card) for card in cards), 20, "cards outlive their host")
    host, cards = start_stopped(network)
    os.kill(cards[1], signal.SIGKILL)
    host.send_signal(signal.SIGCONT)
    errors = host.communicate(timeout=60)[1]
    expect(host.returncode == 1 and re.search(r"process of card c\d ended by signal 9", errors),
           "a card was killed, but", errors[-200:])
    wait_until(lambda: not any(is_alive(card) for card in cards), 20, "cards outlive their host")
    expect(not network.outputs[0].exists(), "an output though a card was killed")


def running(program):
    """Processes of a program, whoever started them."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            found += [int(folder.name)] if os.path.samefile(folder / "exe", program) else []
        except OSError:
            pass                        # it has ended, or is another user's
    return [pid for pid in found if is_alive(pid)]


def check_killed(network, times):
    """Hosts that are killed at random moments leave no process behind."""
    rng = random.Random(5)
    program, = network.project.glob("*_emulate")
    frames = network.work / "frames.npy"
    np.save(frames, np.concatenate([np.load(network.inputs[0])] * 64))
    seen = 0
    for _ in range(times):
        host = subprocess.Popen([program, frames, network.outputs[0]], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        time.sleep(0.3 * rng.random() ** 2)
        seen += len(running(program)) > 1
        host.kill()
        host.wait()
        wait_until(lambda: not running(program), 2, "processes outlive their host by 2 s")
    expect(seen > 0, "no host had processes when it was killed")


def check_udp(args, work, *options):
    system = work / "chain.xml"
    system.write_text(chain_of_cards(*2 * ['protocol="udp"']), encoding="utf-8")
    network = Network(args, "two_layers", work, f"--system={system}", "--mode=tmp", *options)
    result = network.run(flags=args.flags)
    network.check_exact(result)
    network.check_times(result)
    links = LINKS.findall(result.stdout)
    expect(len(links) == 4 and all(lost == "0" for _, _, lost in links), "other links:", links)
    lossy = network.run(flags=args.flags, LOSS=0.05, SEED=1)
    network.check_fails(lossy, r"link '\w+' from card \d to card \d: packet \d+ was lost")
    small = network.run(flags=args.flags, depths=f"{links[0][0]}=40")
    network.check_fails(small, rf"link '{links[0][0]}' .*: packet \d+ finds the receiver full, "
                        "which holds 40 words")
    for value in ("1", "-0.1", "x", "nan"):
        network.check_fails(network.run(flags=args.flags, LOSS=value), "MING_LOSS is")
    for value in ("-1", "1.5", "4294967296", "x"):
        network.check_fails(network.run(flags=args.flags, SEED=value),
                            f"MING_SEED is '{value}', but must be an integer of 32 bits")
    check_seeds(args, network, result.stdout, True)
    check_ends(network)
    check_killed(network, 5 + args.losses)


def check_credit(args, work, *options):
    system = work / "pair.xml"
    system.write_text(SYSTEM, encoding="utf-8")
    network = Network(args, "two_layers", work, f"--system={system}", *options)
    result = network.run(flags=args.flags)
    network.check_exact(result)
    network.check_times(result)
    counted = set()
    for seed in (1, 1, 2, 3):
        lossy = network.run(flags=args.flags, LOSS=0.4, SEED=seed)
        network.check_exact(lossy)
        check_counted(network, lossy.stdout, 0.4, seed)
        counted.add((seed, lossy.stdout.split("\n", 1)[1]))
        lost = [int(count) for _, _, count in LINKS.findall(lossy.stdout)]
        expect(sum(lost) > 0, "nothing is lost")
        later = [int(cycles) for cycles in TIMES.findall(lossy.stdout)][0]
        expect(later >= network.simulated()[0], "with losses, frames are earlier")
    expect(len(counted) == 3, "a seed does not say what is lost")
    check_seeds(args, network, result.stdout, False)


def check_bad_weights(args, work):
    """A host takes no other weights than the design's."""
    network = Network(args, "small_cnn", work, "--device=u280", "--cards=2", "--platform=xrt",
                      "--weights=load")
    network.check_exact(network.run(flags=args.flags))
    folder = network.project / "kernels"
    path = sorted(folder.glob("*_weights*.npy"))[0]
    np.save(path, np.load(path)[:-1])
    network.check_fails(network.run(flags=args.flags), f"{path.name}: these are not the weights")
    path.unlink()
    network.check_fails(network.run(flags=args.flags), path.name)
    network.check_fails(network.run(flags=args.flags, HOST_FLAGS="--weights=/none"), "/none/")


def check_replicas(args, work, *options):
    network = Network(args, "small_cnn", work, "--device=u280", "--cards=2", "--mode=dp",
                      "--instances=2", "--dsp=60", *options)
    result = network.run(flags=args.flags)
    network.check_exact(result)
    got = re.findall(r"^emulate: c\d \(\d\): latency of the first frame: (\d+) cycles$",
                     result.stdout, re.M)
    expect([int(cycles) for cycles in got] == 4 * network.simulated()[:1], "latencies:", got)


def check_auto(args, work):
    """What --mode=auto takes is exact: the least resources for so many frames a second are those of
    parts, the most frames a second those of whole designs."""
    for options, mode in ((["--dsp=8", "--fps=1000"], "swmp"), (["--dsp=8"], "dp")):
        network = Network(args, "small_cnn", work, "--device=u280", "--cards=2", "--mode=auto",
                          *options)
        system = json.loads((network.project / "system.json").read_text(encoding="utf-8"))
        expect(system["mode"] == mode, "took", system["mode"], "not", mode)
        result = network.run(flags=args.flags)
        network.check_exact(result)
        if mode != "dp":
            network.check_times(result)


def check_memory(args, work):
    network = Network(args, "small_cnn", work, "--device=u280", "--cards=3", "--interface=m_axi")
    result = network.run(flags=args.flags)
    network.check_exact(result)
    network.check_times(result)


def check_hosts_xrt(network):
    """The host with XRT's own classes, where they are installed: there is no card."""
    if not XRT_HEADER.is_file():
        print("SKIP system.cpp with XRT's headers: libxrt-dev is not installed", flush=True)
        return
    command("make", "-s", "-C", network.project, "host", f"XRT_HEADER={XRT_HEADER}",
            f"CXXFLAGS={FLAGS}")
    result = subprocess.run([network.project / "board/host", network.inputs[0], network.outputs[0]],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    network.check_fails(result, "^error: ")


def check_host(args, work):
    """system.cpp, the host on XRT, with several calls in flight and on kernels of three cards."""
    network = Network(args, "small_cnn", work, "--device=u280", "--cards=3", "--platform=xrt")
    for flags in ("", "--batch=1", "--batch=1 --slots=1", "--batch=2 --slots=2", "--devices=4,2,0"):
        result = network.run(flags=args.flags, HOST_FLAGS=flags)
        network.check_exact(result)
        network.check_times(result)
    for flags, words in (("--devices=0", "--devices names 1 cards, not 3"),
                         ("--slots=0", "--slots takes a number from 1 to 64"),
                         ("--what", "unknown option --what"),
                         ("more.npy", "3 files, not the 2 of inputs and outputs"),
                         ("--xclbin=card2/a,card1/a,card0/a", "card 2 has no kernel small_cnn_c0_"),
                         ("--xclbin=card0/a,card1/a,card3/a", "a card takes a number from 0 to 2"),
                         ("--xclbin=a,b,c", "a is in no folder of a card")):
        network.check_fails(network.run(flags=args.flags, HOST_FLAGS=flags), f"error: .*{words}")
    inputs, network.inputs = network.inputs, [work / "none.npy"]
    network.check_fails(network.run(flags=args.flags), "none.npy")
    check_hosts_xrt(network)
    network.inputs = inputs
    check_network(network)


def check_copies(args, work, *options):
    """The host copies between three cards: frames are those that lie in memory, calls of any length."""
    network = Network(args, "two_layers", work, "--device=u280", "--cards=3", "--mode=swmp", *options)
    for flags in ("", "--batch=1", "--batch=3 --slots=1")[:3 if options else 1]:
        result = network.run(flags=args.flags, HOST_FLAGS=flags)
        network.check_exact(result)
        network.check_times(result)
        copied = re.findall(r"^emulate: link '\w+': (\d+) frames copied$", result.stdout, re.M)
        expect(copied == [str(len(network.wanted))] * 2, "copies:", copied)
    network.check_exact(network.run(flags=args.flags, LOSS=0.9))    # of links
    if options:
        check_killed(network, 8)


def check_hosts_replicas(args, work, *options):
    """Accelerators on two cards take batches as they have time: every frame goes to one of them."""
    network = Network(args, "small_cnn", work, "--device=u280", "--cards=2", "--mode=dp",
                      "--instances=2", "--dsp=60", "--platform=xrt", *options)
    for flags in ("--batch=1", "--batch=3 --slots=1", ""):
        result = network.run(flags=args.flags, HOST_FLAGS=flags)
        network.check_exact(result)
        got = re.findall(r"^emulate: c\d \(\d\): latency of the first frame: (\d+) cycles$",
                         result.stdout, re.M)
        expect(got and {int(cycles) for cycles in got} == {network.simulated()[0]}, "latencies:", got)


NETWORK_FILE = """# who is where
card0.eth0 10.1.2.3 02:00:00:00:ab:01

card1.eth0 10.1.2.4\t02:00:00:00:ab:02  # the other end
card1.eth1 10.9.9.1 06:11:22:33:44:55
card2.eth0 10.9.9.254 06:11:22:33:44:56
"""
BAD_NETWORKS = (("card0.eth0 10.1.2.3 02:00:00:00:ab:01", r"no line for card1.eth\d, which links use"),
                ("card0.eth0 10.1.2.256 02:00:00:00:ab:01", "'10.1.2.256' is no IP address"),
                ("card0.eth0 10.1.2 02:00:00:00:ab:01", "is no IP address"),
                ("card0.eth0 10.1.2.255 02:00:00:00:ab:01", "is no IP address"),
                ("card0.eth0 10.1.2.3.", "is no IP address"),
                ("card0.eth0 10.1.2.3 03:00:00:00:ab:01", "is no MAC address"),
                ("card0.eth0 10.1.2.3 02:00:00:00:ab", "is no MAC address"),
                ("card0.eth0 10.1.2.3 02:00:00:00:ab:g1", "is no MAC address"),
                ("card0.eth0 10.1.2.3 02:00:00:00:ab:01 x", "'x' is too much"),
                ("card3.eth0 10.1.2.3 02:00:00:00:ab:01", "a card takes a number from 0 to 2"),
                ("card0.eth9 10.1.2.3 02:00:00:00:ab:01", "a port takes a number from 0 to 7"),
                ("c0.eth0 10.1.2.3 02:00:00:00:ab:01", "'c0.eth0' is no port"),
                (NETWORK_FILE + "card0.eth0 10.1.2.9 02:00:00:00:ab:09", "card0.eth0 is there twice"),
                (NETWORK_FILE.replace("10.1.2.4", "10.1.2.3"), "two ports have the same address"),
                (NETWORK_FILE.replace("10.1.2.4", "10.1.3.4"), "are not in one network of 256"))


def written_tables(path):
    """What a core has, by card and unit: own addresses, sockets, and MAC addresses by IP address. Read as
    the drivers of xup_vitis_network_example read its registers."""
    registers = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        card, unit, offset, value = line.split()
        registers.setdefault((card, unit), {})[int(offset)] = int(value)
    found = {}
    for core, own in registers.items():
        sockets = {i: tuple(own[base + 8 * i] for base in (0x810, 0x890, 0x910))
                   for i in range(16) if own[0x990 + 8 * i] & 1}
        macs = {}
        for i in range(256):
            if own.get(0x1100 + i // 4 * 4, 0) >> i % 4 * 8 & 1:
                mac = own[0x1800 + 8 * i] | own[0x1804 + 8 * i] << 32
                address = int.from_bytes(own[0x1400 + 4 * i].to_bytes(4, "little"), "big")
                expect(address % 256 == i, "an address of the ARP table is in the wrong place")
                macs[address] = int.from_bytes(mac.to_bytes(6, "little"), "big")
        found[core] = (own[0x18], own[0x10] | own[0x14] << 32, sockets, macs)
    return found


def wanted_tables(project):
    """The same, from system.json and NETWORK_FILE."""
    own = {}
    for line in NETWORK_FILE.splitlines():
        if line.startswith("card"):
            port, address, mac = line.split("#")[0].split()
            own[port] = (int(ipaddress.IPv4Address(address)), int(mac.replace(":", ""), 16))
    system = json.loads((project / "system.json").read_text(encoding="utf-8"))
    card_of = {kernel["name"]: kernel["card"] for kernel in system["kernels"]}
    found = {}
    for link in system["links"]:
        ends = [(card_of[link[end].split(".")[0]], link[f"{end}_port"]) for end in ("from", "to")]
        for (card, port), (other_card, other_port) in (ends, ends[::-1]):
            other = own[f"card{other_card}.eth{other_port}"]
            core = found.setdefault(
                (f"card{card}", f"networklayer:{{networklayer_{port}}}"),
                (*own[f"card{card}.eth{port}"], {}, {}))
            core[2][link["socket"]] = (other[0], 62000 + link["socket"], 62000 + link["socket"])
            core[3][other[0]] = other[1]
    return found


def check_network(network):
    """The host fills the tables of UDP cores."""
    table, written = network.work / "network.txt", network.work / "registers"
    table.write_text(NETWORK_FILE, encoding="utf-8")
    network.check_exact(network.run(HOST_FLAGS=f"--network={table}", registers=written))
    got, wanted = written_tables(written), wanted_tables(network.project)
    expect(got == wanted, "tables are", got, "not", wanted)
    for text, words in (*BAD_NETWORKS, (None, "cannot read")):
        table.unlink() if text is None else table.write_text(text, encoding="utf-8")
        network.check_fails(network.run(HOST_FLAGS=f"--network={table}"), f"error: .*{words}")


NETWORKS = (("two_layers udp on the host",
             lambda args, work: check_udp(args, work, "--platform=xrt", "--weights=load")),
            ("two_layers swmp on the host",
             lambda args, work: check_copies(args, work, "--platform=xrt")),
            ("two_layers credit on the host",
             lambda args, work: check_credit(args, work, "--platform=xrt")),
            ("small_cnn on the host", check_host), ("small_cnn dp on the host", check_hosts_replicas),
            ("two_layers swmp", check_copies), ("two_layers udp", check_udp),
            ("two_layers credit", check_credit),
            ("two_layers credit rewinds",
             lambda args, work: check_credit(args, work, "--control=none")),
            ("small_cnn dp", check_replicas), ("small_cnn m_axi", check_memory),
            ("two_layers tmp, loaded",
             lambda args, work: check_credit(args, work, "--mode=tmp", "--weights=load:16")),
            ("two_layers swmp, loaded, on the host",
             lambda args, work: check_copies(args, work, "--platform=xrt", "--weights=load:256")),
            ("small_cnn dp, loaded", lambda args, work: check_replicas(args, work, "--weights=load")),
            ("small_cnn dp, loaded, on the host",
             lambda args, work: check_hosts_replicas(args, work, "--weights=load")),
            ("small_cnn hwmp, bad weights", check_bad_weights), ("small_cnn auto", check_auto))


# Random graphs.

class Emulation(sizing_check.Cosim):
    """The cards of a design, built once, run with other depths."""

    flags = FLAGS

    def run(self, depths):
        given = " ".join(f"{name}={depth}" for name, depth in depths.items())
        result = emulate(self.design.hls, list(self.arguments.values())[:len(self.model.inputs)],
                         self.outputs, self.flags, given)
        if result.returncode and "error: deadlock:" in result.stderr:
            return sizing_check.Outcome()
        if result.returncode:
            raise Failure(f"emulate: {(result.stdout + result.stderr)[-300:]}")
        self.check_outputs()
        found = TIMES.findall(result.stdout)
        if len(found) != 2:
            raise Failure(f"emulate counts no cycles: {result.stdout[-300:]}")
        return sizing_check.Outcome(*map(int, found))


def place(text, rng):
    """Gives the processes to cards, and the module its cards."""
    cards = rng.choice((2, 2, 3))
    places = [0]
    while len(set(places)) < 2:
        places = [rng.randrange(cards)]
        for _ in FUNCTION.findall(text)[1:]:
            places.append(rng.randrange(cards) if rng.random() < 0.35 else places[-1])
    left = iter(places)
    text = FUNCTION.sub(
        lambda match: f"{match[1]}sys.place = #sys.place<card = {next(left)}, die = 0>, ", text)
    names = ", ".join(f'{{device = "u280", name = "c{i}"}}' for i in range(cards))
    text, count = re.subn(r"(?m)^module attributes \{", f'module attributes {{sys.cards = [{names}], '
                          'sys.mode = "hwmp", ', text)
    expect(count == 1, "there is no module with attributes")
    links = ",".join(f"{a}.0-{b}.0:{rng.choice((1, 10, 100, 400))}:"
                     f"{max(4, int(4 * MAX_CYCLES ** rng.random()))}:{64 * rng.randint(1, 4)}:66:"
                     f"{rng.choice(('either', 'credit'))}"
                     for a in range(cards) for b in range(a))
    return text, links


def cards_of(text, stream):
    """The cards of the two processes at a stream, from the module's text."""
    cards = dict(re.findall(r"emithls\.func @([\w.$-]+)\([^\n]*sys\.place<card = (\d+)", text))
    return {int(cards[name]) for name, operands in re.findall(r"emithls\.call @([\w.$-]+)\(([^)]*)\)", text)
            if f"%{stream}" in operands.split(", ")}


def refuse(text, links, failure):
    """A word that takes more beats than a packet of its link has is none of this test's matter, if that
    is so by the types, places and links that were written."""
    said = NO_PACKET.search(str(failure))
    if not said:
        raise failure
    number, size, payload = map(int, said.groups())
    word = STREAM_WORD.search(text.splitlines()[number - 1])
    expect(word, "there is no stream in line", number, "of", failure)
    lanes = np.prod([int(extent) for extent in (word[2] or "1").split("x")])
    bits = int(lanes) * int(word[3])
    low, high = sorted(cards_of(text, word[1]))
    written, = re.findall(rf"(?:^|,){high}\.0-{low}\.0:\d+:\d+:(\d+):", links)
    expect((size, payload) == (-(-bits // 8), int(written)), "a stream of", bits, "bits and packets of",
           written, "bytes, but", failure)
    expect(-(-size // BEAT_BYTES) * BEAT_BYTES > payload, "a word has room, but", failure)
    raise Refusal(str(failure))


def cut(args, folder, rng):
    """Puts the processes of a design on cards; its streams between them become links."""
    hls = folder / "hls"
    module, = hls.glob("*.mir")
    text, links = place(module.read_text(encoding="utf-8"), rng)
    cut_module, sized, bounded = (folder / f"{name}.mir" for name in ("cut", "sized", "bounded"))
    cut_module.write_text(text, encoding="utf-8")
    try:
        command(args.tools / "ming-opt", "--pass-pipeline=builtin.module(connect-cards{links=\"" + links +
                "\"},schedule-hls,fit-fifos{slack=exact})", cut_module, "-o", sized)
    except Failure as failure:
        refuse(text, links, failure)
    command(args.tools / "ming-opt", "--pass-pipeline=builtin.module(bound-links)", sized,
            "-o", bounded)
    shutil.rmtree(hls)
    command(args.tools / "ming-translate", "--emit-hls", bounded, f"--output-dir={hls}")
    if not (hls / module.name).exists():
        shutil.copy(bounded, hls / module.name)


def check_least(design, module, packets):
    """Before links without back-pressure get more: no FIFO can be one shallower, but for links that hold
    a packet."""
    sized = sizing_check.Design.__new__(sizing_check.Design)
    vars(sized).update(vars(design), text=module.read_text(encoding="utf-8"))
    depths = sizing_check.STREAM.findall(sized.text)
    sized.depths = {name: int(depth) for _, name, depth in depths if int(depth) != packets.get(name)}
    sizing_check.check_least(sized, sized.sim())


def check_room(design, emulation, link, rng):
    """A link without back-pressure that has less room: where it does not suffice the emulation says
    so, and where it does cycles are those of the simulator, in which no word ever waits for room."""
    name, depth, packet, _ = link
    less = {name: rng.randint(1, max(1, int(depth) - rng.choice((1, int(packet)))))}
    simulated = design.sim(less, sizing_check.COSIM_FRAMES)
    try:
        emulated = emulation.run(less)
    except Failure as failure:
        expect("finds the receiver full" in str(failure), "with", less, failure)
        return
    expect(emulated.cycles() == simulated.cycles() == emulation.run({}).cycles(), "with", less,
           "emulate takes", emulated.cycles(), "ming sim", simulated.cycles())


def check_graph(args, index, folder):
    """The number of links."""
    model = gen_sizing.generate(args.seed, index)
    rng = random.Random(f"cards/{args.seed}/{index}")
    gen_linalg.write_model(model, folder)
    rewinds = index % 3 == 2
    compile_exactly(args.tools, folder, rng.choice(sizing_check.BUDGETS),
                    f"--rewind={'on' if rewinds else 'off'}")
    cut(args, folder, rng)
    design = sizing_check.Design(folder, args.tools)
    links = AT_LINKS.findall(design.text)
    packets = {name: int(packet) for name, _, packet, _ in links}
    sized = design.sim()
    sizing_check.check_interval(design, sized)
    sizing_check.check_values(design, model, folder)
    if not rewinds:
        check_least(design, folder / "sized.mir", packets)
    rooms = {name: sizing_check.UNBOUNDED for name, _, _, protocol in links if protocol == "udp"}
    for name in rooms:
        del design.depths[name]
    emulation = Emulation(design, model, folder)
    emulation.flags = args.flags
    emulation.compare({})
    emulation.compare({**dict.fromkeys(design.depths, 0), **rooms}) # what comes faster needs room
    for link in links:
        if link[3] == "udp":
            check_room(design, emulation, link, rng)
    for _ in range(3):
        depths = sizing_check.random_depths(design, rng)
        emulation.compare({name: max(depth, packets.get(name, 1)) for name, depth in depths.items()})
    return len(links)


def run_graph(args, index, folder):
    name = gen_sizing.generate(args.seed, index).name
    return judge(f"graph {name}", lambda: check_graph(args, index, folder / name))


def run_network(args, title, check):
    def checked():
        with tempfile.TemporaryDirectory() as work:
            check(args, pathlib.Path(work))
        return 0
    return judge(title, checked)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True, help="folder of ming")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2, help="number of graphs")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--networks", type=int, default=1, help="number of networks")
    parser.add_argument("--all", action="store_true", help="all networks, also under ASan")
    parser.add_argument("--losses", type=int, default=3, metavar="N",
                        help="seeds for losses, and hosts to kill")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="leave graphs there")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    args.tools, args.flags = args.tools.resolve(), FLAGS
    sanitized = argparse.Namespace(**{**vars(args), "flags": SANITIZE})
    with tempfile.TemporaryDirectory(prefix="ming-emulate-") as scratch, \
         concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        works = [pool.submit(run_network, args, title, check)
                 for title, check in NETWORKS[:len(NETWORKS) if args.all else args.networks]]
        works += [pool.submit(run_network, sanitized, f"{title}, ASan", check)
                  for title, check in NETWORKS if args.all]
        folder = args.keep.resolve() if args.keep else pathlib.Path(scratch)
        works += [pool.submit(run_graph, args, index, folder)
                  for index in range(args.first, args.first + args.count)]
        found = [work.result() for work in works]
    failed, refused = found.count(None), found.count(REFUSED)
    links = sum(count for count in found if count not in (None, REFUSED))
    print(f"{links} links of random graphs, {refused} graphs refused")
    if refused > max(1, MAX_REFUSED * args.count) or (args.count and links < args.count // 2):
        print("FAIL graphs: too few to say anything")
        failed += 1
    print(f"{len(found) - found.count(None)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
