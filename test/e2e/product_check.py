"""Runs products and quotients in Icarus: a process that multiplies the elements of a word in many
ways, as slices and of LUTs, by each other and by constants, and divides them by constants, lowered
for each kind of slice.
"""
import dataclasses

from dsp_check import random_signed, signed
from run_check import Failure, command

KINDS = {"generic": ("generic", None), "DSP48E1": ("xilinx", "DSP48E1"), "DSP48E2": ("xilinx", None)}
MOST_LANES = 8
RESULT = 64


@dataclasses.dataclass
class Factor:
    """Bits of an element of the word, extended; or a constant."""
    lane: int
    bits: int
    is_signed: bool
    constant: int = None

    @staticmethod
    def random(rng, most, lanes):
        bits = rng.randint(1, most)
        constant = rng.choice((random_signed(rng, bits), 3, -7)) if rng.random() < 0.15 else None
        return Factor(rng.randrange(lanes), bits, rng.random() < 0.7, constant)

    def value(self, word):
        if self.constant is not None:
            return self.constant
        bits = word[self.lane] & (1 << self.bits) - 1
        return signed(bits, self.bits) if self.is_signed else bits


@dataclasses.dataclass
class Product:
    a: Factor
    b: Factor
    width: int
    is_bound: bool
    sum: Factor = None      # what is added to a

    @staticmethod
    def random(rng, lanes):
        most = rng.choice(((4, 4), (9, 9), (18, 17), (26, 18)))
        a, b = (Factor.random(rng, bits, lanes) for bits in most)
        if a.constant is not None:
            b.constant = None
        width = rng.choice((a.bits + b.bits + 2, a.bits + b.bits + 2, rng.randint(1, 64)))
        added = Factor.random(rng, a.bits, lanes) if rng.random() < 0.3 else None
        return Product(a, b, width, rng.random() < 0.5, added)

    def value(self, word):
        a = self.a.value(word)
        if self.sum:
            a = signed(a + self.sum.value(word), self.inner)
        return signed(a * self.b.value(word), self.width)

    @property
    def inner(self):
        """Bits of the sum in front of the product."""
        return min(max(self.a.bits, self.sum.bits) + 2, 64)

    def text(self, index):
        lines = []

        def factor(f, name, width):
            if f.constant is not None:
                lines.append(f"%{name} = arith.constant {signed(f.constant, width)} : i{width}")
                return
            lines.append(f"%{name}_cut = arith.trunci %lane{f.lane} : i32 to i{f.bits}")
            kind = ("trunci" if width < f.bits else "") or ("extsi" if f.is_signed else "extui")
            if width == f.bits:
                lines[-1] = f"%{name} = arith.trunci %lane{f.lane} : i32 to i{f.bits}"
                return
            lines.append(f"%{name} = arith.{kind} %{name}_cut : i{f.bits} to i{width}")

        if self.sum:
            factor(self.a, f"x{index}", self.inner)
            factor(self.sum, f"y{index}", self.inner)
            lines.append(f"%s{index} = arith.addi %x{index}, %y{index} : i{self.inner}")
            kind = "extsi" if self.width > self.inner else "trunci"
            name = f"a{index}"
            if self.width == self.inner:
                name = f"s{index}"
            else:
                lines.append(f"%a{index} = arith.{kind} %s{index} : i{self.inner} to i{self.width}")
        else:
            name = f"a{index}"
            factor(self.a, name, self.width)
        factor(self.b, f"b{index}", self.width)
        bind = ' {emithls.bind = "fabric"}' if self.is_bound else ""
        lines.append(f"%p{index} = arith.muli %{name}, %b{index}{bind} : i{self.width}")
        if self.width < RESULT:
            lines.append(f"%r{index} = arith.extsi %p{index} : i{self.width} to i{RESULT}")
        result = f"r{index}" if self.width < RESULT else f"p{index}"
        lines.append(f"emithls.store %{result}, %out[affine_map<() -> ({index})>] () : i{RESULT}, "
                     f"!emithls.array<vector<%LANESxi{RESULT}>>")
        return lines


@dataclasses.dataclass
class Quotient:
    """An unsigned element by a constant, or what is left of it."""
    lane: int
    bits: int
    divisor: int
    wants_rest: bool

    @staticmethod
    def random(rng, lanes):
        bits = rng.randint(1, 24)
        most = min(1 << bits, rng.choice((8, 32, 1 << 24))) - 1
        return Quotient(rng.randrange(lanes), bits, rng.randint(1, most), rng.random() < 0.5)

    def value(self, word):
        return divmod(word[self.lane] & (1 << self.bits) - 1, self.divisor)[self.wants_rest]

    def text(self, index):
        kind = "remui" if self.wants_rest else "divui"
        divisor = signed(self.divisor, self.bits)
        return [f"%x{index} = arith.trunci %lane{self.lane} : i32 to i{self.bits}",
                f"%d{index} = arith.constant {divisor} : i{self.bits}",
                f"%p{index} = arith.{kind} %x{index}, %d{index} : i{self.bits}",
                f"%r{index} = arith.extui %p{index} : i{self.bits} to i{RESULT}",
                f"emithls.store %r{index}, %out[affine_map<() -> ({index})>] () : i{RESULT}, "
                f"!emithls.array<vector<%LANESxi{RESULT}>>"]


def design(products, lanes, words):
    """A process of the products, in a loop over the words."""
    read, results = f"vector<{lanes}xi32>", f"vector<{len(products)}xi{RESULT}>"
    body = [f'%word = emithls.variable "word" : !emithls.array<{read}>',
            f'%out = emithls.variable "results" : !emithls.array<{results}>',
            f"%w = emithls.read %in : !emithls.stream<{read}>",
            f"emithls.store %w, %word[affine_map<() -> ()>] () : {read}, !emithls.array<{read}>"]
    body += [f"%lane{i} = emithls.load %word[affine_map<() -> ({i})>] () : !emithls.array<{read}>"
             for i in range(lanes)]
    for index, product in enumerate(products):
        body += [line.replace("%LANES", str(len(products))) for line in product.text(index)]
    body += [f"%all = emithls.load %out[affine_map<() -> ()>] () : !emithls.array<{results}>",
             f"emithls.write %all, %to : {results}, !emithls.stream<{results}>"]
    inner = "\n".join(f"    {line}" for line in body)
    streams = f"!emithls.stream<{read}>, !emithls.stream<{results}>"
    return (f"emithls.func @products(%in: !emithls.stream<{read}>, %to: !emithls.stream<{results}>) "
            f'{{\n  emithls.for "nest" (%i) in [{words}] attributes {{ii = 1 : i64}} {{\n{inner}\n'
            f"  }}\n}}\nemithls.func @top(%a: !emithls.stream<{read}>, "
            f"%b: !emithls.stream<{results}>) attributes {{top}} {{\n  emithls.dataflow\n"
            f"  emithls.call @products(%a, %b) : {streams}\n}}\n")


def testbench(words, lanes, count):
    lines = ["module tb;", "    reg clk = 0, rst_n = 0, go = 0;", "    integer at = 0, left;",
             f"    reg [{32 * lanes - 1}:0] words [0:{len(words) - 1}];",
             "    wire ready, valid;",
             f"    wire [{RESULT * count - 1}:0] out;",
             "    top dut (.ap_clk(clk), .ap_rst_n(rst_n), .a_TDATA(words[at]), .a_TVALID(go), "
             ".a_TREADY(ready), .b_TDATA(out), .b_TVALID(valid), .b_TREADY(1'b1));",
             "    always @(posedge clk) begin",
             '        if (valid) $display("%h", out);',
             f"        if (ready & go) begin if (at == {len(words) - 1}) go <= 0; else at <= at + 1; end",
             "    end", "    initial begin"]
    for i, word in enumerate(words):
        value = sum((lane & 0xffffffff) << 32 * k for k, lane in enumerate(word))
        lines.append(f"        words[{i}] = {32 * lanes}'h{value:x};")
    lines += ["        repeat (4) begin #1 clk = 1; #1 clk = 0; end", "        rst_n = 1; go = 1;",
              f"        repeat ({len(words) + 60}) begin #1 clk = 1; #1 clk = 0; end",
              "        $finish;", "    end", "endmodule", ""]
    return "\n".join(lines)


def check(tools, folder, rng, kind, simulate, lint, words):
    """simulate, lint: those of verilog_check."""
    folder.mkdir(parents=True)
    primitives, slice_kind = KINDS[kind]
    lanes = rng.randint(1, MOST_LANES)
    products = [Product.random(rng, lanes) for _ in range(20)]
    products += [Quotient.random(rng, lanes) for _ in range(12)]
    text = design(products, lanes, words)
    if slice_kind:
        text = f'module attributes {{dfg.dsp_kind = "{slice_kind}"}} {{\n{text}}}\n'
    (folder / "design.mir").write_text(text, encoding="utf-8")
    command(tools / "ming-opt", folder / "design.mir",
            f"--convert-emithls-to-rtl=primitives={primitives}", "--canonicalize", "--cse", "-o",
            folder / "rtl.mir")
    command(tools / "ming-translate", "--emit-verilog", folder / "rtl.mir",
            f"--output-dir={folder / 'rtl'}")
    given = [[random_signed(rng, 32) for _ in range(lanes)] for _ in range(words)]
    (folder / "rtl" / "tb.v").write_text(testbench(given, lanes, len(products)), encoding="utf-8")
    printed = simulate(folder / "rtl", "tb", ["tb.v", "-f", "files.f"])
    if len(printed) != words:
        raise Failure(f"{len(printed)} words instead of {words}")
    for word, (line,) in zip(given, printed):
        for i, product in enumerate(products):
            digits = line[len(line) - 16 * (i + 1):len(line) - 16 * i]
            want = product.value(word) & (1 << RESULT) - 1
            if digits != f"{want:016x}":
                raise Failure(f"{product} of {word}: {digits}, not {want:016x}")
    lint(folder / "rtl", "top", "-f", "files.f")
