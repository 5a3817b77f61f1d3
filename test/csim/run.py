#!/usr/bin/python3
"""Tests of emit/csim, the simulation headers of the emitted C++.

    run.py [COMPILER] [--seed N] [--pairs N] [--bench]

COMPILER defaults to g++. Prints PASS or FAIL per group and exits non-zero if
a group failed. The seed of the random operands is 1 unless given, and is
printed. Needs numpy for the groups npy and quantize.
"""
import argparse
import fractions
import io
import math
import os
import random
import shutil
import stat
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
HEADERS = os.path.join(HERE, "..", "..", "emit", "csim")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
SANITIZE = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


class Failure(Exception):
    pass


def expect(condition, *what):
    if not condition:
        raise Failure(" ".join(map(str, what)))


def run(args):
    p = subprocess.run(args, capture_output=True, text=True)
    return p.returncode, p.stdout, p.stderr


def verilator_headers():
    status, root, errors = run(["verilator", "--getenv", "VERILATOR_ROOT"])
    expect(status == 0, errors)
    return os.path.join(root.strip(), "include")


def cpu_seconds():
    """Of the finished child processes."""
    t = os.times()
    return t.children_user + t.children_system


class Suite:
    def __init__(self, options, folder):
        self.compiler, self.seed, self.pairs = options.compiler, options.seed, options.pairs
        self.folder = folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, source, program, *flags):
        status, _, errors = run([self.compiler, "-std=c++17", *WARNINGS, *flags, "-I", HEADERS, source, "-o", program])
        expect(status == 0, "%s does not compile:\n%s" % (os.path.basename(source), errors[:4000]))

    def build(self, name, *flags):
        program = self.path(name)
        self.compile(os.path.join(HERE, name + ".cpp"), program, *flags)
        return program

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        return self.path(name)

    # The groups.

    def test_headers(self):
        """Every header stands alone, twice included, without a warning but those of HLS pragmas;
        Verilator's beside them."""
        for header in sorted(n for n in os.listdir(HEADERS) if n.endswith(".h")):
            flags = ["-c", "-Wno-unknown-pragmas"]
            if header == "ming_rtl.h":
                if not shutil.which("verilator"):
                    print("  note: verilator is not installed; %s is left out" % header)
                    continue
                flags += ["-isystem", verilator_headers()]
            source = self.write("alone.cpp", '#include "%s"\n#include "%s"\n' % (header, header))
            self.compile(source, self.path("alone.o"), *flags)

    def test_ap_int(self):
        program = self.build("ap_int_test", *SANITIZE)
        status, out, errors = run([program])
        expect(status == 0, out, errors)
        for misuse, message in [("division", "division by zero"), ("modulo", "division by zero"),
                                ("index", "out of range"), ("negative", "out of range"), ("range", "out of range"),
                                ("string", "not a digit"), ("empty", "without digits"), ("wide", "more than 64 bits")]:
            status, _, errors = run([program, misuse])
            expect(status != 0 and "ERROR: ap_int: " in errors and message in errors, misuse, status, errors)

    def random_operations(self, seed, pairs, *flags):
        status, text, errors = run([sys.executable, os.path.join(HERE, "gen_ap_int.py"), str(seed), str(pairs), "16"])
        expect(status == 0, errors)
        program = self.path("random")
        self.compile(self.write("random.cpp", text), program, *flags)
        status, out, errors = run([program])
        expect(status == 0, "seed", seed, "\n" + out + errors)

    def test_ap_int_random(self):
        self.random_operations(self.seed, self.pairs, "-O0")

    def test_ap_int_random_optimized(self):
        self.random_operations(self.seed + 1000000, self.pairs // 8, "-O2")

    def test_ap_int_random_sanitized(self):
        self.random_operations(self.seed + 2000000, self.pairs // 8, "-O0", *SANITIZE)

    def test_table(self):
        """A table of 200,000 constants is initialised at compile time, soon."""
        rnd = random.Random(self.seed)
        values = ",\n".join(str(rnd.randint(-128, 127)) for _ in range(200000))
        source = self.write("table.cpp", '#include "ap_int.h"\nextern const ap_int<8> table[];\n'
                            "const ap_int<8> table[200000] = {%s};\n" % values)
        start = cpu_seconds()
        self.compile(source, self.path("table.o"), "-c", "-O2")
        seconds = cpu_seconds() - start
        print("  200,000 elements compiled in %.1f s of CPU time" % seconds)
        expect(seconds < 20, "too slow")
        with open(self.path("table.o"), "rb") as f:
            expect(bytes(int(v) & 255 for v in values.split(",\n")) in f.read(), "the table is not in the object file")

    def test_stream_vector_math(self):
        program = self.build("hls_test", *SANITIZE)
        status, out, errors = run([program])
        expect(status == 0 and errors == "", out, errors)
        for misuse, message in [("empty", "'pixels' is read while empty"), ("list", "every element"),
                                ("index", "out of range")]:
            status, _, errors = run([program, misuse])
            expect(status != 0 and "ERROR: hls::" in errors and message in errors, misuse, status, errors)
        status, _, errors = run([program, "leftover"])
        expect(status == 0 and "WARNING: hls::stream 'pixels' contains leftover data" in errors, errors)
        status, out, errors = run([self.build("policy_test", "-O1")])
        expect(status == 0, out, errors)

    def cosim(self, depth):
        """cosim_test with this depth of its short branch, through cosim.awk."""
        status, text, errors = run(["awk", "-f", os.path.join(HEADERS, "cosim.awk"),
                                    os.path.join(HERE, "cosim_test.cpp")])
        expect(status == 0, errors)
        source = self.write("cosim.cpp", text.replace("SHORT_BRANCH", str(depth)))
        self.compile(source, self.path("cosim"), "-O1", "-Wno-unknown-pragmas", "-include",
                     os.path.join(HEADERS, "ming_cosim.h"))
        return run([self.path("cosim")])

    def test_sockets(self):
        status, out, errors = run([self.build("socket_test", *SANITIZE, "-Wno-unknown-pragmas")])
        expect(status == 0, out, errors)

    def test_cosim(self):
        """Bounded FIFOs: enough is enough, a word less deadlocks, and the circle is named."""
        status, out, errors = self.cosim(2)
        expect(status == 0, out, errors)
        status, _, errors = self.cosim(1)
        expect(status == 1 and errors.splitlines() == [
            "deadlock: ",
            "  split waits to write 'right', which is full; it waits for join",
            "  join waits to read 'late', which is empty; it waits for delay",
            "  delay waits to read 'left', which is empty; it waits for split"], errors)

    def test_npy(self):
        import numpy as np
        tool = self.build("npy_tool", "-O1", *SANITIZE)
        rng = np.random.default_rng(self.seed)
        shapes = [(), (0,), (1,), (7,), (64,), (3, 0, 2), (2, 3), (1, 3, 5, 4), (2, 1, 2, 1, 3, 2, 1), (100000, 1)]
        for dtype in "?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8":
            for shape in shapes:
                data = np.frombuffer(rng.bytes(int(np.prod(shape)) * np.dtype(dtype).itemsize), dtype=dtype)
                array = (data if dtype != "?" else rng.integers(0, 2, data.shape).astype("?")).reshape(shape)
                self.npy_round_trip(np, tool, array)
        self.npy_casts(np, tool, rng)
        self.npy_corrupt(np, tool)
        self.npy_unwritable(np, tool)
        self.npy_special(np, tool)

    def npy_round_trip(self, np, tool, array):
        """Whatever byte and array order, version: what comes back is np.save's."""
        np.save(self.path("want.npy"), np.ascontiguousarray(array).reshape(array.shape))
        with open(self.path("want.npy"), "rb") as f:
            want = f.read()
        variants = [(array, None), (np.asfortranarray(array).reshape(array.shape, order="A"), (2, 0)),
                    (array.astype(array.dtype.newbyteorder(">")), (3, 0))]
        if array.ndim > 1:
            variants.append((np.asfortranarray(array), None))
            variants.append((np.asfortranarray(array.astype(array.dtype.newbyteorder(">"))), None))
        for variant, version in variants:
            with open(self.path("in.npy"), "wb") as f:
                np.lib.format.write_array(f, variant, version=version)
            status, _, errors = run([tool, "copy", self.path("in.npy"), self.path("out.npy")])
            expect(status == 0, array.dtype, array.shape, errors)
            with open(self.path("out.npy"), "rb") as f:
                expect(f.read() == want, "copy differs from np.save:", variant.dtype, variant.shape, version)

    def npy_casts(self, np, tool, rng):
        """The accessors, against numpy's conversions."""
        bits = rng.integers(0, 1 << 64, 4000, dtype="u8")
        reals = np.concatenate([np.arange(1 << 16, dtype="u2").view("f2").astype("f8"), bits.view("f8"),
                                np.ldexp(rng.uniform(-2, 2, 4000), rng.integers(-30, 18, 4000)),
                                (np.arange(4000) * 2 + 1) * 2.0 ** -25, 65504 + np.arange(64.0), [0.0, -0.0, 65519.99]])
        small = rng.integers(0, 100, 50)
        with np.errstate(all="ignore"):
            casts = [(reals, "f2"), (reals, "f4"), (reals.astype("f4"), "f8"), (reals.astype("f2"), "f4"),
                     (bits.view("i8"), "f8"), (bits, "f8"), (bits.view("i8"), "f4"), (bits >> np.uint64(1), "i8"),
                     (np.abs(bits.view("i8") >> 1), "u8"), (small.astype("f4"), "u1"), (-small.astype("f8"), "i1"),
                     (np.array([2.0 ** 63, 2.0 ** 64 - 2048, 0]), "u8"), (small > 50, "i2"), (small % 2, "?"),
                     (np.array([-128, 127], "i4"), "i1"), (np.array([255, 0], "i8"), "u1")]
        for array, dtype in casts:
            np.save(self.path("in.npy"), array)
            status, _, errors = run([tool, "cast", self.path("in.npy"), self.path("out.npy"), dtype.replace("?", "b1")])
            expect(status == 0, array.dtype, dtype, errors)
            got = np.load(self.path("out.npy"))
            with np.errstate(all="ignore"):
                want = array.astype(dtype)
            same = (got == want) & (np.signbit(got) == np.signbit(want)) if got.dtype.kind == "f" else got == want
            if got.dtype.kind == "f":
                same |= np.isnan(got) & np.isnan(want)
            expect(got.dtype == want.dtype and same.all(), "cast", array.dtype, dtype, array[~same][:5])
        for array, dtype in [([128], "i1"), ([-1], "u4"), ([256], "u1"), ([-129], "i1"), ([2], "b1"), ([0.5], "i4"),
                             ([math.nan], "i8"), ([2.0 ** 63], "i8"), ([2.0 ** 64], "u8"), ([1], "c8"), ([1], "f1")]:
            np.save(self.path("in.npy"), np.array(array))
            status, _, errors = run([tool, "cast", self.path("in.npy"), self.path("bad.npy"), dtype])
            expect(status == 1 and errors != "" and not os.path.exists(self.path("bad.npy")), array, dtype, errors)

    def npy_corrupt(self, np, tool):
        """Corrupt files are refused, each with its name and a reason; none
        crashes the sanitized tool, and none that numpy refuses is accepted."""
        np.save(self.path("good.npy"), np.arange(6, dtype="<i4").reshape(2, 3))
        with open(self.path("good.npy"), "rb") as f:
            good = f.read()

        def header(text, data=b"", version=b"\1\0"):
            length = len(text).to_bytes(2 if version == b"\1\0" else 4, "little")
            return b"\x93NUMPY" + version + length + text.encode() + data

        entries = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }"
        bad = [good[:n] for n in range(len(good))] + [good + b"\0", b"", b"P5\n3 2\n255\n123456"]
        bad += [header(entries % t, b"\0" * 8) for t in [
            ("<f4", "False", "(3,)"), ("<f4", "False", "(2)"), ("<f4", "false", "(2,)"), ("<f4", "0", "(2,)"),
            ("<f4", "False", "(-2,)"), ("<f4", "False", "(2, -1)"),
            ("<f4", "False", "(4294967296, 4294967296, 4294967296)"),
            ("<f4", "False", "(2, 9223372036854775807)"), ("<f4", "False", "(18446744073709551617,)"),
            ("<f8", "False", "(2305843009213693953,)"), ("<f4", "False", "(2,,)"), ("<f4", "False", "(,)"),
            ("<f4", "False", "(0x2,)"), ("<f4", "False", "[2]"), ("<f4", "False", "(2"), ("<c8", "False", "(1,)"),
            ("|O", "False", "(1,)"), ("<U2", "False", "(1,)"), ("|V8", "False", "(1,)"), ("<f16", "False", "(1,)"),
            ("<M8[s]", "False", "(1,)"), ("<i3", "False", "(1,)"), ("f4", "False", "(2,)"), ("|f4", "False", "(2,)"),
            ("", "False", "(2,)")]]
        bad += [header(t, b"\0" * 8) for t in [
            "", "{", "{}", "}", "x", "{'descr': '<f4', 'fortran_order': False}",
            entries % ("<f4", "False", "(2,)") + "x",
            "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "{'descr: 1",
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", "{'descr': __import__('os')}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'extra': 1}",
            "{'descr': '<f4' 'fortran_order': False}",
            entries % ("<f4", "False", "(2,)") + "\0", "{,}", "(2,)", "{'shape': (2,), 'shape'"]]
        bad += [good[:6] + b"\4\0" + good[8:], good[:6] + b"\0\0" + good[8:], good[:6] + b"\1\1" + good[8:],
                good[:6] + b"\2\0" + b"\xff\xff\xff\xff" + good[12:], good[:8] + b"\xff\xff" + good[10:]]
        names = [self.write_bytes("bad%d.npy" % i, data) for i, data in enumerate(bad)]
        names += [self.path("missing.npy"), self.folder]
        status, out, errors = run([tool, "read", *names])
        expect(status == 0, errors)
        for name, line in zip(names, out.splitlines()):
            expect(line.startswith("error %s: " % name), name, line)

        rnd = random.Random(self.seed)
        names = []
        for i in range(400):
            data = bytearray(good)
            for _ in range(rnd.randint(1, 3)):
                data[rnd.randrange(len(data))] = rnd.choice([rnd.randrange(256), *b"'(),:<>{} 0129bfiu"])
            names.append(self.write_bytes("mutant%d.npy" % i, bytes(data)))
        status, out, errors = run([tool, "read", *names])
        expect(status == 0 and len(out.splitlines()) == len(names), errors)
        for name, line in zip(names, out.splitlines()):
            if line.startswith("ok"):
                array = np.load(name)
                expect(line.split()[2:] == list(map(str, array.shape)), name, line, array.shape)

        spaced = "  {\n\"shape\" :( 2 , ),'fortran_order':True,'descr':'>f4'} "
        more = self.write_bytes("spaced.npy", header(spaced, b"\0" * 8))
        status, out, errors = run([tool, "read", more])
        expect(out == "ok f4 2\n", out)

    def npy_unwritable(self, np, tool):
        """A failed write leaves nothing behind."""
        os.mkdir(self.path("taken.npy"))
        for target in "taken.npy", "nowhere/out.npy":
            status, _, errors = run([tool, "copy", self.path("good.npy"), self.path(target)])
            expect(status == 1 and errors == "%s: cannot be written\n" % self.path(target), status, errors)
        expect(not [n for n in os.listdir(self.folder) if n.endswith(".part")], "a temporary file is left")

    def npy_special(self, np, tool):
        """No file takes the place of a pipe or a device."""
        pipe = self.path("pipe.npy")
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        status, _, errors = run([tool, "copy", self.path("good.npy"), pipe])
        expect(status == 0 and stat.S_ISFIFO(os.stat(pipe).st_mode), "a pipe was replaced", errors)
        got = np.load(io.BytesIO(os.read(reader, 1 << 16)))
        os.close(reader)
        expect(np.array_equal(got, np.load(self.path("good.npy"))), "the pipe has another array")
        status, _, errors = run([tool, "copy", self.path("good.npy"), "/dev/full"])
        expect(status == 1 and errors == "/dev/full: cannot be written\n", status, errors)

    def write_bytes(self, name, data):
        with open(self.path(name), "wb") as f:
            f.write(data)
        return self.path(name)

    def test_quantize(self):
        """Every rounding mode against exact rational arithmetic; in float32
        against numpy's float32."""
        import numpy as np
        tool = self.build("npy_tool", "-O1")
        rng = np.random.default_rng(self.seed)
        reals = np.concatenate([np.arange(-64, 64) / 4, rng.uniform(-300, 300, 500), rng.uniform(-1, 1, 100) * 1e-3,
                                np.nextafter(np.arange(-9, 9) / 2, np.inf), np.nextafter(np.arange(-9, 9) / 2, -np.inf),
                                [1e30, -1e30, np.inf, -np.inf, np.nan, 0.0, -0.0, 5e-324, 2.0 ** 62, 2.0 ** 52 + 1]])
        quantizers = [(1.0, 0.0, -128, 127), (0.5, 3.0, 0, 255), (2.0 ** -7, 0.0, -8, 7), (0.1, -7.0, -32768, 32767),
                      (0.037, 128.0, 0, 255), (1.0, 0.0, -1 << 63, (1 << 63) - 1),
                       (1.0, 0.5, -(1 << 31), (1 << 31) - 1)]
        for dtype in "f8", "f4":
            x = reals.astype(dtype)
            np.save(self.path("in.npy"), x)
            for scale, zero, lo, hi in quantizers:
                with np.errstate(all="ignore"):
                    t = x / np.dtype(dtype).type(scale) + np.dtype(dtype).type(zero)
                t[np.isnan(t)] = zero
                for mode in range(7):
                    args = [self.path("in.npy"), self.path("out.npy"), mode, float(scale).hex(), zero, lo, hi]
                    status, _, errors = run([tool, "quantize", *map(str, args)])
                    expect(status == 0, errors)
                    want = [round_clip(float(v), mode, lo, hi) for v in t]
                    got = np.load(self.path("out.npy")).tolist()
                    wrong = [i for i in range(len(got)) if got[i] != want[i]]
                    expect(not wrong, dtype, scale, zero, "mode", mode, [(x[i], got[i], want[i]) for i in wrong[:5]])

    def test_testbench(self):
        """ming_tb.h around small accelerators, against numpy."""
        import numpy as np
        self.tool = self.build("tb_tool", *SANITIZE)
        rng = np.random.default_rng(self.seed)
        self.tb_layout(np, rng)
        self.tb_elements(np, rng)
        self.tb_refusals(np)

    def tb_run(self, np, case, *inputs):
        """The output array, or the message of the failure."""
        names = [self.path("tb%d.npy" % i) for i in range(len(inputs))]
        for name, array in zip(names, inputs):
            np.save(name, array)
        result = self.path("tb_out.npy")
        if os.path.exists(result):
            os.remove(result)
        status, _, errors = run([self.tool, case, *names, result])
        if status == 0:
            return np.load(result)
        expect(status == 1 and errors.startswith("tb: error: ") and not os.path.exists(result), case, status, errors)
        return errors[len("tb: error: "):].strip()

    def tb_same(self, np, case, want, *inputs):
        got = self.tb_run(np, case, *inputs)
        expect(not isinstance(got, str), case, got)
        expect(got.dtype == want.dtype and got.shape == want.shape and (got == want).all(), case, got, want)

    def tb_layout(self, np, rng):
        """Words of 2 x 3 elements of (n, h, w, c), from (n, c, h, w)."""
        for frames in 1, 3:
            model = rng.integers(-1 << 15, 1 << 15, (2 * frames, 6, 4, 3), dtype="i2")
            nhwc = model.reshape(frames, 2, 6, 4, 3).transpose(0, 1, 3, 4, 2)
            words = nhwc.reshape(frames, 2, 2, 2, 3, 2, 3).transpose(0, 1, 2, 4, 5, 3, 6)
            flat = np.ascontiguousarray(words).reshape(model.shape)
            self.tb_same(np, "to_stream", flat, model)
            self.tb_same(np, "from_stream", model, flat)

    def tb_elements(self, np, rng):
        reals = rng.uniform(-4, 4, (5, 4))
        for dtype in "f8", "f4", "f2":
            x = reals.astype(dtype)
            real = np.float64 if dtype == "f8" else np.float32
            q = np.round(x.astype(real) / real(0.3) + real(1)).clip(-8, 7)
            self.tb_same(np, "quantize", q.astype("i1"), x)
        # Integers are real numbers, but where their quantizer leaves them as they are.
        x = rng.integers(-8, 8, (2, 4), dtype="i1")
        q = np.round(x / 0.3 + 1).clip(-8, 7).astype("i1")
        self.tb_same(np, "quantize", q, x)
        self.tb_same(np, "quantize", q[:1], x[0])
        self.tb_same(np, "whole", x, x)
        q = rng.integers(0, 15, (2, 4), dtype="u1")
        self.tb_same(np, "quantize_unsigned", np.minimum(2 * q, 14), q)
        self.tb_same(np, "quantize_unsigned", q, q / 2 + 0.25)
        x = np.array([[0.1, -0.1, 0.0, -0.0], [-1e-300, 7, np.inf, -np.inf]])
        self.tb_same(np, "bipolar", np.where(x >= 0, 1, -1).astype("i1"), x)
        self.tb_same(np, "bipolar", np.array([[1, -1, 1, 1]], "i1"), np.array([[3, -1, 0, 1]], "i1"))
        q = rng.integers(-256, 256, (3, 4), dtype="i2")
        self.tb_same(np, "dequantize", ((q - 3.0) * 0.125 / 49).astype("f4"), q)
        q = np.array([-64, 63, 0, -1], "i1")
        self.tb_same(np, "i7", q, q)
        self.tb_same(np, "i7", q, (q & 127).astype("u4"))
        self.tb_same(np, "i7", q, q.astype("f4"))
        q = np.array([-1 << 15, (1 << 15) - 1, 0, -1], "i2")
        self.tb_same(np, "i16", q, q.view("u2"))
        q = np.array([-1 << 63, (1 << 63) - 1, 0, -1], "i8")
        self.tb_same(np, "i64", q, q)
        self.tb_same(np, "i64", q, q.view("u8"))
        q = np.array([True, False, False, True])
        self.tb_same(np, "bits", q, q)
        self.tb_same(np, "bits", q, q.astype("i4"))
        x = rng.uniform(-1, 1, 8).astype("f4")
        self.tb_same(np, "floats", x.astype("f8"), x)
        self.tb_same(np, "scalar", np.array(0.5, "f4"), np.array(0.5, "f4"))
        a, b = rng.integers(-128, 128, (2, 3, 2), dtype="i1")
        self.tb_same(np, "subtract", a.astype("i2") - b, a, b.reshape(6))

    def tb_refusals(self, np):
        def refuses(message, case, *inputs):
            got = self.tb_run(np, case, *inputs)
            expect(isinstance(got, str) and message in got, case, got)
        zeros = lambda *shape: np.zeros(shape, "i1")
        refuses("tb0.npy: shape (3,) is not (4,)", "i7", zeros(3))
        refuses("tb0.npy: shape (2, 4) is not (4,)", "i7", zeros(2, 4))
        refuses("tb0.npy: shape (0,) is not", "i7", zeros(0))
        refuses("tb0.npy: shape () is not", "i7", zeros())
        refuses("tb0.npy: shape (2, 3) is not (1, 4)", "quantize", zeros(2, 3))
        refuses("tb0.npy: shape (1,) is not ()", "scalar", zeros(1))
        refuses("tb0.npy: shape (3, 6, 4, 3) is not (2, 6, 4, 3)", "to_stream", zeros(3, 6, 4, 3))
        refuses("tb0.npy: element 2 is not between -64 and 63", "i7", np.array([0, 0, 64, 0]))
        refuses("tb0.npy: element 5 is not between 0 and 127", "i7", np.array([0] * 5 + [128, 0, 0], "u1"))
        refuses("tb0.npy: element 0 is not between -8 and 7", "whole", np.array([[8, 0, 0, 0]]))
        refuses("tb0.npy: element 1 is not between 0 and 1", "bits", np.array([0, -1, 0, 0]))
        refuses("tb0.npy: element 3 is not a 64-bit integer", "i7", np.array([0, 0, 0, 0.5]))
        refuses("tb1.npy: 2 frames, but ", "subtract", zeros(1, 2), zeros(4))
        refuses("input 'x': 1 words of a frame were not read", "unread", zeros(8))
        refuses("output 'y': 3 words of 4 were written", "missing", zeros(8))
        refuses("output 'y': 1 words too many were written", "surplus", zeros(8))
        status, _, errors = run([self.tool, "i7", "a.npy"])
        expect(status == 2 and errors.startswith("usage: "), status, errors)


def round_clip(v, mode, lo, hi):
    """ming::Rounding by its number, on exact fractions, then clip."""
    if math.isinf(v):
        return hi if v > 0 else lo
    f = fractions.Fraction(v)
    sign, a, low = (-1 if f < 0 else 1), abs(f), abs(f).__floor__()
    rest, half = a - low, fractions.Fraction(1, 2)
    q = [round(f), sign * (low + (rest >= half)), sign * (low + (rest > half)), sign * (low + (rest > 0)), sign * low,
         math.ceil(f), math.floor(f)][mode]
    return min(max(q, lo), hi)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("compiler", nargs="?", default="g++")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=40, help="pairs of operand types of the main random group")
    parser.add_argument("--bench", action="store_true", help="also measure throughput")
    options = parser.parse_args()
    print("compiler %s, seed %d" % (options.compiler, options.seed))
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(options, folder)
        for name in [n for n in vars(Suite) if n.startswith("test_")]:
            start = cpu_seconds()
            try:
                getattr(suite, name)()
                verdict = "PASS"
                passed += 1
            except (Failure, ImportError) as e:
                verdict = "FAIL"
                failed += 1
                print("  " + str(e)[:4000])
            print("%s %s (CPU %.1f s)" % (verdict, name[5:], cpu_seconds() - start), flush=True)
        if options.bench:
            print(run([suite.build("mac_bench", "-O2")])[1], end="")
    print("%d passed, %d failed" % (passed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
