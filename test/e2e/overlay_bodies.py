"""Bodies of element-wise kernels of two maps of bytes, with what they give in numpy: comparisons,
quotients, bits and shifts, which networks of ONNX seldom have, for overlay_check.py."""
import numpy as np

SHAPE = (1, 2, 128, 2)
KIND = "tensor<1x2x128x2xi8>"
ID = "affine_map<(n, y, x, f) -> (n, y, x, f)>"
ORDERS = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
          "ge": np.greater_equal}


def signed(x):
    return x.astype(np.int64)


def unsigned(x):
    return signed(x) & 255


def constants(**values):
    return [f"%{name} = arith.constant {value} : i8" for name, value in values.items()]


def make_bodies():
    """Lines that compute %r from %a and %b, and the function that gives it."""
    orders = [(name, signed) for name in ("eq", "ne")]
    orders += [(sign + name, reading) for sign, reading in (("s", signed), ("u", unsigned))
               for name in ("lt", "le", "gt", "ge")]
    for name, reading in orders:
        def holds(a, b, name=name, reading=reading):
            return ORDERS[name[-2:]](reading(a), reading(b))
        compare = [f"%c = arith.cmpi {name}, %a, %b : i8"]
        yield compare + ["%r = arith.select %c, %a, %b : i8"], lambda a, b, f=holds: np.where(f(a, b), a, b)
        yield compare + ["%r = arith.extui %c : i1 to i8"], holds
    yield (["%c = arith.cmpi slt, %a, %b : i8", "%d = arith.cmpi ult, %a, %b : i8",
            "%e = arith.xori %c, %d : i1", "%r = arith.extsi %e : i1 to i8"],
           lambda a, b: -((signed(a) < b) ^ (unsigned(a) < unsigned(b))).astype(np.int64))
    for divisor in (1, 3, 7, 10, 100, 127):
        yield (constants(z=0, d=divisor) +
               ["%p = arith.maxsi %a, %z : i8", "%q = arith.divsi %p, %d : i8", "%r = arith.addi %q, %b : i8"],
               lambda a, b, d=divisor: np.maximum(signed(a), 0) // d + b)
    for divisor in (2, 5, 7, 128, 200, 255):
        yield (constants(d=(divisor ^ 128) - 128) + ["%q = arith.divui %a, %d : i8", "%r = arith.addi %q, %b : i8"],
               lambda a, b, d=divisor: unsigned(a) // d + b)
    yield (["%d = arith.constant 255 : i32", "%e = arith.extui %a : i8 to i32", "%f = arith.extui %b : i8 to i32",
            "%m = arith.muli %e, %f : i32", "%q = arith.divui %m, %d : i32", "%r = arith.trunci %q : i32 to i8"],
           lambda a, b: unsigned(a) * unsigned(b) // 255)
    yield (constants(m=-1) + ["%n = arith.xori %a, %m : i8", "%r = arith.maxsi %n, %b : i8"],
           lambda a, b: np.maximum(~signed(a), b))
    for operands in ("%a, %m", "%m, %a"):
        yield (constants(m=15) + [f"%n = arith.andi {operands} : i8", "%r = arith.subi %n, %b : i8"],
               lambda a, b: (unsigned(a) & 15) - b)
    yield (constants(m=3) + ["%n = arith.shli %a, %m : i8", "%r = arith.minsi %n, %b : i8"],
           lambda a, b: np.minimum((signed(a) << 3).astype(np.int8), b))
    yield (constants(m=3) + ["%n = arith.shrui %a, %m : i8", "%r = arith.addi %n, %b : i8"],
           lambda a, b: (unsigned(a) >> 3) + b)
    yield (["%n = arith.minui %a, %b : i8", "%m = arith.maxui %a, %b : i8", "%r = arith.subi %m, %n : i8"],
           lambda a, b: abs(unsigned(a) - unsigned(b)))
    yield (["%c = arith.constant 8 : i16", "%e = arith.extsi %a : i8 to i16", "%f = arith.extui %b : i8 to i16",
            "%m = arith.muli %e, %f : i16", "%q = arith.shrui %m, %c : i16", "%r = arith.trunci %q : i16 to i8"],
           lambda a, b: signed(a) * unsigned(b) >> 8)


def frames():
    """All bytes, twice, and others, of which some are equal to them."""
    a = np.repeat(np.arange(-128, 128), 2).astype(np.int8).reshape(SHAPE)
    b = np.random.default_rng(1).integers(-128, 128, SHAPE).astype(np.int8)
    b.reshape(-1)[::7] = a.reshape(-1)[::7]
    return a, b


def module(bodies):
    """A function that gives what each of the bodies does."""
    lines = [f"#id = {ID}",
             f"func.func @net(%x: {KIND}, %y: {KIND}) -> ({', '.join([KIND] * len(bodies))}) {{",
             f"  %empty = tensor.empty() : {KIND}"]
    loops = ", ".join(['"parallel"'] * len(SHAPE))
    for number, (body, _) in enumerate(bodies):
        lines += [f"  %{number} = linalg.generic {{indexing_maps = [#id, #id, #id], iterator_types = [{loops}]}} "
                  f"ins(%x, %y : {KIND}, {KIND}) outs(%empty : {KIND}) {{",
                  "  ^bb0(%a: i8, %b: i8, %o: i8):", *("    " + line for line in body),
                  "    linalg.yield %r : i8", f"  }} -> {KIND}"]
    values = ", ".join(f"%{number}" for number in range(len(bodies)))
    return "\n".join([*lines, f"  return {values} : {', '.join([KIND] * len(bodies))}", "}\n"])
