#!/usr/bin/env python3
"""Writes random MLIR for compare.py: every builtin type and attribute, affine maps and sets,
locations, aliases, regions, successors, and a few ops with custom forms.

generate.py COUNT [SEED] > pieces.mlir      (pieces are separated by // -----)
"""
import random
import sys

SPARSE = ["(d0) -> (d0 : compressed)", "(i) -> (i : dense)", "(d0) -> (d0 : loose_compressed)",
          "(i, j) -> (i : dense, j : compressed)",
          "(i, j) -> (j : compressed(nonunique), i : singleton)",
          "(i, j) -> (i floordiv 2 : dense, j : compressed, i mod 2 : dense)",
          "(i, j : #sparse_tensor<slice(1, ?, 2)>) -> (i : dense, j : compressed)"]
SPACES = ["3", '"fast"', "7 : i16", "0", "{a = 1}", "#gpu.address_space< workgroup>",
          "#spirv.storage_class<Uniform>"]
FOREIGN_TYPES = ["!llvm.ptr", "!llvm.struct<(i32,ptr)>", "!spirv.array<4 x f32>", "!async.token",
                 "!gpu.async.token", "!ptr.ptr<1 : i32>", '!emitc.opaque<"a  b">',
                 "!llvm.array<2 x i8>"]
FOREIGN_ATTRS = ["#gpu.address_space<private>", "#spirv.vce<v1.0, [Shader,Int8], [ ]>",
                 "#dlti.dl_entry<i32, 5>", "#dlti.dl_spec<>",
                 '#dlti.dl_spec<#dlti.dl_entry<"a.b",1:i8>>',
                 "#complex.number<:f32 1.0, -0.0>", "#sparse_tensor<slice(?, 1, 2)>"]
FLOATS = ["f16", "bf16", "f32", "f64", "tf32", "f8E5M2", "f8E4M3FN", "f8E4M3", "f80", "f128"]
DENSE_FLOATS = ["f16", "bf16", "f32", "f64", "f8E5M2"]
STRINGS = ["", "abc", "a b", "q\\22uote", "back\\\\slash", "tab\\t", "nl\\n", "\\00\\FF", "é", "%d"]
NAMES = ["x", "y_z", "a.b", "foo$bar", "_u", '"with space"', '"0digit"', "A1"]


class Generator:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.blocks = 0

    # --- choice ---------------------------------------------------------------------

    def pick(self, items):
        return self.rng.choice(items)

    def chance(self, probability):
        return self.rng.random() < probability

    def several(self, make, low, high, separator=", "):
        return separator.join(make() for _ in range(self.rng.randint(low, high)))

    # --- types ----------------------------------------------------------------------

    def integer_type(self):
        return self.pick(["i1", "i4", "i7", "i8", "i16", "i32", "i64", "i65", "i128", "si8", "ui8",
                          "si32", "ui64"])

    def scalar_type(self):
        kind = self.rng.randint(0, 4)
        if kind == 0:
            return "index"
        if kind == 1:
            return self.pick(FLOATS)
        if kind == 2:
            return "complex<%s>" % self.pick(["f32", "f64", "i32", "f16"])
        return self.integer_type()

    def dims(self, dynamic=True):
        sizes = [str(self.pick([0, 1, 2, 3, 4, 7, 16]))
                 if not dynamic or self.chance(0.8) else "?"
                 for _ in range(self.rng.randint(0, 4))]
        return "".join(size + "x" for size in sizes), len(sizes)

    def tensor_type(self):
        if self.chance(0.15):
            return "tensor<*x%s>" % self.scalar_type()
        dims, rank = self.dims()
        encoding = ""
        if self.chance(0.15):
            encoding = ", " + self.pick(['"enc"', "5 : i32", self.affine_map(rank, 0, rank),
                                         self.sparse(rank)])
        return "tensor<%s%s%s>" % (dims, self.scalar_type(), encoding)

    def sparse(self, rank):
        maps = [text for text in SPARSE
                if rank == text[:text.index("->")].count(",") - 2 * text.count("slice") + 1]
        if not maps:
            return '"dense"'
        widths = self.pick(["", ", posWidth = 32", ", crdWidth=8", ", posWidth = 0"])
        return "#sparse_tensor.encoding<{map = %s%s}>" % (self.pick(maps), widths)

    def memref_type(self):
        space = ", " + self.pick(SPACES) if self.chance(0.4) else ""
        if self.chance(0.15):
            return "memref<*x%s%s>" % (self.scalar_type(), space)
        dims, rank = self.dims()
        layout = ""
        if self.chance(0.3):
            layout = ", " + self.affine_map(rank, 0, self.rng.randint(max(rank, 1), max(rank, 2)))
        elif self.chance(0.4):
            strides = self.several_exactly(rank, lambda: self.pick(["1", "?", "12", "-3"]))
            offset = self.pick(["", ", offset: ?", ", offset: 4"])
            layout = ", strided<[%s]%s>" % (strides, offset)
        return "memref<%s%s%s%s>" % (dims, self.scalar_type(), layout, space)

    def several_exactly(self, count, make):
        return ", ".join(make() for _ in range(count))

    def vector_type(self):
        sizes = [str(self.rng.randint(1, 8)) for _ in range(self.rng.randint(0, 3))]
        sizes = ["[%s]" % size if self.chance(0.2) else size for size in sizes]
        element = self.pick(["i1", "i8", "i32", "f32", "f16", "index"])
        return "vector<%s%s>" % ("".join(size + "x" for size in sizes), element)

    def function_type(self, depth):
        results = self.several(lambda: self.type(depth + 1), 0, 3)
        return "(%s) -> (%s)" % (self.several(lambda: self.type(depth + 1), 0, 3), results)

    def type(self, depth=0):
        kind = self.rng.randint(0, 10 if depth < 2 else 6)
        if kind <= 2:
            return self.scalar_type()
        if kind <= 4:
            return self.tensor_type()
        if kind == 5:
            return self.vector_type()
        if kind == 6:
            return self.pick(["none", "!foo.type", "!foo.type<1, \"x\">", '!foo<"a b">',
                              self.pick(FOREIGN_TYPES)])
        if kind == 7:
            return self.memref_type()
        if kind == 8:
            return self.function_type(depth)
        low, high = (0, 3) if self.chance(0.7) else (15, 19)
        return "tuple<%s>" % self.several(lambda: self.type(depth + 1), low, high)

    # --- affine ---------------------------------------------------------------------

    def affine(self, dims, symbols, depth=0):
        kind = self.rng.randint(0, 8)
        leaves = ["d%d" % i for i in range(dims)] + ["s%d" % i for i in range(symbols)]
        if depth >= 3 or kind <= 2 or not leaves:
            return self.pick(leaves + [str(self.rng.randint(-9, 9))])
        left = self.affine(dims, symbols, depth + 1)
        if kind <= 5:
            return "(%s %s %s)" % (left, self.pick("+-"), self.affine(dims, symbols, depth + 1))
        if kind == 6:
            return "(%s * %d)" % (left, self.rng.randint(-5, 5))
        return "(%s %s %d)" % (left, self.pick(["mod", "floordiv", "ceildiv"]),
                               self.rng.randint(1, 8))

    def spaces(self, dims, symbols):
        text = "(%s)" % ", ".join("d%d" % i for i in range(dims))
        if symbols:
            text += "[%s]" % ", ".join("s%d" % i for i in range(symbols))
        return text

    def affine_map(self, dims, symbols, results):
        return "affine_map<%s -> (%s)>" % (
            self.spaces(dims, symbols),
            self.several_exactly(results, lambda: self.affine(dims, symbols)))

    def affine_set(self):
        dims, symbols = self.rng.randint(0, 3), self.rng.randint(0, 2)
        return "affine_set<%s : (%s)>" % (
            self.spaces(dims, symbols),
            self.several(lambda: "%s %s 0" % (self.affine(dims, symbols), self.pick([">=", "=="])),
                         1, 3))

    # --- attributes -----------------------------------------------------------------

    def integer(self, kind):
        if kind == "index":
            return str(self.rng.randint(-10**12, 10**12))
        width = int(kind.lstrip("siu"))
        if kind.startswith("ui"):
            return str(self.rng.randrange(2**width))
        return str(self.rng.randrange(-2**(width - 1), 2**(width - 1)))

    def float(self):
        return self.pick(["0.0", "-0.0", "1.0", "0.1", "-2.5", "1.0e10", "3.14159265358979",
                          "1.0e-7", "123456.789", "1.0e30", "6.0e-5",
                          "%.*e" % (self.rng.randint(1, 18), self.rng.uniform(-4, 4))])

    def number(self, kind):
        """An element for a dense list of that type."""
        if kind.startswith("complex"):
            inner = kind[8:-1]
            return "(%s, %s)" % (self.number(inner), self.number(inner))
        if kind == "i1":
            return self.pick(["true", "false"])
        if kind in FLOATS:
            return self.float()
        return self.integer(kind)

    def nested(self, shape, kind):
        if not shape:
            return self.number(kind)
        return "[%s]" % ", ".join(self.nested(shape[1:], kind) for _ in range(shape[0]))

    def dense(self):
        kind = self.pick(["i1", "i4", "i8", "i32", "i64", "i65", "ui8", "index", "complex<f32>",
                          "complex<i8>"] + DENSE_FLOATS)
        shape = [self.pick([1, 2, 3, 5]) for _ in range(self.rng.randint(0, 3))]
        if self.chance(0.1):
            shape = [self.pick([101, 130])]
        dims = "".join("%dx" % size for size in shape)
        holder = self.pick(["tensor", "vector"]) if shape else "tensor"
        if holder == "vector" and (kind.startswith("complex") or kind == "ui8"):
            holder = "tensor"
        if self.chance(0.3):
            return "dense<%s> : %s<%s%s>" % (self.number(kind), holder, dims, kind)
        return "dense<%s> : %s<%s%s>" % (self.nested(shape, kind), holder, dims, kind)

    def dense_array(self):
        kind = self.pick(["i1", "i8", "i16", "i32", "i64", "f32", "f64"])
        items = self.several(lambda: self.number(kind), 0, 4)
        return "array<%s%s>" % (kind, ": " + items if items else "")

    def scalar_attr(self):
        kind = self.rng.randint(0, 6)
        if kind == 0:
            return self.pick(["true", "false", "unit"])
        if kind == 1:
            width = self.pick(["i8", "i32", "i64", "i65", "si8", "ui16", "index", "i1"])
            return "%s : %s" % (self.integer(width), width)
        if kind == 2:
            return "%s : %s" % (self.float(), self.pick(["f16", "bf16", "f32", "f64", "f8E5M2"]))
        if kind == 3:
            return '"%s"' % self.pick(STRINGS) + self.pick(["", "", " : i32"])
        if kind == 4:
            return self.pick(["@sym", "@a::@b", '@"odd name"::@c', "@x.y"])
        return self.type()

    def attr(self, depth=0):
        kind = self.rng.randint(0, 14 if depth < 3 else 8)
        if kind <= 3:
            return self.scalar_attr()
        if kind == 4:
            return self.dense()
        if kind == 5:
            return self.dense_array()
        if kind == 6:
            return self.affine_map(self.rng.randint(0, 3), self.rng.randint(0, 2),
                                   self.rng.randint(0, 3))
        if kind == 7:
            return self.affine_set()
        if kind == 8:
            return self.pick(["#foo.bar", "#foo.bar<1, [2]>", '#foo<"text">',
                              "strided<[1, ?], offset: 3>", 'dense<["a", "b c"]> : tensor<2x!foo.s>',
                              "sparse<[[0, 1], [1, 2]], [1, 5]> : tensor<3x4xi32>",
                              "sparse<[[0]], [1.5]> : tensor<3xf32>", self.pick(FOREIGN_ATTRS)])
        if kind == 9:
            return "distinct[%d]<%s>" % (self.rng.randint(0, 10**6), self.attr(depth + 1))
        if kind == 10:
            return self.location(depth)
        if kind <= 12:
            return "[%s]" % self.several(lambda: self.attr(depth + 1), 0, 4)
        return self.dictionary(depth + 1)

    def dictionary(self, depth=0, low=0):
        names = self.rng.sample(NAMES, self.rng.randint(low, 4))
        items = [name if self.chance(0.1) else "%s = %s" % (name, self.attr(depth))
                 for name in names]
        return "{%s}" % ", ".join(items)

    # --- locations --------------------------------------------------------------------

    def location_body(self, depth=0):
        kind = self.rng.randint(0, 6 if depth < 3 else 2)
        if kind == 0:
            return "unknown"
        if kind <= 2:
            return '"%s":%d:%d' % (self.pick(["a.c", "dir/b.py", "-"]), self.rng.randint(0, 9),
                                   self.rng.randint(0, 9))
        if kind == 3:
            return '"%s"' % self.pick(["name", "layer/0", "n 1"])
        if kind == 4:
            return '"%s"(%s)' % (self.pick(["name", "m"]), self.location_body(depth + 1))
        if kind == 5:
            return "callsite(%s at %s)" % (self.location_body(depth + 1),
                                           self.location_body(depth + 1))
        metadata = "<%s>" % self.attr(3) if self.chance(0.3) else ""
        return "fused%s[%s]" % (metadata, self.several(lambda: self.location_body(depth + 1), 1, 3))

    def location(self, depth=0):
        return "loc(%s)" % self.location_body(depth)

    def trailing_location(self):
        return " " + self.location() if self.chance(0.25) else ""

    # --- ops --------------------------------------------------------------------------

    def region(self, scope, indent, depth):
        if self.chance(0.2):
            return "{\n%s}" % indent
        count = self.rng.randint(1, 3)
        labels = ["^b%d_%d" % (self.blocks, i) for i in range(count)]
        self.blocks += 1
        text = "{\n"
        for i, label in enumerate(labels):
            inner = list(scope)
            args = [self.value(inner, self.type(1)) for _ in range(self.rng.randint(0, 2))]
            shown = ", ".join("%s: %s%s" % (*arg, self.trailing_location()) for arg in args)
            text += "%s%s%s:\n" % (indent, label, "(%s)" % shown if shown else "")
            text += self.ops(inner, indent + "  ", depth, self.rng.randint(0, 4))
            if count > 1:
                targets = ", ".join(self.rng.sample(labels[1:], self.rng.randint(1, count - 1)))
                text += '%s  "foo.branch"()[%s] : () -> ()\n' % (indent, targets)
        return text + indent + "}"

    def value(self, scope, kind):
        self.values += 1
        value = ("%%v%d" % self.values, kind)
        scope.append(value)
        return value

    def generic_op(self, scope, indent, depth):
        operands = [self.pick(scope) for _ in range(self.rng.randint(0, 3))] if scope else []
        regions = ""
        if depth < 3 and self.chance(0.25):
            regions = " (%s)" % self.several(
                lambda: self.region(scope, indent, depth + 1), 1, 2)
        attributes = " " + self.dictionary(0, 1) if self.chance(0.5) else ""
        properties = " <%s>" % self.attr(1) if self.chance(0.1) else ""
        types = [self.type(1) for _ in range(self.pick([0, 0, 1, 1, 1, 2, 3]))]
        head = ""
        if types:
            self.values += 1
            name = "%%v%d" % self.values
            head = name + (":%d" % len(types) if len(types) > 1 else "") + " = "
            for i, kind in enumerate(types):
                scope.append((name if len(types) == 1 else "%s#%d" % (name, i), kind))
        return '%s%s"foo.%s"(%s)%s%s%s : (%s) -> (%s)%s\n' % (
            indent, head, self.pick(["op", "a.b", "long_name"]),
            ", ".join(name for name, _ in operands), properties, regions, attributes,
            ", ".join(kind for _, kind in operands), ", ".join(types), self.trailing_location())

    def constant(self, scope, indent):
        value, kind = self.pick([("5", "i32"), ("true", "i1"), ("0", "index"), ("1.5", "f32"),
                                 ("-3", "i64"), ("5", "i32"), ("dense<1>", "tensor<2xi32>")])
        result = self.value(scope, kind)
        typed = value if kind == "i1" else "%s : %s" % (value, kind)
        return "%s%s = arith.constant %s%s\n" % (indent, result[0], typed,
                                                self.trailing_location())

    def ops(self, scope, indent, depth, count):
        return "".join(self.constant(scope, indent) if self.chance(0.2)
                       else self.generic_op(scope, indent, depth) for _ in range(count))

    def function(self, index):
        scope = []
        args = [self.value(scope, self.type(1)) for _ in range(self.rng.randint(0, 3))]
        shown = ", ".join("%s: %s%s" % (*arg, self.trailing_location()) for arg in args)
        body = self.ops(scope, "  ", 1, self.rng.randint(0, 6))
        attributes = " attributes {foo.a = %s}" % self.attr() if self.chance(0.3) else ""
        return "func.func @f%d(%s)%s {\n%s  return\n}%s\n" % (index, shown, attributes, body,
                                                             self.trailing_location())

    def piece(self):
        self.values = 0
        text = "".join(self.function(i) for i in range(self.rng.randint(0, 2)))
        return text + self.ops([], "", 0, self.rng.randint(1, 6))


def main():
    count = int(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    print("// -----\n\n".join(Generator(seed * 1000003 + i).piece() for i in range(count)), end="")


if __name__ == "__main__":
    main()
