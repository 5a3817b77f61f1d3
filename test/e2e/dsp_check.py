"""Runs ming_dsp of the library in Icarus beside a model of it: chains of slices of one kind, with
random widths, registers and pre-adders, under random operands and enables.
"""
import dataclasses
import pathlib

from run_check import Failure

RTL = pathlib.Path(__file__).resolve().parents[2] / "emit/rtl"
SOURCES = [RTL / "ming_dsp.v", RTL / "ming_primitives.v"]
PORTS = {"generic": (27, 18), "DSP48E1": (25, 18), "DSP48E2": (27, 18)}
ENABLES = ("ce_first", "ce_in", "ce_product", "ce_sum")
ALONE, ADDS_C, CASCADE = range(3)


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (value >> bits - 1 << bits)


def random_signed(rng, bits):
    """Often one of the ends."""
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    return rng.choice((low, high, -1, 0, rng.randint(low, high), rng.randint(low, high)))


@dataclasses.dataclass
class Slice:
    """A slice and its registers, None for what nothing has set."""
    a_width: int
    b_width: int
    c_width: int
    d_width: int
    p_width: int
    a_registers: int
    b_registers: int
    pre_add: int
    sum: int
    first_a: int = None
    first_b: int = None
    a: int = None
    b: int = None
    d: int = None
    product: int = None
    total: int = None

    @staticmethod
    def random(rng, kind, place):
        """`place` in its chain; the first one has no cascade."""
        wide, narrow = PORTS[kind]
        pre_add = rng.randint(0, 1)
        most = wide - pre_add           # the sum fits the port, too
        total = rng.choice((ALONE, ADDS_C)) if place == 0 else CASCADE
        return Slice(rng.randint(1, most), rng.randint(1, narrow), rng.randint(1, 48),
                     rng.randint(1, most) if pre_add else 1, rng.randint(1, 48),
                     1 if pre_add else rng.randint(1, 2), rng.randint(1, 2), pre_add, total)

    def parameters(self, kind):
        given = ", ".join(f".{name.upper()}({getattr(self, name)})" for name in (
            "a_width", "b_width", "c_width", "d_width", "p_width", "a_registers", "b_registers",
            "pre_add", "sum"))
        return f'.KIND("{kind}"), {given}'

    def output(self):
        return self.product if self.sum == ALONE else self.total

    def step(self, values, enables, below):
        """`below`: the sum of the slice below before the edge."""
        a, b, c, d = values
        first, taken, product, total = enables
        addend = c if self.sum == ADDS_C else below
        if total:
            known = self.product is not None and addend is not None
            self.total = signed(self.product + addend, 48) if known else None
        if product:
            known = self.a is not None and self.b is not None
            self.product = (self.a + self.d * self.pre_add) * self.b if known else None
        if taken:
            self.a = self.first_a if self.a_registers == 2 else a
            self.b = self.first_b if self.b_registers == 2 else b
            self.d = d
        if first:
            self.first_a, self.first_b = a, b


def testbench(kind, slices, vectors):
    lines = ["module tb;", "    reg clk = 0;", "    reg [3:0] ce;"]
    for i, s in enumerate(slices):
        lines += [f"    reg [{getattr(s, name + '_width') - 1}:0] {name}{i};" for name in "abcd"]
        pcin = f"pc{i - 1}" if i else "48'd0"
        lines.append(f"    wire [47:0] pc{i}; wire [{s.p_width - 1}:0] p{i};")
        pins = [f".{name}(ce[{bit}])" for bit, name in enumerate(ENABLES)]
        pins += [f".{name}({name}{i})" for name in "abcdp"]
        lines.append(f"    ming_dsp #({s.parameters(kind)}) dsp{i} (.clk(clk), {', '.join(pins)}, "
                     f".pcin({pcin}), .pcout(pc{i}));")
    lines.append("    initial begin")
    for enables, values in vectors:
        lines.append(f"        ce = {sum(on << bit for bit, on in enumerate(enables))};")
        for i, (s, row) in enumerate(zip(slices, values)):
            for name, value in zip("abcd", row):
                width = getattr(s, name + "_width")
                lines.append(f"        {name}{i} = {width}'h{value & (1 << width) - 1:x};")
        shown = ", ".join(f"p{i}" for i in range(len(slices)))
        lines.append(f'        #1 clk = 1; #1 $display("{" ".join(["%h"] * len(slices))}", {shown});'
                     " clk = 0;")
    return "\n".join([*lines, "        $finish;", "    end", "endmodule", ""])


def random_values(rng, s):
    return [random_signed(rng, width) for width in (s.a_width, s.b_width, s.c_width, s.d_width)]


def check(folder, rng, kind, simulate, lint, cycles):
    """simulate, lint: those of verilog_check."""
    folder.mkdir(parents=True)
    slices = [Slice.random(rng, kind, place) for place in range(rng.randint(1, 4))]
    often = rng.choice((0.5, 0.9, 1))
    vectors = [([int(rng.random() < often) for _ in ENABLES],
                [random_values(rng, s) for s in slices]) for _ in range(cycles)]
    (folder / "tb.v").write_text(testbench(kind, slices, vectors), encoding="utf-8")
    printed = simulate(folder, "tb", ["tb.v", *SOURCES])
    for cycle, (enables, values) in enumerate(vectors):
        sums = [s.output() for s in slices]
        for place, (s, row) in enumerate(zip(slices, values)):
            s.step(row, enables, sums[place - 1] if place else None)
        for place, (s, got) in enumerate(zip(slices, printed[cycle])):
            want = s.output()
            if want is not None and got != f"{want & (1 << s.p_width) - 1:0{-(-s.p_width // 4)}x}":
                raise Failure(f"cycle {cycle}, {s.parameters(kind)}: {got}, not {want}")
    top = slices[-1]
    given = [f"-G{name.upper()}={getattr(top, name)}" for name in (
        "a_width", "b_width", "c_width", "d_width", "p_width", "a_registers", "b_registers",
        "pre_add", "sum")]
    lint(folder, "ming_dsp", f'-GKIND="{kind}"', *given, *SOURCES)
