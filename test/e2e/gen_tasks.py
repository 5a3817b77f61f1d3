"""Task graphs for `ming partition` that fill many dies: a hundred nodes on the ten dies of one U250 and
two U280, the largest node of Elastic-DF's cluster, joined as a chain of cards."""
import random

KINDS = ("lut", "ff", "bram18", "uram", "dsp")
SYSTEM = """<system name="ten_dies">
  <card name="c0" device="u250"/>
  <card name="c1" device="u280"/>
  <card name="c2" device="u280"/>
  <link from="c0.eth0" to="c1.eth0" gbps="100"/>
  <link from="c1.eth1" to="c2.eth0" gbps="100"/>
</system>
"""
# LUT, FF, BRAM18, URAM, DSP of each die, by card, in order; and percent that a design may use.
DIES = {f"c0.SLR{i}": (375000, 750000, 1152, 320, 2880) for i in range(4)}
for card in ("c1", "c2"):
    DIES |= {f"{card}.SLR0": (400800, 801600, 1200, 320, 2736),
             f"{card}.SLR1": (382080, 764160, 1152, 320, 2880),
             f"{card}.SLR2": (380640, 761280, 1152, 320, 2880)}
PERCENT = (70, 50, 80, 80, 80)
PORT = (35219, 86269, 183, 0, 0)        # of an Ethernet link, at each of its ends
ENDS = ("c0.SLR3", "c1.SLR2", "c1.SLR2", "c2.SLR2")
ETHERNET_COST = 10
MOST_HOPS = 2


def limits():
    """What a design may use of each die."""
    return {name: [amount * percent // 100 for amount, percent in zip(amounts, PERCENT)]
            for name, amounts in DIES.items()}


def hundred_nodes(seed, fill=.95, versions=3, count=100):
    """A chain with branches that join it again. The first versions take so much of all block RAMs
    that are left beside the ports of the links, and 70 % of the other kinds; up to two versions
    more trade one kind for another."""
    rng = random.Random(seed)
    room = [sum(limit[k] for limit in limits().values()) - len(ENDS) * PORT[k]
            for k in range(len(KINDS))]
    parts = {kind: fill if kind == "bram18" else .7 for kind in KINDS}
    sizes = {kind: [rng.uniform(.2, 1) for _ in range(count)] for kind in KINDS}
    nodes = []
    for i in range(count):
        first = {kind: int(sizes[kind][i] / sum(sizes[kind]) * room[k] * parts[kind])
                 for k, kind in enumerate(KINDS)}
        ways = [first]
        for _ in range(rng.randint(0, versions - 1)):
            less, more = rng.sample(("lut", "bram18", "uram", "dsp"), 2)
            ways.append(dict(first, **{less: int(first[less] * .7), more: int(first[more] * 1.8) + 20}))
        nodes.append({"name": f"n{i}", "versions": ways})
    edges = [{"from": f"n{i}", "to": f"n{i + 1}", "wires": 8 * rng.randint(1, 64),
              "gbps": round(rng.uniform(.5, 20), 2)} for i in range(count - 1)]
    start = 1
    while start + 3 < count:
        end = min(count - 1, start + rng.randint(2, 5))
        edges.append({"from": f"n{start}", "to": f"n{end}", "wires": 8 * rng.randint(1, 64),
                      "gbps": 1.5})
        start = end + rng.randint(1, 3)
    return {"name": f"tasks{seed}", "nodes": nodes, "edges": edges}


def path(one, other):
    """The links between two dies, by their ends' names, from the one to the other."""
    order = [f"c0.SLR{i}" for i in range(4)]
    card = {name: name.split(".", maxsplit=1)[0] for name in DIES}
    if card[one] == card[other]:
        a, b = int(one[-1]), int(other[-1])
        step = 1 if b > a else -1
        return [(f"{card[one]}.SLR{i}", f"{card[one]}.SLR{i + step}") for i in range(a, b, step)]
    if one > other:
        return [(b, a) for a, b in reversed(path(other, one))]
    near = order[3] if card[one] == "c0" else "c1.SLR2"
    far = "c1.SLR2" if card[one] == "c0" else "c2.SLR2"
    return path(one, near) + [(near, far)] + path(far, other)


def check_placement(graph, placement):
    """What the goals of a placement come to, counted anew. AssertionError: it breaks a limit."""
    die = {node["name"]: node["die"] for node in placement["nodes"]}
    version = {node["name"]: node["version"] for node in placement["nodes"]}
    use = {name: [0] * len(KINDS) for name in DIES}
    for node in graph["nodes"]:
        ways = node["versions"]
        chosen = ways[version[node["name"]]]
        use[die[node["name"]]] = [a + chosen[k] for a, k in zip(use[die[node["name"]]], KINDS)]
    values = dict.fromkeys(("cost", "ethernet", "gbps", "crossings", "wires"), 0)
    links = set()
    for edge in graph["edges"]:
        way = path(die[edge["from"]], die[edge["to"]])
        assert len(way) <= MOST_HOPS, (edge, way)
        for a, b in way:
            is_ethernet = a[:2] != b[:2]
            values["cost"] += ETHERNET_COST if is_ethernet else 1
            values["ethernet" if is_ethernet else "crossings"] += 1
            values["gbps" if is_ethernet else "wires"] += (
                round(1000 * edge["gbps"]) if is_ethernet else edge["wires"])
            if is_ethernet:
                links.add(frozenset((a, b)))
    for link in links:
        for end in link:
            use[end] = [a + b for a, b in zip(use[end], PORT)]
    for name, limit in limits().items():
        assert all(a <= b for a, b in zip(use[name], limit)), (name, use[name], limit)
        mean = sum(use[name][k] / DIES[name][k] for k in (2, 3, 4)) / 3
        assert mean <= .7 + 1e-9, (name, mean)
    values["cards"] = len({name[:2] for name in die.values()})
    values["utilization"] = max(-(-1000 * a // b) for name in DIES
                                for a, b in zip(use[name], DIES[name]))
    return values
