"""Random functions of arith, math, tensor and linalg ops, for comparison with
upstream's runner. A function @t<k> takes tensors; @run<k> calls it with
constants and gives bits as i64, so that integers and floats compare exactly.

Undefined behaviour is kept out: divisors are odd and positive, shifts smaller
than the width, conversions to integers in range.
"""
import dataclasses
import random
import struct

COUNT = 40                              # elements of the scalar tests
WIDTHS = (1, 2, 3, 7, 8, 13, 16, 31, 32, 33, 63, 64)
FLOATS = {"f32": ("f", 32), "f64": ("d", 64)}
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, float("inf"), float("-inf"),
           float("nan"), 1e-40, -1e-45, 3.4e38, 16777217.0)
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
FLOAT_PREDICATES = ("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq",
                    "ugt", "uge", "ult", "ule", "une", "uno", "true")
LIBRARY = ("atan", "cbrt", "cos", "erf", "exp", "exp2", "expm1", "log", "log10", "log1p",
           "log2", "sin", "sqrt", "tan", "tanh", "rsqrt")
EXACT = ("absf", "ceil", "floor", "round", "roundeven", "trunc", "sqrt")


@dataclasses.dataclass
class Case:
    """Functions @t<k> and @run<k>. `floats` is the type whose bits they give,
    where they may differ by `tolerance`; None: exact."""
    name: str
    text: str
    shape: tuple
    floats: str = None
    tolerance: float = 0.0


def float_bits(value, kind):
    letter, width = FLOATS[kind]
    try:
        raw = struct.pack("<" + letter, value)
    except OverflowError:
        raw = struct.pack("<" + letter, float("inf") if value > 0 else float("-inf"))
    return f"0x{int.from_bytes(raw, 'little'):0{width // 4}X}"


class Generator:
    def __init__(self, rng):
        self.rng = rng

    # Elementwise functions as the body of a generic.

    def integers(self, bits, count=COUNT):
        edge = [0, 1, -1, 2, (1 << (bits - 1)) - 1, -(1 << (bits - 1))]
        half = 1 << (bits - 1)
        return [self.rng.choice(edge) if self.rng.random() < 0.3
                else self.rng.randrange(-half, half) for _ in range(count)]

    def body(self, number, inputs, lines, result, shape=(COUNT,)):
        """inputs: (type, list of element texts); lines compute %r : result."""
        dims = "x".join(map(str, shape))
        kinds = [f"tensor<{dims}x{kind}>" for kind, _ in inputs]
        names = [f"%x{i}" for i in range(len(inputs))]
        rank = len(shape)
        loops = ", ".join(f"d{i}" for i in range(rank))
        maps = ", ".join([f"affine_map<({loops}) -> ({loops})>"] * (len(inputs) + 1))
        kind = result
        convert = []
        if result in FLOATS:
            width = FLOATS[result][1]
            convert.append(f"%bits = arith.bitcast %r : {result} to i{width}")
            kind = f"i{width}"
        else:
            convert.append(f"%bits = arith.addi %r, %zero : {kind}")
            lines = [f"%zero = arith.constant 0 : {kind}"] + lines
            if kind == "i1":
                lines[0] = "%zero = arith.constant false"
        convert.append("%wide = arith.addi %bits, %nil : i64" if kind == "i64" else
                       f"%wide = arith.extsi %bits : {kind} to i64")
        text = "\n      ".join(["%nil = arith.constant 0 : i64", *lines, *convert,
                                "linalg.yield %wide : i64"])
        elements = ", ".join(f"%a{i}: {kind}" for i, (kind, _) in enumerate(inputs))
        out = f"tensor<{dims}xi64>"
        signature = ", ".join(f"{n}: {k}" for n, k in zip(names, kinds))
        iterators = ", ".join(['"parallel"'] * rank)
        function = f"""
  func.func @t{number}({signature}) -> {out} {{
    %empty = tensor.empty() : {out}
    %0 = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}}
        ins({', '.join(names)} : {', '.join(kinds)}) outs(%empty : {out}) {{
    ^bb0({elements}, %o: i64):
      {text}
    }} -> {out}
    return %0 : {out}
  }}"""
        return function + self.caller(number, kinds, [v for _, v in inputs], out)

    @staticmethod
    def caller(number, kinds, values, out):
        lines = [f"%c{i} = arith.constant dense<{text}> : {kind}"
                 for i, (kind, text) in enumerate(zip(kinds, values))]
        names = ", ".join(f"%c{i}" for i in range(len(kinds)))
        body = "\n    ".join(lines)
        return f"""
  func.func @run{number}() -> {out} {{
    {body}
    %r = call @t{number}({names}) : ({', '.join(kinds)}) -> {out}
    return %r : {out}
  }}"""

    def integer_inputs(self, bits, count):
        """i64 arrays, and lines that cut them to the width."""
        inputs, lines = [], []
        for i in range(count):
            inputs.append(("i64", str(self.integers(bits))))
            lines.append(f"%v{i} = arith.addi %a{i}, %nil : i64" if bits == 64 else
                         f"%v{i} = arith.trunci %a{i} : i64 to i{bits}")
        return inputs, lines

    def divisor(self, bits, lines):
        mask = (1 << (bits - 2)) - 1
        lines += [f"%m = arith.constant {mask} : i{bits}", f"%one = arith.constant 1 : i{bits}",
                  f"%d0 = arith.andi %v1, %m : i{bits}", f"%d = arith.ori %d0, %one : i{bits}"]
        return "%d"

    def amount(self, bits, lines):
        lines += [f"%w = arith.constant {bits} : i{bits}" if bits > 2 else
                  f"%w = arith.constant {'true' if bits == 1 else '-2'}{'' if bits == 1 else ' : i2'}",
                  f"%d = arith.remui %v1, %w : i{bits}"]
        return "%d"

    def integer_case(self, number):
        bits = self.rng.choice(WIDTHS)
        inputs, lines = self.integer_inputs(bits, 2)
        plain = ["addi", "subi", "muli", "andi", "ori", "xori", "maxsi", "maxui", "minsi", "minui"]
        divide = ["divsi", "divui", "remsi", "remui", "ceildivsi", "floordivsi", "ceildivui"]
        shift = ["shli", "shrsi", "shrui"]
        op = self.rng.choice(plain + (divide if bits > 2 else []) + shift)
        right = "%v1"
        if op in divide:
            right = self.divisor(bits, lines)
        elif op in shift:
            right = self.amount(bits, lines)
        left = "%v0"
        if op == "ceildivsi":           # upstream negates the dividend: not the least one
            lines.append(f"%half = arith.shrsi %v0, %one : i{bits}")
            left = "%half"
        lines.append(f"%r = arith.{op} {left}, {right} : i{bits}")
        return Case(f"{op}-i{bits}", self.body(number, inputs, lines, f"i{bits}"), (COUNT,))

    def extended_case(self, number):
        bits = self.rng.choice(WIDTHS)
        inputs, lines = self.integer_inputs(bits, 2)
        op = self.rng.choice(["addui_extended", "mulsi_extended", "mului_extended"])
        lines.append(f"%lo, %hi = arith.{op} %v0, %v1 : i{bits}"
                     + (", i1" if op.startswith("add") else ""))
        pick, kind = self.rng.choice([("%lo", f"i{bits}"),
                                      ("%hi", "i1" if op.startswith("add") else f"i{bits}")])
        lines.append(f"%f = arith.constant {'false' if kind == 'i1' else f'0 : {kind}'}")
        lines.append(f"%r = arith.xori {pick}, %f : {kind}")
        return Case(f"{op}-i{bits}", self.body(number, inputs, lines, kind), (COUNT,))

    def compare_case(self, number):
        bits, predicate = self.rng.choice(WIDTHS), self.rng.choice(PREDICATES)
        inputs, lines = self.integer_inputs(bits, 2)
        lines += [f"%p = arith.cmpi {predicate}, %v0, %v1 : i{bits}",
                  f"%r = arith.select %p, %v0, %v1 : i{bits}"]
        return Case(f"cmpi-{predicate}-i{bits}", self.body(number, inputs, lines, f"i{bits}"),
                    (COUNT,))

    def resize_case(self, number):
        small, large = sorted(self.rng.sample(WIDTHS, 2))
        op = self.rng.choice(["extsi", "extui", "trunci"])
        source, target = (large, small) if op == "trunci" else (small, large)
        inputs, lines = self.integer_inputs(source, 1)
        lines.append(f"%r = arith.{op} %v0 : i{source} to i{target}")
        return Case(f"{op}-i{source}-i{target}", self.body(number, inputs, lines, f"i{target}"),
                    (COUNT,))

    def bits_case(self, number):
        bits, op = self.rng.choice(WIDTHS[1:]), self.rng.choice(["absi", "ctlz", "cttz", "ctpop"])
        inputs, lines = self.integer_inputs(bits, 1)
        lines.append(f"%r = math.{op} %v0 : i{bits}")
        return Case(f"{op}-i{bits}", self.body(number, inputs, lines, f"i{bits}"), (COUNT,))

    def floats(self, kind, values=None):
        drawn = values or [self.rng.choice(SPECIAL) if self.rng.random() < 0.3 else
                           self.rng.uniform(-4, 4) * 2.0 ** self.rng.randint(-8, 8)
                           for _ in range(COUNT)]
        return kind, "[" + ", ".join(float_bits(v, kind) for v in drawn) + "]"

    def float_case(self, number):
        kind = self.rng.choice(list(FLOATS))
        op = self.rng.choice(["addf", "subf", "mulf", "divf", "maximumf", "minimumf", "remf"])
        lines = [f"%r = arith.{op} %a0, %a1 : {kind}"]
        text = self.body(number, [self.floats(kind), self.floats(kind)], lines, kind)
        # Upstream's expansion does not tell the zeros apart.
        tolerance = 1e-12 if op in ("maximumf", "minimumf") else 0.0
        return Case(f"{op}-{kind}", text, (COUNT,), kind, tolerance)

    def narrow_float_case(self, number):
        """f32 rounded to a narrower format, computed with there, and back; no
        subnormal numbers, which upstream rounds to zero."""
        op = self.rng.choice(["addf", "subf", "mulf", "divf"])
        lines = ["%n0 = arith.truncf %a0 : f32 to bf16", "%n1 = arith.truncf %a1 : f32 to bf16",
                 f"%n = arith.{op} %n0, %n1 : bf16", "%r = arith.extf %n : bf16 to f32"]
        values = [[self.rng.uniform(-4, 4) for _ in range(COUNT)] for _ in range(2)]
        text = self.body(number, [self.floats("f32", v) for v in values], lines, "f32")
        return Case(f"{op}-bf16", text, (COUNT,), "f32")

    def float_compare_case(self, number):
        kind, predicate = self.rng.choice(list(FLOATS)), self.rng.choice(FLOAT_PREDICATES)
        lines = [f"%r = arith.cmpf {predicate}, %a0, %a1 : {kind}"]
        text = self.body(number, [self.floats(kind), self.floats(kind)], lines, "i1")
        return Case(f"cmpf-{predicate}-{kind}", text, (COUNT,))

    def to_float_case(self, number):
        bits, kind = self.rng.choice(WIDTHS[2:]), self.rng.choice(list(FLOATS))
        op = self.rng.choice(["sitofp", "uitofp"])
        inputs, lines = self.integer_inputs(bits, 1)
        lines.append(f"%r = arith.{op} %v0 : i{bits} to {kind}")
        return Case(f"{op}-i{bits}-{kind}", self.body(number, inputs, lines, kind), (COUNT,), kind)

    def to_integer_case(self, number):
        bits, kind = self.rng.choice(WIDTHS[3:]), self.rng.choice(list(FLOATS))
        op = self.rng.choice(["fptosi", "fptoui"])
        limit = float(1 << min(bits - 1, 40)) * 0.99
        low = -limit if op == "fptosi" else -0.9
        values = [self.rng.uniform(low, limit) for _ in range(COUNT)]
        lines = [f"%r = arith.{op} %a0 : {kind} to i{bits}"]
        text = self.body(number, [self.floats(kind, values)], lines, f"i{bits}")
        return Case(f"{op}-{kind}-i{bits}", text, (COUNT,))

    def exact_math_case(self, number):
        kind, op = self.rng.choice(list(FLOATS)), self.rng.choice(EXACT)
        lines = [f"%r = math.{op} %a0 : {kind}"]
        text = self.body(number, [self.floats(kind)], lines, kind)
        return Case(f"{op}-{kind}", text, (COUNT,), kind)

    def library_case(self, number):
        kind, op = self.rng.choice(list(FLOATS)), self.rng.choice(LIBRARY)
        values = [self.rng.uniform(0.01, 3) for _ in range(COUNT)]
        lines = [f"%r = math.{op} %a0 : {kind}"]
        text = self.body(number, [self.floats(kind, values)], lines, kind)
        return Case(f"{op}-{kind}", text, (COUNT,), kind, 1e-6)

    def binary_math_case(self, number):
        kind = self.rng.choice(list(FLOATS))
        op, tolerance = self.rng.choice([("atan2", 1e-6), ("powf", 1e-6), ("copysign", 0.0)])
        values = [[self.rng.uniform(0.01, 3) for _ in range(COUNT)] for _ in range(2)]
        lines = [f"%r = math.{op} %a0, %a1 : {kind}"]
        text = self.body(number, [self.floats(kind, v) for v in values], lines, kind)
        return Case(f"{op}-{kind}", text, (COUNT,), kind, tolerance)

    def fma_case(self, number):
        kind = self.rng.choice(list(FLOATS))
        lines = [f"%r = math.fma %a0, %a1, %a2 : {kind}"]
        text = self.body(number, [self.floats(kind) for _ in range(3)], lines, kind)
        return Case(f"fma-{kind}", text, (COUNT,), kind)

    # Whole tensors of i64.

    def whole(self, number, shapes, lines, out_shape):
        """Lines compute %r from arguments %x0, … of these shapes."""
        kinds = ["tensor<" + "".join(f"{d}x" for d in s) + "i64>" for s in shapes]
        out = "tensor<" + "".join(f"{d}x" for d in out_shape) + "i64>"
        signature = ", ".join(f"%x{i}: {k}" for i, k in enumerate(kinds))
        body = "\n    ".join(lines)
        text = f"""
  func.func @t{number}({signature}) -> {out} {{
    {body}
    return %r : {out}
  }}"""
        values = [nested(self.integers(8, product(s)), s) for s in shapes]
        return text + self.caller(number, kinds, values, out)

    def shape(self, rank=None, longest=6):
        return tuple(self.rng.randint(1, longest) for _ in range(rank or self.rng.randint(1, 4)))

    def slice_case(self, number):
        source = self.shape()
        offsets, sizes, strides = [], [], []
        for extent in source:
            stride = self.rng.randint(1, 2)
            size = self.rng.randint(1, (extent + stride - 1) // stride)
            offsets.append(self.rng.randint(0, extent - (size - 1) * stride - 1))
            sizes.append(size)
            strides.append(stride)
        kind, part = tensor_of(source), tensor_of(sizes)
        where = f"{offsets} {sizes} {strides}"
        if self.rng.random() < 0.5:
            lines = [f"%r = tensor.extract_slice %x0{where} : {kind} to {part}"]
            return Case("extract_slice", self.whole(number, [source], lines, sizes), tuple(sizes))
        lines = [f"%r = tensor.insert_slice %x1 into %x0{where} : {part} into {kind}"]
        return Case("insert_slice", self.whole(number, [source, sizes], lines, source), source)

    def pad_case(self, number):
        source = self.shape(longest=4)
        low = [self.rng.randint(0, 2) for _ in source]
        high = [self.rng.randint(0, 2) for _ in source]
        out = tuple(a + b + c for a, b, c in zip(source, low, high))
        indices = ", ".join(f"%i{i}: index" for i in range(len(source)))
        lines = [f"%r = tensor.pad %x0 low{low} high{high} {{", f"^bb0({indices}):",
                 "%v = arith.index_cast %i0 : index to i64", "tensor.yield %v : i64",
                 f"}} : {tensor_of(source)} to {tensor_of(out)}"]
        return Case("pad", self.whole(number, [source], lines, out), out)

    def reshape_case(self, number):
        groups = [[self.rng.randint(1, 4) for _ in range(self.rng.randint(1, 3))]
                  for _ in range(self.rng.randint(1, 3))]
        long = tuple(d for group in groups for d in group)
        short = tuple(product(group) for group in groups)
        places, at = [], 0
        for group in groups:
            places.append(list(range(at, at + len(group))))
            at += len(group)
        if self.rng.random() < 0.5:
            lines = [f"%r = tensor.collapse_shape %x0 {places} : {tensor_of(long)} into "
                     f"{tensor_of(short)}"]
            return Case("collapse_shape", self.whole(number, [long], lines, short), short)
        lines = [f"%r = tensor.expand_shape %x0 {places} output_shape {list(long)} : "
                 f"{tensor_of(short)} into {tensor_of(long)}"]
        return Case("expand_shape", self.whole(number, [short], lines, long), long)

    def generate_case(self, number):
        out = self.shape(rank=2)
        lines = ["%r = tensor.generate {", "^bb0(%i: index, %j: index):",
                 "%k = arith.muli %i, %j : index", "%l = arith.remui %k, %n : index",
                 "%e = tensor.extract %x0[%l] : tensor<5xi64>",
                 "%m = arith.index_cast %j : index to i64", "%s = arith.addi %e, %m : i64",
                 "tensor.yield %s : i64", f"}} : {tensor_of(out)}"]
        lines.insert(0, "%n = arith.constant 5 : index")
        return Case("generate", self.whole(number, [(5,)], lines, out), out)

    def transpose_case(self, number):
        source = self.shape(rank=3)
        perm = self.rng.sample(range(3), 3)
        out = tuple(source[p] for p in perm)
        lines = [f"%e = tensor.empty() : {tensor_of(out)}",
                 f"%r = linalg.transpose ins(%x0 : {tensor_of(source)}) "
                 f"outs(%e : {tensor_of(out)}) permutation = {perm}"]
        return Case("transpose", self.whole(number, [source], lines, out), out)

    def reduce_case(self, number):
        source = self.shape(rank=3)
        dims = sorted(self.rng.sample(range(3), self.rng.randint(1, 3)))
        out = tuple(d for i, d in enumerate(source) if i not in dims)
        op = self.rng.choice(["addi", "maxsi", "muli", "subi"])
        lines = [f"%r = linalg.reduce ins(%x0 : {tensor_of(source)}) "
                 f"outs(%x1 : {tensor_of(out)}) dimensions = {dims}",
                 "  (%in: i64, %acc: i64) {", f"    %s = arith.{op} %acc, %in : i64",
                 "    linalg.yield %s : i64", "  }"]
        return Case(f"reduce-{op}", self.whole(number, [source, out], lines, out), out)

    def named(self, number, name, shapes, attrs=""):
        *ins, out = shapes
        kinds = ", ".join(tensor_of(s) for s in ins)
        names = ", ".join(f"%x{i}" for i in range(len(ins)))
        lines = [f"%r = linalg.{name} {attrs} ins({names} : {kinds}) "
                 f"outs(%x{len(ins)} : {tensor_of(out)}) -> {tensor_of(out)}"]
        return Case(name, self.whole(number, shapes, lines, out), tuple(out))

    def matmul_case(self, number):
        b, m, n, k = (self.rng.randint(1, 7) for _ in range(4))
        name, shapes = self.rng.choice([
            ("matmul", [(m, k), (k, n), (m, n)]),
            ("matmul_transpose_b", [(m, k), (n, k), (m, n)]),
            ("batch_matmul", [(b, m, k), (b, k, n), (b, m, n)]),
            ("matvec", [(m, k), (k,), (m,)]),
            ("vecmat", [(k,), (k, n), (n,)]),
            ("dot", [(k,), (k,), ()]),
            ("batch_reduce_matmul", [(b, m, k), (b, k, n), (m, n)]),
            ("add", [(m, n), (m, n), (m, n)]),
            ("max", [(m, n), (m, n), (m, n)])])
        return self.named(number, name, shapes)

    def window_case(self, number):
        n, c, f = self.rng.randint(1, 2), self.rng.randint(1, 5), self.rng.randint(1, 5)
        kernel = [self.rng.randint(1, 3) for _ in range(2)]
        stride = [self.rng.randint(1, 2) for _ in range(2)]
        dilation = [self.rng.randint(1, 2) for _ in range(2)]
        out = [self.rng.randint(1, 5) for _ in range(2)]
        size = [(o - 1) * s + (k - 1) * d + 1 for o, s, k, d in zip(out, stride, kernel, dilation)]
        name, shapes = self.rng.choice([
            ("conv_2d_nhwc_hwcf", [(n, *size, c), (*kernel, c, f), (n, *out, f)]),
            ("conv_2d_nchw_fchw", [(n, c, *size), (f, c, *kernel), (n, f, *out)]),
            ("depthwise_conv_2d_nhwc_hwc", [(n, *size, c), (*kernel, c), (n, *out, c)]),
            ("depthwise_conv_2d_nchw_chw", [(n, c, *size), (c, *kernel), (n, c, *out)]),
            ("pooling_nhwc_sum", [(n, *size, c), tuple(kernel), (n, *out, c)]),
            ("pooling_nchw_max", [(n, c, *size), tuple(kernel), (n, c, *out)])])
        attrs = (f"{{dilations = dense<{dilation}> : vector<2xi64>, "
                 f"strides = dense<{stride}> : vector<2xi64>}}")
        return self.named(number, name, shapes, attrs)

    def case(self, number):
        kinds = [self.integer_case] * 4 + [self.compare_case, self.float_case] * 2 + [
            self.extended_case, self.resize_case, self.bits_case, self.narrow_float_case,
            self.float_compare_case, self.to_float_case, self.to_integer_case,
            self.exact_math_case, self.library_case, self.binary_math_case, self.fma_case,
            self.slice_case, self.pad_case, self.reshape_case, self.generate_case,
            self.transpose_case, self.reduce_case, self.matmul_case, self.window_case]
        return self.rng.choice(kinds)(number)


def product(extents):
    total = 1
    for extent in extents:
        total *= extent
    return total


def tensor_of(shape):
    return "tensor<" + "".join(f"{d}x" for d in shape) + "i64>"


def nested(values, shape):
    if not shape:
        return str(values[0])
    step = len(values) // shape[0]
    parts = (nested(values[i * step:(i + 1) * step], shape[1:]) for i in range(shape[0]))
    return "[" + ", ".join(parts) + "]"


def generate(seed, count):
    generator = Generator(random.Random(seed))
    return [generator.case(number) for number in range(count)]
