"""Plain C of an integer linalg module, as a yardstick for the emitted C++.

`plain_c(text)` takes what `ming-opt` prints for one function of tensor.pad,
tensor.empty, reshapes, constants and linalg.generic on integers of up to 64
bits. Each generic becomes one loop nest in the order of its loops, each tensor
an array of the smallest type that holds it. The program reads frames from
standard input until it ends and writes results, both as those types.
"""
import re

SIMPLE = {"addi": "+", "subi": "-", "muli": "*", "andi": "&", "ori": "|", "xori": "^",
          "shli": "<<", "shrsi": ">>"}
COMPARE = {"eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">="}


class Unsupported(Exception):
    pass


def shape_and_bits(kind):
    dims = re.fullmatch(r"tensor<((?:\d+x)*)i(\d+)>", kind)
    if not dims:
        raise Unsupported(f"type {kind}")
    return [int(extent) for extent in dims.group(1).split("x")[:-1]], int(dims.group(2))


def c_type(bits):
    return f"int{next(n for n in (8, 16, 32, 64) if n >= bits)}_t"


def wide_type(bits):
    return "int32_t" if bits <= 32 else "int64_t"


def size_of(shape):
    size = 1
    for extent in shape:
        size *= extent
    return size


def signed(number, bits):
    """The value of the lowest bits."""
    half = 1 << (bits - 1)
    return ((number + half) & ((1 << bits) - 1)) - half


def flat(indices, shape):
    text = "0"
    for index, extent in zip(indices, shape):
        text = f"({text}) * {extent} + ({index})" if text != "0" else f"{index}"
    return text


class Translator:
    def __init__(self, text):
        self.lines = text.splitlines()
        self.maps, self.types, self.names, self.scalars = {}, {}, {}, {}
        self.globals, self.body = [], []
        self.at = 0

    def array(self, value, kind, elements=None):
        """A C array for an SSA value."""
        shape, bits = shape_and_bits(kind)
        name = f"t{len(self.names)}"
        self.names[value], self.types[value] = name, (shape, bits)
        start = "" if elements is None else f" = {{{', '.join(map(str, elements))}}}"
        self.globals.append(f"static {c_type(bits)} {name}[{size_of(shape)}]{start};")
        return name, shape, bits

    def constant(self, value, text, kind):
        if not kind.startswith("tensor"):
            self.scalars[value] = {"true": "-1", "false": "0"}.get(text, text)
            return
        shape, bits = shape_and_bits(kind)
        text = text.removeprefix("dense<").removesuffix(">")
        if text.startswith('"0x'):
            data, size = bytes.fromhex(text[3:-1]), (bits + 7) // 8
            elements = [signed(int.from_bytes(data[i:i + size], "little"), bits)
                        for i in range(0, len(data), size)]
        else:
            elements = [int(number) for number in re.findall(r"-?\d+", text)]
        if len(elements) == 1:
            elements *= size_of(shape)
        self.array(value, kind, elements)

    def pad(self, value, text):
        source, low = re.search(r"tensor\.pad (\S+) low\[(.*?)\]", text).groups()
        low, filler = [int(width) for width in low.split(", ")], None
        while not self.lines[self.at].strip().startswith("}"):
            found = re.search(r"tensor\.yield (\S+)", self.lines[self.at])
            filler = found.group(1) if found else filler
            self.at += 1
        kind = re.search(r"to (tensor<\S+>)", self.lines[self.at]).group(1)
        self.at += 1
        name, shape, _ = self.array(value, kind)
        inner, _ = self.types[source]
        self.body.append(f"for (int i = 0; i < {size_of(shape)}; i++)\n"
                         f"    {name}[i] = {self.scalars[filler]};")
        loops = [f"d{i}" for i in range(len(inner))]
        outer = [f"d{i} + {width}" for i, width in enumerate(low)]
        self.nest(inner, [f"{name}[{flat(outer, shape)}] = "
                          f"{self.names[source]}[{flat(loops, inner)}];"])

    def nest(self, extents, lines):
        for i, extent in enumerate(extents):
            self.body.append("    " * i + f"for (int d{i} = 0; d{i} < {extent}; d{i}++)")
        indent = "    " * len(extents)
        self.body += [indent + "{", *(f"{indent}    {line}" for line in lines), indent + "}"]

    def operand(self, value, indices):
        if value in self.scalars:
            return self.scalars[value]
        return f"{self.names[value]}[{flat(indices, self.types[value][0])}]"

    def generic(self, value, text):
        maps = [self.maps[name] for name in re.search(
            r"indexing_maps = \[(.*?)\]", text).group(1).split(", ")]
        inputs = re.search(r" ins\((.*?) : ", text)
        operands = inputs.group(1).split(", ") if inputs else []
        init, _ = re.search(r"outs\((\S+) : (tensor<\S+>)\)", text).groups()
        args = re.findall(r"(%\S+): i(\d+)", self.lines[self.at])
        self.at += 1
        first, statements = self.at, []
        while "linalg.yield" not in self.lines[self.at]:
            self.at += 1
        kind = re.search(r"-> (tensor<\S+>)", self.lines[self.at + 1]).group(1)
        name, _, _ = self.array(value, kind)
        extents = self.extents([*operands, value], maps)
        local = {}
        for (arg, width), operand, indices in zip(args, [*operands, value], maps):
            local[arg] = f"v{len(local)}"
            statements.append(f"const {wide_type(int(width))} {local[arg]} = "
                              f"{self.operand(operand, indices)};")
        for line in self.lines[first:self.at]:
            statements.append(self.scalar_op(line.strip(), local))
        result = re.search(r"linalg\.yield (\S+)", self.lines[self.at]).group(1)
        statements.append(f"{self.operand(value, maps[-1])} = {self.read(result, local)};")
        self.at += 2
        if init in self.names:
            self.body.append(f"memcpy({name}, {self.names[init]}, sizeof {name});")
        self.nest(extents, statements)

    def extents(self, operands, maps):
        """Trip counts, from the dimensions that a loop indexes alone."""
        found = {}
        for operand, indices in zip(operands, maps):
            for i, index in enumerate(indices):
                if re.fullmatch(r"d\d+", index) and operand in self.types:
                    found[int(index[1:])] = self.types[operand][0][i]
        return [found[i] for i in range(len(found))]

    def read(self, value, local):
        return local[value] if value in local else self.scalars[value]

    def scalar_op(self, line, local):
        result, op, rest = re.fullmatch(r"(%\S+) = arith\.(\w+) (.*)", line).groups()
        types = [int(bits) for bits in re.findall(r"\bi(\d+)", rest.rpartition(" : ")[2])]
        operands = [self.read(name, local) for name in re.findall(r"%[\w-]+", rest)]
        bits = types[-1]
        local[result] = f"v{len(local)}"
        declared = f"const {wide_type(bits)} {local[result]} = "
        if op in SIMPLE:
            return f"{declared}{operands[0]} {SIMPLE[op]} {operands[1]};"
        if op in ("maxsi", "minsi"):
            sign = ">" if op == "maxsi" else "<"
            return f"{declared}{operands[0]} {sign} {operands[1]} ? {operands[0]} : {operands[1]};"
        if op in ("maxui", "minui"):
            sign, mask = ">" if op == "maxui" else "<", f" & {(1 << bits) - 1}LL"
            return (f"{declared}({operands[0]}{mask}) {sign} ({operands[1]}{mask}) "
                    f"? {operands[0]} : {operands[1]};")
        if op == "extsi":
            return f"{declared}{operands[0]};"
        if op == "extui":
            return f"{declared}{operands[0]} & {(1 << types[0]) - 1}LL;"
        if op == "trunci":
            return f"{declared}(int64_t)((uint64_t){operands[0]} << {64 - bits}) >> {64 - bits};"
        if op in ("shrui", "divui"):
            sign = ">>" if op == "shrui" else "/"
            return (f"{declared}(int64_t)(((uint64_t){operands[0]} & {(1 << bits) - 1}ULL) "
                    f"{sign} (uint64_t){operands[1]});")
        if op == "cmpi":
            test = re.match(r"\w+", rest).group(0)
            return f"{declared}{operands[0]} {COMPARE[test]} {operands[1]};"
        if op == "select":
            return f"{declared}{operands[0]} ? {operands[1]} : {operands[2]};"
        raise Unsupported(op)

    def statement(self, line):
        result, rest = line.split(" = ", 1)
        if rest.startswith("arith.constant"):
            text = rest.removeprefix("arith.constant ")
            value, _, kind = text.rpartition(" : ")
            if text in ("true", "false"):
                value, kind = text, "i1"
            self.constant(result, value, kind)
        elif rest.startswith("tensor.empty"):
            pass
        elif rest.startswith("tensor.pad"):
            self.pad(result, rest)
        elif rest.startswith(("tensor.collapse_shape", "tensor.expand_shape")):
            source = re.search(r"(%\S+)", rest).group(1)
            self.names[result] = self.names[source]
            self.types[result] = shape_and_bits(rest.rpartition(" into ")[2])
        elif rest.startswith("linalg.generic"):
            self.generic(result, rest)
        else:
            raise Unsupported(rest.split(" ")[0])

    def program(self):
        argument, returned = None, None
        while self.at < len(self.lines):
            line = self.lines[self.at].strip()
            self.at += 1
            alias = re.fullmatch(r"(#\w+) = affine_map<\((.*?)\) -> \((.*)\)>", line)
            if alias:
                self.maps[alias.group(1)] = alias.group(3).split(", ") if alias.group(3) else []
            elif line.startswith("func.func"):
                argument = self.array("%arg0", re.search(r"%arg0: (tensor<[^>]*>)", line).group(1))
            elif line.startswith("return"):
                returned = self.names[re.search(r"return (\S+)", line).group(1)]
            elif line.startswith("%"):
                self.statement(line)
        body = "\n".join(self.body).replace("\n", "\n    ")
        return "\n".join([
            "#include <stdint.h>", "#include <stdio.h>", "#include <string.h>", *self.globals,
            "int main(void)", "{", f"while (fread({argument[0]}, sizeof {argument[0]}, 1, stdin)) {{",
            "    " + body, f"    fwrite({returned}, sizeof {returned}, 1, stdout);", "}",
            "return 0;", "}"]) + "\n"


def plain_c(text):
    return Translator(text).program()
