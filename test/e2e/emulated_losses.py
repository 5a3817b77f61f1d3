"""Which packets `make emulate` loses for a seed, reckoned once more, and what must come of it."""
import re

from run_check import Failure

LINKS = re.compile(r"^emulate: link '(\w+)': (\d+) packets, (\d+) lost$", re.M)
LOST = re.compile(r"link '(\w+)' from card \d to card \d: packet (\d+) was lost")
LINK_ROW = re.compile(r'^\s+\{"(\w+)", \d+, \d+, \d+, \d+, (?:true|false)\b', re.M)
RATES = (0.002, 0.02, 0.2, 0.5, 0.9)


def mix(state):
    """splitmix64 (Steele, Lea, Flood 2014): the number behind a state."""
    mask = 2 ** 64 - 1
    x = (state + 0x9e3779b97f4a7c15) & mask
    x = ((x ^ (x >> 30)) * 0xbf58476d1ce4e5b9) & mask
    x = ((x ^ (x >> 27)) * 0x94d049bb133111eb) & mask
    return x ^ (x >> 31)


def times_lost(rate, seed, link, packet):
    """How often in turn a packet is lost, which its link, its number and the seed say."""
    times = 0
    while (mix(mix(mix(seed + link) + packet) + times) >> 11) < rate * 2 ** 53:
        times += 1
    return times


def numbers_of(network):
    """Links by name, in the order of the system's table; they are printed card by card."""
    source, = network.project.glob("*_emulate.cpp")
    names = LINK_ROW.findall(source.read_text(encoding="utf-8"))
    return {name: number for number, name in enumerate(names)}


def check_counted(network, stdout, rate, seed):
    """A link with credits has lost what the seed says, each packet until it came."""
    numbers = numbers_of(network)
    for name, packets, lost in LINKS.findall(stdout):
        wanted = sum(times_lost(rate, seed, numbers[name], packet) for packet in range(int(packets)))
        if int(lost) != wanted:
            raise Failure(f"seed {seed}: link {name} counts {lost} losses, not {wanted}")


def check_seeds(args, network, stdout, is_udp):
    """Losses for many seeds. With credits all are made good; with udp the first one of a link is told.
    stdout: of a run without losses."""
    links, numbers = LINKS.findall(stdout), numbers_of(network)
    for seed in range(args.losses):
        rate = RATES[seed % len(RATES)]
        firsts = {}
        for name, packets, _ in links:
            lost = (k for k in range(int(packets)) if times_lost(rate, seed, numbers[name], k))
            firsts[name] = next(lost, None)
        result = network.run(flags=args.flags, LOSS=rate, SEED=seed)
        if not is_udp or set(firsts.values()) == {None}:
            network.check_exact(result)
            check_counted(network, result.stdout, rate, seed)
            continue
        network.check_fails(result, LOST.pattern)
        name, packet = LOST.search(result.stderr).groups()
        if firsts[name] != int(packet):
            raise Failure(f"seed {seed}: packet {packet} of link {name} is told, and not of {firsts}")
