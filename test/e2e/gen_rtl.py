"""Random modules of hw, comb and seq, with what they compute.

A Design is a module's text and a model of it: step(inputs) gives the outputs of
a cycle and goes on to the next. Values are unsigned numbers of their width.
"""
import random

WIDTHS = (1, 1, 2, 3, 7, 8, 8, 16, 20, 31, 32, 33, 48, 63, 64, 65, 100)
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


def mask(width):
    return (1 << width) - 1


def signed(value, width):
    return value - (1 << width) if value >> (width - 1) else value


def compare(predicate, a, b, width):
    if predicate.startswith("s"):
        a, b = signed(a, width), signed(b, width)
    order = predicate.lstrip("su") if predicate not in ("eq", "ne") else predicate
    return int({"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b,
                "ge": a >= b}[order])


def shift(name, value, amount, width):
    amount = min(amount, width)
    if name == "shl":
        return value << amount & mask(width)
    if name == "shru":
        return value >> amount
    return signed(value, width) >> amount & mask(width)


def joined(parts):
    """Bits of (value, width) pairs, the first highest."""
    value = 0
    for part, width in parts:
        value = value << width | part
    return value


class Design:
    """A module that grows op by op; its names are those of the text."""

    def __init__(self, name, rng):
        self.name, self.rng = name, rng
        self.lines, self.values = [], []        # values: (SSA name, width), ready to be used
        self.inputs, self.outputs = [], []
        self.steps = []                         # (name, function of the values so far)
        self.edges = []                         # functions that take the cycle's values at its end
        self.state = {}
        self.count = 0                          # of numbers that were given

    # Building.

    def number(self):
        self.count += 1
        return self.count

    def add(self, width, text, function, hint=True):
        name = f"%v{self.number()}"
        if hint and self.rng.random() < 0.1:
            text = text.replace(" : ", f' {{sv.namehint = "h{name[2:]}"}} : ', 1)
        self.lines.append(f"  {name} = {text}")
        self.steps.append((name, function))
        self.values.append((name, width))
        return name

    def input(self, width):
        name = f"%i{len(self.inputs)}"
        self.inputs.append((name, width))
        self.values.append((name, width))

    def pick(self, width=None):
        """A value, of that width if one is asked for."""
        found = [v for v in self.values if width in (None, v[1])]
        if found and self.rng.random() < 0.9:
            return self.rng.choice(found)
        return self.constant(width or self.rng.choice(WIDTHS))

    def constant(self, width):
        value = self.rng.choice((0, 1, mask(width), self.rng.getrandbits(width))) & mask(width)
        name = self.add(width, f"hw.constant {value} : i{width}" if width > 1
                        else f"hw.constant {'true' if value else 'false'}",
                        lambda env: value, hint=False)
        return name, width

    def binary(self):
        a, width = self.pick()
        b, _ = self.pick(width)
        name = self.rng.choice(("add", "sub", "mul", "and", "or", "xor", "shl", "shru", "shrs"))
        if name in ("add", "mul", "and", "or", "xor") and self.rng.random() < 0.3:
            return self.variadic(name, width)
        if name.startswith("sh"):
            function = lambda env: shift(name, env[a], env[b], width)
        else:
            function = lambda env: self.fold(name, [env[a], env[b]], width)
        return self.add(width, f"comb.{name} {a}, {b} : i{width}", function)

    @staticmethod
    def fold(name, values, width):
        total = values[0]
        for value in values[1:]:
            total = {"add": total + value, "sub": total - value, "mul": total * value,
                     "and": total & value, "or": total | value, "xor": total ^ value}[name]
        return total & mask(width)

    def variadic(self, name, width):
        operands = [self.pick(width)[0] for _ in range(self.rng.randint(3, 5))]
        return self.add(width, f"comb.{name} {', '.join(operands)} : i{width}",
                        lambda env: self.fold(name, [env[o] for o in operands], width))

    def product(self):
        """Of factors that are extended, which is printed in another way."""
        width = self.rng.randint(2, 70)
        factors = [self.extended(width) for _ in range(2)]
        return self.add(width, f"comb.mul {factors[0]}, {factors[1]} : i{width}",
                        lambda env: env[factors[0]] * env[factors[1]] & mask(width))

    def extended(self, width):
        narrow = [v for v in self.values if v[1] < width]
        if not narrow:
            return self.constant(width)[0]
        a, size = self.rng.choice(narrow)
        gap = width - size
        if self.rng.random() < 0.5:
            zero = self.add(gap, f"hw.constant 0 : i{gap}" if gap > 1 else "hw.constant false",
                            lambda env: 0, hint=False)
            return self.add(width, f"comb.concat {zero}, {a} : i{gap}, i{size}",
                            lambda env: env[a])
        bit = self.add(1, f"comb.extract {a} from {size - 1} : (i{size}) -> i1",
                       lambda env: env[a] >> (size - 1))
        many = self.add(gap, f"comb.replicate {bit} : (i1) -> i{gap}",
                        lambda env: mask(gap) * env[bit])
        return self.add(width, f"comb.concat {many}, {a} : i{gap}, i{size}",
                        lambda env: signed(env[a], size) & mask(width))

    def icmp(self):
        a, width = self.pick()
        b, _ = self.pick(width)
        predicate = self.rng.choice(PREDICATES)
        return self.add(1, f"comb.icmp {predicate} {a}, {b} : i{width}",
                        lambda env: compare(predicate, env[a], env[b], width))

    def mux(self):
        c, _ = self.pick(1)
        a, width = self.pick()
        b, _ = self.pick(width)
        return self.add(width, f"comb.mux {c}, {a}, {b} : i{width}",
                        lambda env: env[a] if env[c] else env[b])

    def extract(self):
        a, width = self.pick()
        size = self.rng.randint(1, width)
        low = self.rng.randint(0, width - size)
        return self.add(size, f"comb.extract {a} from {low} : (i{width}) -> i{size}",
                        lambda env: env[a] >> low & mask(size))

    def concat(self):
        parts = [self.pick() for _ in range(self.rng.randint(1, 4))]
        names, types = zip(*((name, f"i{width}") for name, width in parts))
        return self.add(sum(width for _, width in parts),
                        f"comb.concat {', '.join(names)} : {', '.join(types)}",
                        lambda env: joined([(env[name], width) for name, width in parts]))

    def replicate(self):
        a, width = self.pick()
        times = self.rng.randint(1, 3)
        return self.add(width * times, f"comb.replicate {a} : (i{width}) -> i{width * times}",
                        lambda env: joined([(env[a], width)] * times))

    def register(self):
        """A register, or a row of them, with a reset or what it holds at first."""
        a, width = self.pick()
        e, _ = self.pick(1)
        r, _ = self.pick(1)
        c, _ = self.constant(width)
        first = dict(self.steps)[c]({})
        rows = self.rng.choice((1, 1, 1, 2, 3, 20))
        enabled = rows > 1 or self.rng.random() < 0.6
        resets = self.rng.random() < 0.5
        reset = f" reset {r}, {c}" if resets else ""
        number = self.number()
        key = f"s{number}"
        self.state[key] = [first] * rows
        if rows > 1:
            text = f"seq.shiftreg[{rows}] {a}, %clk, {e}{reset} powerOn {c} : i{width}"
        else:
            start = f"%init{number}"
            self.lines.append(f"  {start} = seq.initial () {{\n    %k = hw.constant {first} : i{width}\n"
                              f"    seq.yield %k : i{width}\n  }} : () -> !seq.immutable<i{width}>")
            op = f"seq.compreg.ce {a}, %clk, {e}" if enabled else f"seq.compreg {a}, %clk"
            text = f"{op}{reset} initial {start} : i{width}"
        self.edges.append(lambda env: self.shift_in(key, env, a, e if enabled else None,
                                                    r if resets else None, first))
        return self.add(width, text, lambda env: self.state[key][-1], hint=False)

    def shift_in(self, key, env, a, e, r, first):
        if r and env[r]:
            return lambda: self.state.update({key: [first] * len(self.state[key])})
        if e and not env[e]:
            return lambda: None
        return lambda value=env[a]: self.state.update({key: [value] + self.state[key][:-1]})

    def memory(self):
        """A memory with contents, one port that writes and one that reads."""
        bits = self.rng.randint(1, 4)
        depth = 1 << bits
        width = self.rng.choice((1, 4, 8, 20, 64, 72))
        late = self.rng.random() < 0.5
        words = [self.rng.getrandbits(width) for _ in range(depth)]
        number = self.number()
        name, key = f"%m{number}", f"m{number}"
        text = ", ".join(str(word) if width > 1 else str(bool(word)).lower() for word in words)
        self.lines.append(
            f"  {name} = seq.firmem {int(late)}, 1, old, undefined {{init = #seq.firmem.init<"
            f'"{self.name}_{number}.hex", false, false>, seq.contents = dense<[{text}]> : '
            f"tensor<{depth}xi{width}>}} : <{depth} x {width}>")
        read_at, write_at = self.pick(bits)[0], self.pick(bits)[0]
        enable, writes, data = self.pick(1)[0], self.pick(1)[0], self.pick(width)[0]
        self.lines.append(f"  seq.firmem.write_port {name}[{write_at}] = {data}, clock %clk enable "
                          f"{writes} : <{depth} x {width}>")
        self.state[key] = words
        held = self.read_late(key, read_at, enable) if late else None
        self.edges.append(lambda env: self.store(key, env, write_at, writes, data))
        port = f"seq.firmem.read_port {name}[{read_at}], clock %clk" + (
            f" enable {enable}" if late else "") + f" : <{depth} x {width}>"
        if not late:
            return self.add(width, port, lambda env: self.state[key][env[read_at]], hint=False)
        word = self.add(width, port, lambda env: self.state[held], hint=False)
        # What it gives before the first read is not known: it is not used but where it is.
        known = self.add(1, f"comb.icmp eq {enable}, {enable} : i1", lambda env: 1)
        self.values.remove((word, width))
        return known

    def read_late(self, key, address, enable):
        held = key + "_word"
        self.state[held] = 0
        self.edges.append(lambda env: (lambda value=self.state[key][env[address]]:
                                       self.state.update({held: value})) if env[enable]
                          else (lambda: None))
        return held

    def store(self, key, env, address, enable, data):
        if not env[enable]:
            return lambda: None
        at, value = env[address], env[data]

        def write():
            self.state[key] = list(self.state[key])
            self.state[key][at] = value
        return write

    # Text and model.

    def text(self):
        ports = ["in %clk: !seq.clock"] + [f"in {name}: i{width}" for name, width in self.inputs]
        ports += [f"out o{i}: i{width}" for i, (_, width) in enumerate(self.outputs)]
        names = ", ".join(name for name, _ in self.outputs)
        types = ", ".join(f"i{width}" for _, width in self.outputs)
        body = "\n".join(self.lines)
        return (f"hw.module @{self.name}({', '.join(ports)}) {{\n{body}\n"
                f"  hw.output {names} : {types}\n}}\n")

    def step(self, inputs):
        env = dict(zip((name for name, _ in self.inputs), inputs))
        for name, function in self.steps:
            env[name] = function(env)
        updates = [edge(env) for edge in self.edges]
        for update in updates:
            update()
        return [env[name] for name, _ in self.outputs]


def random_design(name, rng, has_state):
    design = Design(name, rng)
    for _ in range(rng.randint(2, 8)):
        design.input(rng.choice(WIDTHS))
    design.input(1)
    logic = (design.binary, design.binary, design.product, design.icmp, design.mux,
             design.extract, design.concat, design.replicate)
    state = (design.register, design.register, design.memory) if has_state else ()
    for _ in range(rng.randint(5, 40)):
        rng.choice(logic + state)()
        # Concatenations of concatenations would grow without end.
        design.values = [v for v in design.values if v[1] <= 200]
    design.outputs = design.values[-rng.randint(1, 10):]
    return design
