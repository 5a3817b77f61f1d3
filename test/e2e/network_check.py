#!/usr/bin/env python3
"""Checks the adapters at links between cards: their C++, with a network that loses packets.

    network_check.py --tools=DIR [--seed=N] [--count=N] [--all]

- Random links (words of integers, vectors and floats up to some beats, packets, room, latency, both
  protocols, several on a cable) in one program: what comes is what was sent. Under losses `credit` is
  exact and counts them, and the same ones are lost for the same seed; `udp` gives no wrong word, and
  ends in an error that names link and packet.
- Networks on cards: `make network-csim` gives the reference's frames, likewise.

--all runs more networks, and all under ASan and UBSan, too. Ends in `N passed, N failed`.
"""
import argparse
import pathlib
import random
import re
import sys

import numpy as np

from board_tools import Failure, expect, must_run, run
from case_loop import run_cases
from design_cases import chain_of_cards

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODELS = ROOT / "../shared/models"
CSIM = ROOT / "emit/csim"
STRICT = "-std=c++17 -O0 -Wall -Wextra -Werror -Wno-unknown-pragmas"
SANITIZE = "-std=c++17 -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined"
CREDIT = """<system name="pair"><card name="left" device="u280"/><card name="right" device="u280"/>
<link from="left.eth0" to="right.eth1" gbps="{gbps}" latency-ns="{latency}" payload="{payload}"
 protocol="{protocol}"/></system>
"""
LINKS = re.compile(r"^network: link '(\w+)': (\d+) packets, (\d+) lost, (\d+) missed, "
                   r"(\d+) times sent again$", re.M)
LOST = r"^(tb: )?error: link '\w+' from card \d to card \d: packet \d+ was lost, and udp"
RATES = (0.001, 0.02, 0.1, 0.4, 0.8)


# Random links.

def random_word(rng):
    kind = rng.choice(("ap_int<{}>", "ap_uint<{}>", "hls::vector<ap_int<{}>, {}>", "vector",
                       "hls::vector<ap_uint<{}>, {}>", "float", "double"))
    if kind == "vector":
        return f"hls::vector<float, {rng.choice((1, 2, 5, 16, 33))}>"
    return kind.format(rng.randint(1, 24), rng.choice((1, 2, 3, 8, 17, 64, 100)))


def random_link(rng, number, is_credit):
    packet = rng.choice((1, 2, 3, 7, rng.randint(1, 40)))
    return {"number": number, "word": random_word(rng), "is_credit": is_credit, "packet": packet,
            "words": rng.randint(1, 5 * packet), "latency": rng.randint(1, 300)}


CREDIT_LINK = """
static hls::stream<W{n}> &in{n} = stream<W{n}>(), &fifo{n} = stream<W{n}>(), &out{n} = stream<W{n}>();
static hls::stream<Beat> &sent{n} = stream<Beat>(), &come{n} = stream<Beat>(), &back{n} = stream<Beat>(),
                         &news{n} = stream<Beat>();
static hls::stream<Report> &reports{n} = stream<Report>();
static hls::stream<ap_uint<16>> &taken{n} = stream<ap_uint<16>>();
static Count lost{n} = 0, again{n} = 0;
static void add{n}(Network &all)
{{
    all.add_link({{"link{n}", 0, 1, &lost{n}, nullptr, &again{n}, [] {{ return in{n}.size(); }},
                  [] {{ return out{n}.size(); }}, [] {{ return fifo{n}.size(); }}, {room}}});
    all.add_wire(sent{n}, come{n}, {latency});
    all.add_wire(back{n}, news{n}, {latency});
}}
static void step{n}(Network &all)
{{
    credit_send<W{n}, {n}, 0, {words}, {packet}, {room}, {kept}, {patience}>(in{n}, news{n}, sent{n}, again{n});
    credit_receive<W{n}, {n}, {words}, {packet}>(come{n}, fifo{n}, reports{n}, lost{n});
    if (all.takes())
        credit_count<W{n}, {chunk}>(fifo{n}, out{n}, taken{n});
    credit_answer<{n}, 0, {gap}, {quiet}>(reports{n}, taken{n}, back{n});
}}
"""
UDP_LINK = """
static hls::stream<W{n}> &in{n} = stream<W{n}>(), &out{n} = stream<W{n}>();
static hls::stream<Beat> &sent{n} = stream<Beat>(), &come{n} = stream<Beat>();
static Count missing{n} = 0, packet{n} = 0;
static void add{n}(Network &all)
{{
    all.add_link({{"link{n}", 0, 1, &missing{n}, &packet{n}, nullptr, [] {{ return in{n}.size(); }},
                  [] {{ return out{n}.size(); }}, [] {{ return out{n}.size(); }}, 0}});
    all.add_wire(sent{n}, come{n}, {latency});
}}
static void step{n}(Network &)
{{
    udp_send<W{n}, {n}, 0, {words}, {packet}>(in{n}, sent{n});
    udp_receive<W{n}, {n}, {words}, {packet}>(come{n}, out{n}, missing{n}, packet{n});
}}
"""
PROGRAM = """#include <ap_int.h>
#include <hls_stream.h>
#include <hls_vector.h>
#include "ming_adapter.h"
#include "ming_channel.h"
#include <cstring>
using namespace ming::adapter;
using ming::channel::Network;
using ming::channel::stream;

static std::uint64_t state = 7;
static std::uint64_t draw() {{ return state = state * 6364136223846793005u + 1442695040888963407u; }}
template <int N> static void fill(ap_int<N> &word) {{ word = static_cast<long long>(draw() >> 8); }}
template <int N> static void fill(ap_uint<N> &word) {{ word = static_cast<long long>(draw() >> 8); }}
[[maybe_unused]] static void fill(float &word) {{ word = static_cast<float>(draw() >> 40); }}
[[maybe_unused]] static void fill(double &word) {{ word = static_cast<double>(draw() >> 8); }}
template <class T, std::size_t N> static void fill(hls::vector<T, N> &word)
{{
    for (std::size_t i = 0; i < N; i++) fill(word[i]);
}}
template <class T> static bool same(const T &a, const T &b) {{ return a == b; }}
template <class T, std::size_t N> static bool same(const hls::vector<T, N> &a, const hls::vector<T, N> &b)
{{
    bool ok = true;
    for (std::size_t i = 0; i < N; i++) ok = ok && a[i] == b[i];
    return ok;
}}
{types}
{links}
static Network &all()
{{
    static Network network([](Network &all) {{ {adds} }});
    return network;
}}
static void step() {{ {steps} }}

template <class Word>
static void check(hls::stream<Word> &out, std::deque<Word> &wanted, const char *name)
{{
    for (; !out.empty(); wanted.pop_front())
        if (wanted.empty() || !same(out.read(), wanted.front()))
            throw std::runtime_error(std::string(name) + " gives a wrong word");
}}

int main()
{{
    {queues}
    try {{
        for (int frame = 0; frame < {frames}; frame++) {{
            {sends}
            all().carry(step);
            {checks}
        }}
    }} catch (const std::exception &e) {{
        std::printf("error: %s\\n", e.what());
        return 1;
    }}
    return {left} == 0 ? 0 : 2;
}}
"""


def write_links(path, links, frames):
    parts = {"types": "", "links": "", "adds": "", "steps": "", "queues": "", "sends": "",
             "checks": ""}
    for link in links:
        n, packet = link["number"], link["packet"]
        chunk, gap = max(1, packet // 4), packet + 1
        room = 2 * packet + chunk + link["latency"] // 3 + 1
        quiet = 4 * (link["latency"] + gap) + 64
        values = {**link, "n": n, "chunk": chunk, "gap": gap, "room": room, "quiet": quiet,
                  "kept": 1 << (room - 1).bit_length(), "patience": 2 * (link["latency"] + quiet)}
        parts["types"] += f"typedef {link['word']} W{n};\n"
        parts["links"] += (CREDIT_LINK if link["is_credit"] else UDP_LINK).format(**values)
        parts["adds"] += f"add{n}(all);"
        parts["steps"] += f"step{n}(all());"
        parts["queues"] += f"std::deque<W{n}> wanted{n};"
        parts["sends"] += (f"for (int i = 0; i < {link['words']}; i++) {{ W{n} word; fill(word); "
                           f"wanted{n}.push_back(word); in{n}.write(word); }}")
        parts["checks"] += f'check(out{n}, wanted{n}, "link{n}");'
    left = " + ".join(f"wanted{link['number']}.size()" for link in links)
    path.write_text(PROGRAM.format(**parts, left=left, frames=frames), encoding="utf-8")


def run_links(program, loss, seed):
    return run("env", f"MING_LOSS={loss}", f"MING_SEED={seed}", program)


def check_links(args, rng, work, is_credit):
    """A program of some links of a protocol, with many seeds and rates."""
    links = [random_link(rng, n, is_credit) for n in range(4)]
    source, program = work / "links.cpp", work / "links"
    write_links(source, links, 6)
    must_run("g++", *args.flags.split(), f"-I{CSIM}", source, "-o", program)
    result = run_links(program, 0, 0)
    expect(result.returncode == 0, "without losses:", result.stdout)
    expect(all(lost == "0" and missed == "0" for _, _, lost, missed, _ in
               LINKS.findall(result.stdout)), "something is lost:", result.stdout)
    for loss, seed, says in (("nan", 0, "MING_LOSS is 'nan', but must be a number from 0 to 0.99\n"),
                             (0, 1.5, "MING_SEED is '1.5', but must be an integer of 32 bits\n")):
        result = run_links(program, loss, seed)
        expect(result.returncode == 1 and says in result.stdout, "says", result.stdout)
    for rate in RATES:
        for seed in range(args.seeds):
            result = run_links(program, rate, seed)
            expect(result.stdout == run_links(program, rate, seed).stdout, "a seed says no losses")
            found = [tuple(map(int, row[1:])) for row in LINKS.findall(result.stdout)]
            lost = sum(row[1] for row in found)
            if is_credit:
                expect(result.returncode == 0, "rate", rate, "seed", seed, result.stdout)
                expect(all(row[2] <= row[1] and (row[3] > 0 or row[1] == 0) for row in found),
                       "counts", found)
            elif lost == 0:
                expect(result.returncode == 0, "no loss:", result.stdout)
            else:
                expect(result.returncode == 1 and re.search(LOST, result.stdout, re.M), "rate", rate,
                       "seed", seed, result.stdout)


# Networks.

def folder_of(name):
    folder = ROOT / "examples" / name
    return folder if folder.exists() else MODELS / name


class Network:
    def __init__(self, args, work, name, *options):
        self.args, self.project, self.output = args, work / "project", work / "out.npy"
        self.folder = folder_of(name)
        must_run(args.tools / "ming", "compile", self.folder / "model.onnx", "-o", self.project,
                 *options)

    def run(self, loss=0, seed=0):
        self.output.unlink(missing_ok=True)
        return run("make", "-s", "-C", self.project, "network-csim", f"CXXFLAGS={self.args.flags}",
                   f"INPUT={self.folder / 'input.npy'}", f"OUTPUT={self.output}", f"LOSS={loss}",
                   f"SEED={seed}")

    def check_exact(self, result):
        expect(result.returncode == 0, result.stderr)
        wanted = np.load(self.folder / "output.npy").reshape(-1)
        expect(np.array_equal(np.load(self.output).reshape(-1), wanted), "the frames differ")


def check_credit(args, work, name, *options):
    system = work / "pair.xml"
    system.write_text(CREDIT.format(gbps=10, latency=700, payload=128, protocol="credit"))
    network = Network(args, work, name, f"--system={system}", *options)
    network.check_exact(network.run())
    noticed = 0
    for rate in RATES[1:]:
        result = network.run(rate, 3)
        network.check_exact(result)
        found = [tuple(map(int, row[1:])) for row in LINKS.findall(result.stdout)]
        expect(all(row[2] <= row[1] for row in found), "counts", found)
        noticed += sum(row[2] + row[3] for row in found)
    expect(noticed > 0, "no loss is counted")


def check_udp(args, work, name, *options):
    system = work / "chain.xml"
    system.write_text(chain_of_cards(*2 * ['protocol="udp"']), encoding="utf-8")
    network = Network(args, work, name, f"--system={system}", *options)
    result = network.run()
    network.check_exact(result)
    links = LINKS.findall(result.stdout)
    expect(links and all(row[2:] == ("0", "0", "0") for row in links), "links", links)
    noticed = 0
    for seed in range(args.seeds):
        result = network.run(0.4, seed)
        if all(lost == "0" for _, _, lost, _, _ in LINKS.findall(result.stdout)):
            network.check_exact(result)
            continue
        noticed += 1
        expect(result.returncode != 0 and re.search(LOST, result.stderr, re.M), "says",
               result.stderr)
        expect(not network.output.exists(), "an output in spite of a loss")
    expect(noticed > 0, "no loss is noticed")
    result = network.run("x")
    expect(result.returncode != 0 and "MING_LOSS is 'x'" in result.stderr, "says", result.stderr)


NETWORKS = (("small_cnn credit", check_credit, ("small_cnn", "--dsp=40"), True),
            ("two_layers udp", check_udp, ("two_layers", "--mode=tmp"), False),
            ("two_layers credit", check_credit, ("two_layers", "--mode=tmp"), False),
            ("small_cnn m_axi", check_udp, ("small_cnn", "--interface=m_axi"), True),
            ("resnet8 credit", check_credit, ("resnet8_a8w8b16", "--mode=tmp"), False))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True, help="folder of ming")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1, help="programs of random links, each protocol")
    parser.add_argument("--all", action="store_true", help="all networks, also under ASan")
    args = parser.parse_args()
    args.tools, args.flags, args.seeds = args.tools.resolve(), STRICT, 3
    forms = [STRICT, SANITIZE] if args.all else [STRICT]
    cases = []
    for flags in forms:
        form = argparse.Namespace(**{**vars(args), "flags": flags})
        for index in range(args.count):
            for is_credit in (True, False):
                rng = random.Random(f"network/{args.seed}/{index}/{is_credit}")
                cases.append((f"links {index} {'credit' if is_credit else 'udp'} of seed {args.seed}",
                              lambda work, f=form, r=rng, c=is_credit: check_links(f, r, work, c)))
        cases += [(title, lambda work, f=form, c=check, o=options: c(f, work, *o))
                  for title, check, options, is_short in NETWORKS if args.all or is_short]
    return run_cases(cases, [Failure])


if __name__ == "__main__":
    sys.exit(main())
