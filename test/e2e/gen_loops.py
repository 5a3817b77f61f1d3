"""Random designs of emithls whose loop has an initiation interval above one.

A loop reads a word per iteration, and combines it with what registers and memories hold: sums and
products that an iteration leaves for the next one, elements that are changed in place, several
accesses to memories and tables with few ports. A design depends on nothing but the seed and its
index. There is no `ming compile` behind it: values are those of the simulation.

    text(seed, index)                   the module
"""
import random

EXTENT = 12                             # iterations
MEMORIES = ('"ram_1p" "bram"', '"ram_2p" "bram"', '"ram_s2p" "lutram"', '"ram_t2p" "bram"')
TABLES = ('"rom_1p" "bram"', '"rom_2p" "lutram"')


class Loop:
    def __init__(self, rng):
        self.rng = rng
        self.head, self.body, self.count = [], [], 0
        self.tables = []
        self.values = ["%x"]            # of i16

    def emit(self, text):
        self.count += 1
        self.body.append(f"%v{self.count} = {text}")
        return f"%v{self.count}"

    def binary(self, *values):
        op = self.rng.choice(("addi", "muli", "subi", "xori", "maxsi"))
        return self.emit(f"arith.{op} {values[0]}, {values[1]} : i16")

    def combine(self, value):
        """Some ops behind it."""
        for _ in range(self.rng.randint(1, 3)):
            value = self.binary(value, self.rng.choice(self.values))
        return value

    def load(self, array, kind, index):
        return self.emit(f"emithls.load {array}[affine_map<(d0) -> ({index})>] (%i) : {kind}")

    def store(self, value, array, kind, index):
        self.body.append(f"emithls.store {value}, {array}[affine_map<(d0) -> ({index})>] (%i) : i16, {kind}")

    def start(self, old):
        """0 in the first iterations, when nothing is held yet."""
        return self.emit(f"arith.select %is_first, %c0, {old} : i16")

    def register(self):
        name, kind = f"%r{len(self.head)}", "!emithls.array<i16>"
        self.head.append(f'{name} = emithls.variable "{name[1:]}" : {kind}')
        old = self.emit(f"emithls.load {name}[affine_map<() -> ()>] () : {kind}")
        new = self.combine(self.start(old))
        self.body.append(f"emithls.store {new}, {name}[affine_map<() -> ()>] () : i16, {kind}")
        return new

    def memory(self):
        """An element is changed in place, and perhaps another one read before."""
        size = self.rng.choice((2, 3, 4))
        name, kind = f"%m{len(self.head)}", f"!emithls.array<{size}xi16>"
        self.head += [f'{name} = emithls.variable "{name[1:]}" : {kind}',
                      f"emithls.bind_storage {name} {self.rng.choice(MEMORIES)} : {kind}"]
        if self.rng.random() < 0.5:
            old = self.start(self.load(name, kind, f"d0 mod {size}"))
            self.head.append(f"emithls.dependence {name} distance({size}) : {kind}")
        else:
            other = self.start(self.load(name, kind, f"(d0 + 1) mod {size}"))
            old = self.binary(self.start(self.load(name, kind, f"d0 mod {size}")), other)
        new = self.combine(old)
        self.store(new, name, kind, f"d0 mod {size}")
        return new

    def table(self):
        numbers = [self.rng.randint(-99, 99) for _ in range(EXTENT)]
        name, kind = f"%t{len(self.head)}", f"!emithls.array<{EXTENT}xi16>"
        self.tables.append(f"emithls.table @{name[1:]} dense<{numbers}> : tensor<{EXTENT}xi16>")
        self.head += [f"{name} = emithls.get @{name[1:]} : {kind}",
                      f"emithls.bind_storage {name} {self.rng.choice(TABLES)} : {kind}"]
        value = self.load(name, kind, "d0")
        for step in range(1, self.rng.randint(2, 5)):
            value = self.binary(value, self.load(name, kind, f"(d0 + {step}) mod {EXTENT}"))
        return value


def text(seed, index):
    rng = random.Random(f"loops/{seed}/{index}")
    loop = Loop(rng)
    for _ in range(rng.randint(1, 3)):
        loop.values.append(rng.choice((loop.register, loop.memory, loop.table))())
    result = loop.values[-1]
    for value in loop.values[:-1]:
        result = loop.emit(f"arith.xori {result}, {value} : i16")
    port = "!emithls.stream<i16>"
    style = rng.choice(("", ", flush", ""))
    lines = [*loop.tables, f"emithls.func @loop(%in: {port}, %out: {port}) {{",
             *(f"  {line}" for line in loop.head), "  %c0 = arith.constant 0 : i16",
             f'  emithls.for "loop" (%i) in [{EXTENT}] attributes {{ii = {rng.randint(1, 3)} : i64{style}}} {{',
             f"    %x = emithls.read %in : {port}",
             "    %is_first = emithls.cond affine_set<(d0) : (-d0 + 3 >= 0)>(%i)",
             *(f"    {line}" for line in loop.body), f"    emithls.write {result}, %out : i16, {port}",
             "  }", "}",
             f"emithls.func @top(%in: {port}, %out: {port}) attributes {{top, port_attrs = [",
             *(f'  {{dfg.name = "{name}", emithls.frame = tensor<{EXTENT}xi16>, '
               f"emithls.word = array<i64: 1>}}{end}" for name, end in (("in", ","), ("out", "]} {"))),
             "  emithls.dataflow", f"  emithls.call @loop(%in, %out) : {port}, {port}", "}", ""]
    return "\n".join(lines)
