#!/usr/bin/python3
"""Differential test of ap_int.h: writes a C++ program on standard output.

    gen_ap_int.py SEED PAIRS CASES

The program evaluates every operation of OPS on CASES random values for each
of PAIRS random pairs of operand types, and compares type and value with what
this script computed with Python's integers by the documented rules. Nothing
expected comes from the headers. It prints its mismatches and exits non-zero.
"""
import math
import random
import struct
import sys

# A type: (width, signed, C++ name). Builtins count as their own width.
BUILTINS = [(1, False, "bool"), (8, True, "signed char"), (8, False, "unsigned char"), (8, True, "char"),
            (16, True, "short"), (16, False, "unsigned short"), (32, True, "int"), (32, False, "unsigned"),
            (64, True, "long"), (64, False, "unsigned long"), (64, True, "long long"),
            (64, False, "unsigned long long")]
EDGES = [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 96, 127, 128, 129, 191, 192, 193, 255, 256, 300]


def wrap(value, width, signed):
    value &= (1 << width) - 1
    return value - (1 << width) if signed and value >> (width - 1) else value


def number(value, width, signed):
    """What show() prints for an ap_(u)int<width>."""
    return "%s%d:%X" % ("i" if signed else "u", width, wrap(value, width, False))


class Case:
    """One set of operands; the methods named like the operations below return
    the expected text."""

    def __init__(self, rnd, ta, tb):
        self.ta, self.tb = ta, tb
        self.wa, self.sa = ta[:2]
        self.wb, self.sb = tb[:2]
        self.a = random_value(rnd, self.wa, self.sa)
        self.b = random_value(rnd, self.wb, self.sb)
        self.n = rnd.choice([0, 1, -1, rnd.randint(-self.wa - 3, self.wa + 3), rnd.randint(-9, 9), 1 << 30, -(1 << 31)])
        self.hi = rnd.randrange(self.wa)
        self.lo = rnd.randrange(self.wa)
        if rnd.random() < 0.75 and self.hi < self.lo:
            self.hi, self.lo = self.lo, self.hi
        self.d = rnd.choice([0.0, -0.0, 0.5, -0.5, -1.75, rnd.uniform(-300, 300),
                             rnd.uniform(-1, 1) * 2.0 ** rnd.randint(0, 320)])
        self.dec = str(rnd.randint(-1 << (self.wa + 9), 1 << (self.wa + 9)))

    # The width rules.
    def common(self):
        return max(self.wa + (self.sb and not self.sa), self.wb + (self.sa and not self.sb))

    def either(self):
        return self.sa or self.sb

    def swapped(self):
        c = Case.__new__(Case)
        c.__dict__ = dict(self.__dict__)
        c.a, c.wa, c.sa, c.b, c.wb, c.sb = self.b, self.wb, self.sb, self.a, self.wa, self.sa
        return c

    def add(self): return number(self.a + self.b, self.common() + 1, self.either())
    def sub(self): return number(self.a - self.b, self.common() + 1, True)
    def mul(self): return number(self.a * self.b, self.wa + self.wb, self.either())
    def bit_and(self): return number(self.a & self.b, self.common(), self.either())
    def bit_or(self): return number(self.a | self.b, self.common(), self.either())
    def bit_xor(self): return number(self.a ^ self.b, self.common(), self.either())

    def quotient(self):
        q = abs(self.a) // abs(self.b) if self.b else 0
        return -q if (self.a < 0) != (self.b < 0) else q

    def div(self): return number(self.quotient(), self.wa + self.sb, self.either())

    def mod(self):
        r = self.a - self.quotient() * self.b if self.b else 0
        return number(r, min(self.wa, self.wb + (self.sa and not self.sb)), self.sa)

    def shifted(self, n):
        if n > self.wa:
            return 0
        if n < -self.wa:
            n = -self.wa
        return self.a << n if n >= 0 else self.a >> -n

    def in_a(self, value): return number(value, self.wa, self.sa)
    def shl(self): return self.in_a(self.shifted(self.b))
    def shr(self): return self.in_a(self.shifted(-self.b))
    def shl_int(self): return self.in_a(self.shifted(self.n))
    def shr_int(self): return self.in_a(self.shifted(-self.n))

    def eq(self): return "b:%d" % (self.a == self.b)
    def ne(self): return "b:%d" % (self.a != self.b)
    def lt(self): return "b:%d" % (self.a < self.b)
    def le(self): return "b:%d" % (self.a <= self.b)
    def gt(self): return "b:%d" % (self.a > self.b)
    def ge(self): return "b:%d" % (self.a >= self.b)

    def add_to(self): return self.in_a(self.a + self.b)
    def sub_from(self): return self.in_a(self.a - self.b)
    def mul_by(self): return self.in_a(self.a * self.b)
    def div_by(self): return self.in_a(self.quotient() if self.b else self.a)
    def mod_by(self): return self.in_a(self.a - self.quotient() * self.b)
    def and_with(self): return self.in_a(self.a & self.b)
    def or_with(self): return self.in_a(self.a | self.b)
    def xor_with(self): return self.in_a(self.a ^ self.b)
    def assign(self): return self.in_a(self.b)

    # Unary, and conversions.
    def neg(self): return number(-self.a, max(1 + self.sa, self.wa) + 1, True)
    def inv(self): return self.in_a(~self.a)
    def lnot(self): return "b:%d" % (self.a == 0)
    def inc(self): return self.in_a(self.a + 1)
    def dec_post(self): return self.in_a(self.a) + " " + self.in_a(self.a - 1)
    def int64(self): return "l:%d" % wrap(self.a, 64, True)
    def uint64(self): return "l:%d" % wrap(self.a, 64, False)
    def int32(self): return "l:%d" % wrap(self.a, 32, True)
    def uint8(self): return "l:%d" % wrap(self.a, 8, False)
    def builtin(self): return "l:%d" % (wrap(self.a, 64, self.sa) if self.wa > 64 else self.a)

    def double(self):
        try:
            d = float(self.a)
        except OverflowError:
            d = float("inf")
        return "d:%016x" % struct.unpack("<Q", struct.pack("<d", d))

    def float(self):
        """The nearest float32: from 24 leading bits and whether more follow."""
        a, shift = abs(self.a), max(0, self.a.bit_length() - 30)
        a = a >> shift | (a & (1 << shift) - 1 > 0)
        try:
            value = struct.unpack("<f", struct.pack("<f", math.ldexp(a, shift)))[0]
        except OverflowError:
            value = float("inf")
        return "d:%016x" % struct.unpack("<Q", struct.pack("<d", math.copysign(value, self.a)))

    def of_double(self): return self.in_a(int(self.d))
    def of_decimal(self): return self.in_a(int(self.dec))
    def bits(self): return wrap(self.a, self.wa, False)
    def text2(self): return format(self.bits(), "b")
    def text8(self): return format(self.bits(), "o")
    def text10(self): return "%d" % self.a
    def text16(self): return format(self.a, "X")

    # Bits.
    def range_bits(self, value):
        width = abs(self.hi - self.lo) + 1
        if self.hi >= self.lo:
            return value >> self.lo & ((1 << width) - 1)
        return sum((value >> (self.lo - k) & 1) << k for k in range(width))

    def with_range(self, value):
        width = abs(self.hi - self.lo) + 1
        a = self.bits()
        for k in range(width):
            at = self.lo + k if self.hi >= self.lo else self.lo - k
            a = a & ~(1 << at) | (value >> k & 1) << at
        return a

    def range_get(self): return number(self.range_bits(self.a), self.wa, False)
    def range_put(self): return self.in_a(self.with_range(self.b))
    def range_move(self): return self.in_a(self.with_range(self.range_bits(~self.a)))
    def range_add(self): return number(self.range_bits(self.a) + 1, max(self.wa + 1, 32) + 1, True)
    def range_and(self): return "b:%d" % (self.range_bits(self.a) == (1 << (abs(self.hi - self.lo) + 1)) - 1)
    def bit_get(self): return "b:%d" % (self.a >> self.lo & 1)
    def bit_put(self): return self.in_a(self.a & ~(1 << self.hi) | (self.a >> self.lo & 1) << self.hi)
    def cat(self): return number(self.bits() << self.wb | wrap(self.b, self.wb, False), self.wa + self.wb, False)

    def cat_put(self):
        v = -3 * self.a + self.b
        return self.in_a(v >> self.wb) + " " + number(v, self.wb, self.sb)

    def cat_range(self):
        high = self.range_bits(self.a)
        return number(high << self.wb | wrap(self.b, self.wb, False), self.wa + self.wb, False)

    def reduce(self):
        ones = bin(self.bits()).count("1")
        return "l:%d" % ((ones == self.wa) * 4 + (ones > 0) * 2 + ones % 2)

    def rotate_left(self): return self.in_a(self.bits() << self.hi | self.bits() >> (self.wa - self.hi))
    def rotate_right(self): return self.in_a(self.bits() >> self.hi | self.bits() << (self.wa - self.hi))

    def reverse(self): return self.in_a(int(format(self.bits(), "0%db" % self.wa)[::-1], 2))


# Expressions on two operands of any kind, also tried with the operands swapped.
BINARY = [("add", "{a} + {b}"), ("sub", "{a} - {b}"), ("mul", "{a} * {b}"), ("bit_and", "{a} & {b}"),
          ("bit_or", "{a} | {b}"), ("bit_xor", "{a} ^ {b}"),
          ("div", "{b} == 0 ? decltype({a} / {b})(0) : {a} / {b}"),
          ("mod", "{b} == 0 ? decltype({a} % {b})(0) : {a} % {b}"), ("shl", "{a} << {b}"), ("shr", "{a} >> {b}"),
          ("eq", "{a} == {b}"), ("ne", "{a} != {b}"), ("lt", "{a} < {b}"), ("le", "{a} <= {b}"), ("gt", "{a} > {b}"),
          ("ge", "{a} >= {b}")]
# Statements that change x, a copy of a, with any b.
UPDATES = [("add_to", "x += b"), ("sub_from", "x -= b"), ("mul_by", "x *= b"), ("div_by", "if (b != 0) x /= b"),
           ("mod_by", "if (b != 0) x %= b"), ("and_with", "x &= b"), ("or_with", "x |= b"), ("xor_with", "x ^= b"),
           ("assign", "x = b"), ("shl", "x <<= b"), ("shr", "x >>= b"), ("range_put", "x.range(c.hi, c.lo) = b")]
# Statements that need no b.
EDITS = [("inc", "++x"), ("shl_int", "x <<= c.n"), ("shr_int", "x >>= c.n"), ("reverse", "x.reverse()"),
         ("range_move", "x(c.hi, c.lo) = (~a)(c.hi, c.lo)"), ("bit_put", "x[c.hi] = a[c.lo]"),
         ("rotate_left", "x.lrotate(unsigned(c.hi))"), ("rotate_right", "x.rrotate(unsigned(c.hi))")]
# Expressions on an ap_(u)int a.
UNARY = [("neg", "-a"), ("inv", "~a"), ("lnot", "!a"), ("shl_int", "a << c.n"), ("shr_int", "a >> c.n"),
         ("dec_post", "[&] { A y = a; A z = y--; return show(z) + ' ' + show(y); }()"), ("int64", "a.to_int64()"),
         ("uint64", "a.to_uint64()"), ("int32", "a.to_int()"), ("uint8", "a.to_uchar()"), ("builtin", "builtin(a)"),
         ("double", "a.to_double()"), ("float", "double(a.to_float())"),
         ("of_double", "A(c.d)"), ("of_decimal", "A(c.dec, 10)"),
         ("text2", "a.to_string(2)"), ("text8", "a.to_string(8)"), ("text10", "a.to_string(10)"),
         ("text16", "a.to_string(16, true)"), ("range_get", "a.range(c.hi, c.lo).get()"),
         ("range_add", "a.range(c.hi, c.lo) + 1"), ("range_and", "a.range(c.hi, c.lo).and_reduce()"),
         ("bit_get", "a[c.lo]"), ("reduce", "a.and_reduce() * 4 + a.or_reduce() * 2 + a.xor_reduce()")]
# Expressions on an ap_(u)int a and any b, or two ap_(u)ints.
CONCAT = [("cat", "(a, b).get()"), ("cat_range", "(a.range(c.hi, c.lo), b).get()")]
PAIRS = [("cat", "a.concat(b).get()"),
         ("cat_put", "[&] { A y = 0; B z = 0; (y, z) = b - 3 * a; return show(y) + ' ' + show(z); }()")]

PRELUDE = r"""
#include "ap_int.h"
#include <cstdio>
#include <cstring>
#include <string>

struct Case {
    const char *a, *b;
    int n, hi, lo;
    double d;
    const char *dec, *expected[80];
};

static int failures = 0;

template <int W, bool S>
[[maybe_unused]] static std::string show(const ap_int_base<W, S> &v)
{
    return (S ? "i" : "u") + std::to_string(W) + ":" + v.to_string(16);
}
[[maybe_unused]] static std::string show(bool v) { return v ? "b:1" : "b:0"; }
[[maybe_unused]] static std::string show(double v)
{
    unsigned long long bits;
    char text[20];
    std::memcpy(&bits, &v, sizeof bits);
    std::snprintf(text, sizeof text, "d:%016llx", bits);
    return text;
}
[[maybe_unused]] static std::string show(long v) { return "l:" + std::to_string(v); }
[[maybe_unused]] static std::string show(unsigned long v) { return "l:" + std::to_string(v); }
[[maybe_unused]] static std::string show(int v) { return show(long(v)); }
[[maybe_unused]] static std::string show(unsigned char v) { return show(long(v)); }

/* Two values, shown already. */
[[maybe_unused]] static std::string show(const std::string &v) { return v; }

/* The value that an implicit conversion gives. */
template <bool S>
struct Wide { using type = long; };
template <>
struct Wide<false> { using type = unsigned long; };
template <int W, bool S>
static typename Wide<S>::type builtin(const ap_int_base<W, S> &v) { return v; }

template <class T>
static T parse(const char *s)
{
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(ap_int<64>(s, 16).to_int64());
    else
        return T(s, 16);
}

static void mismatch(const char *types, const char *op, const Case &c, const std::string &got, const char *want)
{
    std::printf("%s: %s: a=%s b=%s n=%d hi=%d lo=%d: got %s, expected %s\n", types, op, c.a, c.b, c.n, c.hi, c.lo,
                got.c_str(), want);
    if (++failures == 20)
        std::exit(1);
}

template <class T>
static void check(const char *types, const char *op, const Case &c, const T &got, const char *want)
{
    const std::string text = show(got);
    if (text != want)
        mismatch(types, op, c, text, want);
}
"""


def random_value(rnd, width, signed):
    kind = rnd.randrange(8)
    if kind == 0:
        value = rnd.choice([0, 1, -1, 2, 3, -2])
    elif kind == 1:
        value = rnd.choice([1 << (width - 1), (1 << (width - 1)) - 1, (1 << width) - 1, 1 << (width // 2)])
    elif kind == 2:
        value = rnd.getrandbits(rnd.randint(1, width)) * rnd.choice([1, -1])
    elif kind == 3:
        value = rnd.getrandbits(width) & rnd.getrandbits(width) & rnd.getrandbits(width)
    else:
        value = rnd.getrandbits(width)
    return wrap(value, width, signed)


def random_type(rnd):
    width = rnd.choice(EDGES) if rnd.random() < 0.6 else rnd.randint(1, 300)
    signed = rnd.random() < 0.5
    return (width, signed, "ap_%sint<%d>" % ("" if signed else "u", width))


def harness(kind):
    """The function that runs one case, and the expectations in its order."""
    checks = [(n, n, e.format(a="a", b="b")) for n, e in BINARY]
    checks += [(n, n, "[&] { A x = a; %s; return x; }()" % e) for n, e in UPDATES]
    checks += [(n, n, e) for n, e in CONCAT]
    if kind == "pair":
        checks += [(n, n, "[&] { A x = a; %s; return x; }()" % e) for n, e in EDITS]
        checks += [(n, n, e) for n, e in PAIRS + UNARY]
    else:
        checks += [(n, "swapped " + n, e.format(a="b", b="a")) for n, e in BINARY]
    lines = ["    check(types, \"%s\", c, %s, c.expected[%d]);" % (label, expr, i)
             for i, (_, label, expr) in enumerate(checks)]
    head = ["template <class A, class B>", "static void run_%s(const char *types, const Case &c)" % kind, "{",
            "    const A a = parse<A>(c.a);", "    const B b = parse<B>(c.b);"]
    return "\n".join(head + lines + ["}", ""]), [label for _, label, _ in checks]


def quoted(text):
    return '"%s"' % text


def hex_text(value):
    return quoted(format(value, "x"))


def emit_case(c, labels):
    expected = [getattr(c.swapped() if " " in n else c, n.split()[-1])() for n in labels]
    fields = [hex_text(c.a), hex_text(c.b), str(c.n) if c.n > -(1 << 31) else "-2147483647 - 1", str(c.hi), str(c.lo),
              c.d.hex(), quoted(c.dec), "{" + ", ".join(map(quoted, expected)) + "}"]
    return "    {" + ", ".join(fields) + "},"


def main():
    seed, pairs, cases = map(int, sys.argv[1:4])
    rnd = random.Random(seed)
    print("/* seed %d */" % seed, PRELUDE)
    orders = {}
    for kind in "pair", "mixed":
        text, orders[kind] = harness(kind)
        print(text)
    calls = []
    for i in range(pairs):
        kind = "mixed" if i % 3 == 2 else "pair"
        ta = random_type(rnd)
        tb = rnd.choice(BUILTINS) if kind == "mixed" else random_type(rnd)
        print("static const Case cases%d[] = {" % i)
        for _ in range(cases):
            print(emit_case(Case(rnd, ta, tb), orders[kind]))
        print("};")
        calls.append("    for (const Case &c : cases%d)\n        run_%s<%s, %s>(\"%s, %s\", c);" %
                     (i, kind, ta[2], tb[2], ta[2], tb[2]))
    print("int main()\n{\n%s" % "\n".join(calls))
    print("    std::printf(\"%%d checks\\n\", %d);" %
          sum(cases * len(orders["mixed" if i % 3 == 2 else "pair"]) for i in range(pairs)))
    print("    return failures != 0;\n}")


if __name__ == "__main__":
    main()
