"""Random functions of one tosa op, for comparison with what upstream lowers
it to. As in gen_scalar, @run<k> calls @t<k> with constants and gives bits as
i64."""
import random

from gen_scalar import Case, float_bits, nested, product

UNARY_FLOAT = ("abs", "ceil", "exp", "floor", "negate", "rsqrt", "tanh", "sigmoid",
               "reciprocal", "log", "sin", "cos")
BINARY = ("add", "sub", "maximum", "minimum")
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")
REDUCTIONS = ("reduce_sum", "reduce_max", "reduce_min", "reduce_prod")


def kind_of(shape, elem):
    return "tensor<" + "".join(f"{d}x" for d in shape) + elem + ">"


class Generator:
    def __init__(self, rng):
        self.rng = rng

    def shape(self, rank=None, longest=5):
        return tuple(self.rng.randint(1, longest) for _ in range(rank or self.rng.randint(1, 4)))

    def values(self, shape, elem):
        count = product(shape)
        if elem == "f32":
            drawn = [float_bits(self.rng.uniform(0.01, 4), "f32") for _ in range(count)]
            return nested(drawn, shape)
        bits = int(elem[1:]) if elem != "i1" else 1
        half = 1 << min(bits - 1, 15)
        low, high = (0, 1) if bits == 1 else (-half, half - 1)
        drawn = [self.rng.randint(low, high) for _ in range(count)]
        return nested([str(bool(v)).lower() for v in drawn] if bits == 1 else drawn, shape)

    def function(self, number, name, operands, line, out_shape, elem, tolerance=0.0, values=None):
        """operands: (shape, element) of %x0, …; `line` computes %r."""
        kinds = [kind_of(*operand) for operand in operands]
        out, bits = kind_of(out_shape, elem), kind_of(out_shape, "i64")
        signature = ", ".join(f"%x{i}: {kind}" for i, kind in enumerate(kinds))
        texts = values or [self.values(*operand) for operand in operands]
        constants = "\n    ".join(f"%c{i} = arith.constant dense<{text}> : {kind}"
                                  for i, (kind, text) in enumerate(zip(kinds, texts)))
        names = ", ".join(f"%c{i}" for i in range(len(kinds)))
        wide = f"%w = arith.extsi %y : {out} to {bits}"
        if elem == "f32":
            word = kind_of(out_shape, "i32")
            wide = (f"%b = arith.bitcast %y : {out} to {word}\n    "
                    f"%w = arith.extsi %b : {word} to {bits}")
        text = f"""
  func.func @t{number}({signature}) -> {out} {{
    {line} : ({', '.join(kinds)}) -> {out}
    return %r : {out}
  }}
  func.func @run{number}() -> {bits} {{
    {constants}
    %y = call @t{number}({names}) : ({', '.join(kinds)}) -> {out}
    {wide}
    return %w : {bits}
  }}"""
        return Case(name, text, out_shape, "f32" if elem == "f32" else None, tolerance)

    def unary_case(self, number):
        op, shape = self.rng.choice(UNARY_FLOAT), self.shape()
        return self.function(number, op, [(shape, "f32")], f"%r = tosa.{op} %x0", shape, "f32", 1e-6)

    def integer_unary_case(self, number):
        shape = self.shape()
        op, elem = self.rng.choice([("abs", "i32"), ("clz", "i32"), ("bitwise_not", "i8"),
                                    ("negate", "i32"), ("logical_not", "i1"), ("identity", "i16")])
        return self.function(number, f"{op}-{elem}", [(shape, elem)], f"%r = tosa.{op} %x0", shape,
                             elem)

    def binary_case(self, number):
        out = self.shape()
        sides = [tuple(1 if self.rng.random() < 0.3 else d for d in out) for _ in range(2)]
        out = tuple(max(a, b) for a, b in zip(*sides))
        elem = self.rng.choice(["i32", "f32"])
        op = self.rng.choice(BINARY + (BITS if elem == "i32" else ()))
        return self.function(number, f"{op}-{elem}", [(s, elem) for s in sides],
                             f"%r = tosa.{op} %x0, %x1", out, elem, 1e-6)

    def compare_case(self, number):
        shape, elem = self.shape(), self.rng.choice(["i32", "f32"])
        op = self.rng.choice(["equal", "greater", "greater_equal"])
        return self.function(number, f"{op}-{elem}", [(shape, elem)] * 2,
                             f"%r = tosa.{op} %x0, %x1", shape, "i1")

    def mul_case(self, number):
        shape, elem = self.shape(), self.rng.choice(["i32", "f32", "i8"])
        shift = self.rng.randint(0, 20) if elem == "i32" else 0
        out = "i32" if elem == "i8" else elem
        return self.function(number, f"mul-{elem}", [(shape, elem)] * 2,
                             f"%r = tosa.mul %x0, %x1 {{shift = {shift} : i8}}", shape, out)

    def clamp_case(self, number):
        shape, elem = self.shape(), self.rng.choice(["i8", "i32", "f32"])
        low, high = sorted(self.rng.sample(range(-100, 100), 2))
        attrs = (f"{{min_int = {low} : i64, max_int = {high} : i64, min_fp = 0.5 : f32, "
                 "max_fp = 2.5 : f32}")
        return self.function(number, f"clamp-{elem}", [(shape, elem)], f"%r = tosa.clamp %x0 {attrs}",
                             shape, elem)

    def cast_case(self, number):
        shape = self.shape()
        source, target = self.rng.choice([("f32", "i8"), ("f32", "i32"), ("i8", "f32"),
                                          ("i32", "i8"), ("i8", "i32"), ("i32", "i1")])
        return self.function(number, f"cast-{source}-{target}", [(shape, source)],
                             "%r = tosa.cast %x0", shape, target)

    def rescale_case(self, number):
        shape = self.shape()
        source, target = self.rng.choice([("i32", "i8"), ("i8", "i32"), ("i8", "i8"), ("i32", "i16")])
        channels = shape[-1] if self.rng.random() < 0.5 else 1
        multipliers = ", ".join(str(self.rng.randint(1 << 30, (1 << 31) - 1)) for _ in range(channels))
        shifts = ", ".join(str(self.rng.randint(31, 40)) for _ in range(channels))
        attrs = (f"{{input_zp = {self.rng.randint(-3, 3) if source == 'i8' else 0} : i32, "
                 f"output_zp = {self.rng.randint(-3, 3) if target == 'i8' else 0} : i32, "
                 f"multiplier = array<i32: {multipliers}>, shift = array<i8: {shifts}>, "
                 f"scale32 = true, double_round = {self.rng.choice(['true', 'false'])}, "
                 f"per_channel = {'true' if channels > 1 else 'false'}}}")
        return self.function(number, f"rescale-{source}-{target}", [(shape, source)],
                             f"%r = tosa.rescale %x0 {attrs}", shape, target)

    def table_case(self, number):
        shape = self.shape()
        elem, size, out = self.rng.choice([("i8", 256, "i8"), ("i16", 513, "i32")])
        table = "i8" if elem == "i8" else "i16"
        return self.function(number, f"table-{elem}", [(shape, elem), ((size,), table)],
                             "%r = tosa.table %x0, %x1", shape, out)

    def reduce_case(self, number):
        shape, elem = self.shape(), self.rng.choice(["i32", "f32"])
        op, axis = self.rng.choice(REDUCTIONS), self.rng.randrange(len(shape))
        out = tuple(1 if d == axis else n for d, n in enumerate(shape))
        return self.function(number, f"{op}-{elem}", [(shape, elem)],
                             f"%r = tosa.{op} %x0 {{axis = {axis} : i32}}", out, elem, 1e-5)

    def argmax_case(self, number):
        shape, elem = self.shape(rank=3), self.rng.choice(["i8", "f32"])
        axis = self.rng.randrange(3)
        out = tuple(n for d, n in enumerate(shape) if d != axis)
        return self.function(number, f"argmax-{elem}", [(shape, elem)],
                             f"%r = tosa.argmax %x0 {{axis = {axis} : i32}}", out, "i32")

    def move_case(self, number):
        shape = self.shape(rank=3)
        axis, op = self.rng.randrange(3), self.rng.choice(["reverse", "concat", "slice", "tile"])
        operands, out, args = [(shape, "i8")], list(shape), "%x0"
        attrs = f"axis = {axis} : i32"
        if op == "concat":
            other = list(shape)
            other[axis] = self.rng.randint(1, 4)
            operands.append((tuple(other), "i8"))
            out[axis] += other[axis]
            args = "%x0, %x1"
        elif op == "slice":
            start = [self.rng.randrange(d) for d in shape]
            out = [self.rng.randint(1, d - s) for d, s in zip(shape, start)]
            attrs = (f"start = array<i64: {', '.join(map(str, start))}>, "
                     f"size = array<i64: {', '.join(map(str, out))}>")
        elif op == "tile":
            times = [self.rng.randint(1, 3) for _ in shape]
            out = [d * t for d, t in zip(shape, times)]
            attrs = f"multiples = array<i64: {', '.join(map(str, times))}>"
        return self.function(number, op, operands, f"%r = tosa.{op} {args} {{{attrs}}}", tuple(out),
                             "i8")

    def gather_case(self, number):
        n, k, c, w = (self.rng.randint(1, 4) for _ in range(4))
        rows = nested([self.rng.randrange(k) for _ in range(n * w)], (n, w))
        values = [self.values((n, k, c), "i8"), rows]
        return self.function(number, "gather", [((n, k, c), "i8"), ((n, w), "i32")],
                             "%r = tosa.gather %x0, %x1", (n, w, c), "i8", values=values)

    def windows(self, transposed=False):
        kernel = [self.rng.randint(1, 3) for _ in range(2)]
        stride = [self.rng.randint(1, 2) for _ in range(2)]
        dilation = [1 if transposed else self.rng.randint(1, 2) for _ in range(2)]
        pad = [self.rng.randint(0, k - 1) for k in kernel for _ in range(2)]
        size, out = [], []
        for d in range(2):
            reach = (kernel[d] - 1) * dilation[d]
            count = self.rng.randint(1, 4)
            extent = (count - 1) * stride[d] + reach + 1 - pad[2 * d] - pad[2 * d + 1]
            while extent < 1:
                extent += stride[d]
                count += 1
            size.append(extent)
            out.append(count)
        return kernel, stride, dilation, pad, size, out

    @staticmethod
    def window_attrs(stride, pad, dilation=None, kernel=None):
        parts = [f"stride = array<i64: {stride[0]}, {stride[1]}>",
                 f"pad = array<i64: {', '.join(map(str, pad))}>"]
        if dilation:
            parts.append(f"dilation = array<i64: {dilation[0]}, {dilation[1]}>")
        if kernel:
            parts.append(f"kernel = array<i64: {kernel[0]}, {kernel[1]}>")
        return ", ".join(parts)

    def conv_case(self, number):
        n, c, f = (self.rng.randint(1, 3) for _ in range(3))
        kernel, stride, dilation, pad, size, out = self.windows()
        is_float = self.rng.random() < 0.5
        elem, total = ("f32", "f32") if is_float else ("i8", "i32")
        op = self.rng.choice(["conv2d", "depthwise_conv2d"])
        weight = (f, *kernel, c) if op == "conv2d" else (*kernel, c, f)
        channels = f if op == "conv2d" else c * f
        attrs = self.window_attrs(stride, pad, dilation)
        if not is_float:
            attrs += (f", quantization_info = #tosa.conv_quant<input_zp = {self.rng.randint(-3, 3)}, "
                      f"weight_zp = {self.rng.randint(-3, 3)}>")
        return self.function(number, f"{op}-{elem}",
                             [((n, *size, c), elem), (weight, elem), ((channels,), total)],
                             f"%r = tosa.{op} %x0, %x1, %x2 {{{attrs}}}", (n, *out, channels), total,
                             1e-5)

    def transpose_conv_case(self, number):
        n, c, f = (self.rng.randint(1, 3) for _ in range(3))
        kernel, stride, _, _, size, _ = self.windows(True)
        out = [(i - 1) * s + k for i, s, k in zip(size, stride, kernel)]
        attrs = (f"out_pad = array<i64: 0, 0, 0, 0>, stride = array<i64: {stride[0]}, {stride[1]}>, "
                 f"out_shape = array<i64: {n}, {out[0]}, {out[1]}, {f}>")
        return self.function(number, "transpose_conv2d",
                             [((n, *size, c), "f32"), ((f, *kernel, c), "f32"), ((f,), "f32")],
                             f"%r = tosa.transpose_conv2d %x0, %x1, %x2 {{{attrs}}}", (n, *out, f),
                             "f32", 1e-5)

    def product_case(self, number):
        n, m, k, c = (self.rng.randint(1, 5) for _ in range(4))
        elem, total = self.rng.choice([("f32", "f32"), ("i8", "i32")])
        if self.rng.random() < 0.5:
            quant = ("" if elem == "f32" else
                     " {quantization_info = #tosa.matmul_quant<a_zp = 2, b_zp = -1>}")
            return self.function(number, f"matmul-{elem}", [((n, m, k), elem), ((n, k, c), elem)],
                                 f"%r = tosa.matmul %x0, %x1{quant}", (n, m, c), total, 1e-5)
        quant = ("" if elem == "f32" else
                 " {quantization_info = #tosa.conv_quant<input_zp = 1, weight_zp = 0>}")
        return self.function(number, f"fully_connected-{elem}",
                             [((n, k), elem), ((c, k), elem), ((c,), total)],
                             f"%r = tosa.fully_connected %x0, %x1, %x2{quant}", (n, c), total, 1e-5)

    def pool_case(self, number):
        n, c = self.rng.randint(1, 2), self.rng.randint(1, 4)
        kernel, stride, _, _, _, _ = self.windows(True)
        pad = [self.rng.randint(0, k // 2) for k in kernel for _ in range(2)]
        out = [self.rng.randint(2, 4) for _ in range(2)]
        size = [(o - 1) * s + k - pad[2 * d] - pad[2 * d + 1]
                for d, (o, s, k) in enumerate(zip(out, stride, kernel))]
        elem = self.rng.choice(["f32", "i8"])
        attrs = self.window_attrs(stride, pad, None, kernel)
        op = self.rng.choice(["max_pool2d", "avg_pool2d"])
        if min(size) < 1:
            return self.unary_case(number)
        if op == "avg_pool2d":
            attrs += f", acc_type = {'f32' if elem == 'f32' else 'i32'}"
        if op == "avg_pool2d" and elem == "i8":
            attrs += ", quantization_info = #tosa.unary_quant<input_zp = 2, output_zp = -1>"
        return self.function(number, f"{op}-{elem}", [((n, *size, c), elem)],
                             f"%r = tosa.{op} %x0 {{{attrs}}}", (n, *out, c), elem, 1e-5)

    def resize_case(self, number):
        n, c = self.rng.randint(1, 2), self.rng.randint(1, 3)
        size = [self.rng.randint(2, 5) for _ in range(2)]
        up = [self.rng.randint(1, 4) for _ in range(2)]
        down = [self.rng.randint(1, 3) for _ in range(2)]
        offset, out, border = [], [], []
        for extent, times, per in zip(size, up, down):
            begin = self.rng.randint(0, times - 1)
            count = ((extent - 1) * times - begin) // per + 1
            offset.append(begin)
            out.append(count)
            border.append((count - 1) * per - (extent - 1) * times + begin)
        mode = self.rng.choice(["NEAREST_NEIGHBOR", "BILINEAR"])
        elem = self.rng.choice(["f32", "i8"])
        to = "i32" if elem == "i8" and mode == "BILINEAR" else elem
        attrs = (f"mode = \"{mode}\", scale = array<i64: {up[0]}, {down[0]}, {up[1]}, {down[1]}>, "
                 f"offset = array<i64: {offset[0]}, {offset[1]}>, "
                 f"border = array<i64: {border[0]}, {border[1]}>")
        return self.function(number, f"resize-{elem}", [((n, *size, c), elem)],
                             f"%r = tosa.resize %x0 {{{attrs}}}", (n, *out, c), to, 1e-5)

    def case(self, number):
        kinds = [self.unary_case, self.integer_unary_case, self.binary_case, self.compare_case,
                 self.mul_case, self.clamp_case, self.cast_case, self.rescale_case, self.table_case,
                 self.reduce_case, self.argmax_case, self.move_case, self.gather_case,
                 self.conv_case, self.conv_case, self.transpose_conv_case, self.product_case,
                 self.pool_case, self.resize_case]
        return self.rng.choice(kinds)(number)


def generate(seed, count):
    generator = Generator(random.Random(seed))
    return [generator.case(number) for number in range(count)]
