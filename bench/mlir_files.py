"""Large inputs for bench/mlir: the same text for the same size, on every machine."""
import random

TENSOR = "tensor<16x32xf32>"
PARALLEL = 'iterator_types = ["parallel", "parallel"]'


class Function:
    """One function of mixed ops; values of each type are drawn from the last few made."""

    RECENT = 20

    def __init__(self, rng, name):
        self.rng = rng
        self.lines = []
        self.count = 0  # ops, nested ones too
        self.values = {TENSOR: ["%t"], "f32": ["%f"], "index": ["%n"]}
        self.next = 0
        self.header = f"func.func @{name}(%t: {TENSOR}, %f: f32, %n: index) -> {TENSOR} {{"

    def pick(self, kind):
        return self.rng.choice(self.values[kind][-self.RECENT:])

    def add(self, kind, text, ops=1):
        name = f"%v{self.next}"
        self.next += 1
        self.count += ops
        self.lines.append(f"  {name} = {text}")
        if kind:
            self.values[kind].append(name)
        return name

    def text(self):
        end = f"  return {self.pick(TENSOR)} : {TENSOR}\n}}"
        return "\n".join([self.header, *self.lines, end]) + "\n"


def add_arith(f):
    op = f.rng.choice(["addf", "mulf", "maximumf", "subf"])
    f.add("f32", f"arith.{op} {f.pick('f32')}, {f.pick('f32')} : f32")
    op = f.rng.choice(["addi", "muli", "minui"])
    f.add("index", f"arith.{op} {f.pick('index')}, {f.pick('index')} : index")


def add_constant(f):
    f.add("f32", f"arith.constant {f.rng.randrange(1000)}.5 : f32")
    f.add("index", f"arith.constant {f.rng.randrange(16)} : index")
    splat = f"{f.rng.randrange(9)}.0"
    f.add(TENSOR, f"arith.constant dense<{splat}> : {TENSOR}")


def add_select(f):
    left, right = f.pick("f32"), f.pick("f32")
    test = f.add(None, f"arith.cmpf olt, {left}, {right} : f32")
    f.add("f32", f"arith.select {test}, {left}, {right} : f32")


def add_slice(f):
    part = "tensor<4x?xf32>"
    row, width = f.rng.randrange(12), f.pick("index")
    source = f.pick(TENSOR)
    piece = f.add(None, f"tensor.extract_slice {source}[{row}, 0] [4, {width}] [1, 1] "
                        f": {TENSOR} to {part}")
    f.add(TENSOR, f"tensor.insert_slice {piece} into {f.pick(TENSOR)}[{row}, 0] [4, {width}] "
                  f"[1, 1] : {part} into {TENSOR}")
    one = f.add("index", "arith.constant 1 : index")
    f.add("index", f"tensor.dim {piece}, {one} : {part}")


def add_reshape(f):
    flat = f.add(None, f"tensor.collapse_shape {f.pick(TENSOR)} [[0, 1]] "
                       f": {TENSOR} into tensor<512xf32>")
    f.add(TENSOR, f"tensor.expand_shape {flat} [[0, 1]] output_shape [16, 32] "
                  f": tensor<512xf32> into {TENSOR}")


def add_extract(f):
    f.add("f32", f"tensor.extract {f.pick(TENSOR)}[{f.pick('index')}, {f.pick('index')}] "
                 f": {TENSOR}")


def add_fill(f):
    init = f.add(None, f"tensor.empty() : {TENSOR}")
    f.add(TENSOR, f"linalg.fill ins({f.pick('f32')} : f32) outs({init} : {TENSOR}) -> {TENSOR}",
          ops=3)


def add_matmul(f):
    square = "tensor<32x32xf32>"
    weights = f.add(None, f"tensor.empty() : {square}")
    f.add(TENSOR, f"linalg.matmul ins({f.pick(TENSOR)}, {weights} : {TENSOR}, {square}) "
                  f"outs({f.pick(TENSOR)} : {TENSOR}) -> {TENSOR}", ops=4)


def add_generic(f):
    same = "affine_map<(d0, d1) -> (d0, d1)>"
    other = f.rng.choice([same, "affine_map<(d0, d1) -> (0, d1)>"])
    op = f.rng.choice(["addf", "mulf"])
    f.add(TENSOR, f"""linalg.generic {{indexing_maps = [{same}, {other}, {same}], {PARALLEL}}}
      ins({f.pick(TENSOR)}, {f.pick(TENSOR)} : {TENSOR}, {TENSOR})
      outs({f.pick(TENSOR)} : {TENSOR}) {{
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.{op} %a, %b : f32
    %y = arith.addf %x, {f.pick('f32')} : f32
    linalg.yield %y : f32
  }} -> {TENSOR}""", ops=4)


ADDERS = [add_arith, add_constant, add_select, add_slice, add_reshape, add_extract, add_fill,
          add_matmul, add_generic, add_generic]


def add_function(file, rng, name, ops):
    function = Function(rng, name)
    while function.count < ops - 1:
        rng.choice(ADDERS)(function)
    file.write(function.text())
    return function.count + 2  # the function and its return


def write_ops(path, ops):
    """Functions of a thousand ops each, `ops` in all."""
    rng = random.Random(1)
    with open(path, "w", encoding="ascii") as file:
        count = index = 0
        while count < ops:
            count += add_function(file, rng, f"f{index}", min(1000, ops - count))
            index += 1


def write_functions(path, count):
    """Small functions, each with a call of an earlier one."""
    rng = random.Random(2)
    with open(path, "w", encoding="ascii") as file:
        for index in range(count):
            function = Function(rng, f"f{index}")
            add_arith(function)
            add_extract(function)
            if index:
                callee = rng.randrange(max(0, index - 50), index)
                args = f"({function.pick(TENSOR)}, {function.pick('f32')}, %n)"
                function.add(TENSOR, f"call @f{callee}{args} "
                                     f": ({TENSOR}, f32, index) -> {TENSOR}")
            file.write(function.text())


DENSE_BYTES = 1 << 20  # text of one constant


def write_constants(path, size, literal):
    """Constants that make `size` bytes of text, each of about a mebibyte."""
    rng = random.Random(3)
    with open(path, "w", encoding="ascii") as file:
        for index in range(max(1, size // DENSE_BYTES)):
            text, shape = literal(rng, min(size, DENSE_BYTES))
            file.write(f"func.func @c{index}() -> {shape} {{\n"
                       f"  %0 = arith.constant dense<{text}> : {shape}\n"
                       f"  return %0 : {shape}\n}}\n")


def hex_literal(rng, size):
    count = size // 8
    return f'"0x{rng.randbytes(4 * count).hex().upper()}"', f"tensor<{count}xf32>"


def list_literal(rng, size):
    """Four rows of integers of five characters with comma and blank."""
    columns = size // 4 // 5
    rows = (", ".join(str(rng.randrange(100, 1000)) for _ in range(columns)) for _ in range(4))
    return "[" + ", ".join(f"[{row}]" for row in rows) + "]", f"tensor<4x{columns}xi16>"


def float_literal(rng, size):
    count = size // 14
    items = (f"{rng.uniform(1, 9):.6e}" for _ in range(count))
    return "[" + ", ".join(items) + "]", f"tensor<{count}xf32>"


def write_files(folder, scale):
    """[(title, path)] of all inputs, smaller by `scale`."""
    size = 50 * 10**6 // scale
    kinds = [
        ("10⁵ ops", "ops", lambda path: write_ops(path, 10**5 // scale)),
        ("10⁴ functions", "functions", lambda path: write_functions(path, 10**4 // scale)),
        ("50 MB hex constants", "hex", lambda path: write_constants(path, size, hex_literal)),
        ("50 MB lists of i16", "ints", lambda path: write_constants(path, size, list_literal)),
        ("50 MB lists of f32", "floats", lambda path: write_constants(path, size, float_literal)),
    ]
    files = []
    for title, name, write in kinds:
        path = folder / f"{name}.mlir"
        write(path)
        files.append((title, path))
    return files
