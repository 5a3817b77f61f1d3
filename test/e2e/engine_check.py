#!/usr/bin/env python3
"""Runs random programs of overlays in `ming engine`, and compares numbers and cycles.

    engine_check.py --tools=DIR [--seed=N] [--count=N] [--networks=N] [--keep=DIR]

Each program computes one layer: a dense or depthwise convolution, a pool, or a
sum of two tensors, tiled over channels with double buffers. Its outputs are
compared with numpy, the start and end of every command with a stepper that
goes through all cycles one by one. The words of the program's file are those
of an encoder of its own, and files that are damaged are refused or read as
they are. None shares code with ming. Random networks, branches and sums
included, are lowered to programs by ming, and their outputs compared with
numpy's.
"""
import argparse
import hashlib
import json
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy as np

BEAT = 64
PAGE = 4096
UNITS = ["load_a", "load_w", "fill", "compute", "store"]
UNIT_OF = {"load_a": 0, "load_w": 1, "load_p": 1, "fill": 2, "run": 3, "store": 4}
REGISTERS = ("in_h in_w in_cblk out_h out_w out_cblk k_h k_w stride_y stride_x dil_y dil_x pad_t pad_l pad_value "
             "row_stride rows beats c_first c_last mode pu_pc pu_tap pu_tap_length pu_out pu_out_length act_page "
             "act_base act_pixel act_row act2_page act2_base act2_pixel act2_row out_page out_base out_pixel "
             "out_row w_base wb_base fill_count p_base p_stride out_lanes acc_base pool_k_h pool_k_w pool_stride_y "
             "pool_stride_x pool_pad_t pool_pad_l pool_h pool_w").split()
BUFFERS = ["activations", "weights", "output", "parameters"]
MODES = ["dense", "depthwise", "pool", "eltwise"]
SOURCES = ["sums", "operand", "parameter"]
ROUNDINGS = ["floor", "half_up", "half_even"]
OPCODES = {"nop": 0, "load_a": 1, "load_w": 2, "load_p": 3, "fill": 4, "run": 5, "store": 6}
PU_REGS = {"add": 1, "sub": 2, "mul": 3, "max": 5, "rshift": 7}
PU_IMMEDIATE = {"addi": 1, "subi": 2, "muli": 3, "mini": 4, "maxi": 5}
LATENCY, RESTART = 64, 4
TABLE_VECTORS = 8   # of a random table at most
POOL_LATENCY = 4    # cycles from a result of a pool to the next one


class Failure(Exception):
    """Why a case failed, in one line."""


def up(a, b):
    return -(-a // b)


class Windows:
    """Windows over rows and columns of results, whose maxima are stored. Each has a result in it."""

    def __init__(self, rng, size):
        self.map = list(size)
        self.kernel = [rng.randint(1, min(3, extent)) for extent in size]
        self.stride = [rng.randint(1, k) for k in self.kernel]
        self.pad = [rng.randint(0, k - 1) for k in self.kernel]
        most = [(extent + p - 1) // s + 1 for extent, s, p in zip(size, self.stride, self.pad)]
        self.out = [rng.randint(1, count) for count in most]

    def maxima(self, results):
        rows = []
        for y in range(self.out[0]):
            top = y * self.stride[0] - self.pad[0]
            row = []
            for x in range(self.out[1]):
                left = x * self.stride[1] - self.pad[1]
                row.append(results[max(top, 0):top + self.kernel[0], max(left, 0):left + self.kernel[1]]
                           .max(axis=(0, 1)))
            rows.append(row)
        return np.array(rows)

    def attributes(self):
        pairs = {"map": self.map, "kernel": self.kernel, "strides": self.stride, "pads": self.pad}
        return [f"pool_{name} = array<i64: {a}, {b}>" for name, (a, b) in pairs.items()]


class Overlay:
    """Sizes of an overlay that a layer fits."""

    def __init__(self, rng):
        self.rows, self.cols = rng.choice([1, 2, 4, 8]), rng.choice([1, 2, 4, 8])
        self.act_bits, self.weight_bits = rng.choice([8, 16]), rng.choice([8, 16])
        self.acc, self.act_pages, self.w_words, self.pe_words = 48, 6, 8192, 4096
        self.fill_words, self.acc_words = rng.choice([1, 2]), 4096
        self.param_words, self.pu_stages = 256, rng.randint(1, 4)
        self.weight_banks = rng.choice([1, 1, 2, 4])

    def numbers(self):
        return [self.rows, self.cols, self.acc, self.act_pages, self.w_words, self.pe_words,
                self.fill_words, self.acc_words, self.param_words, self.pu_stages, 1, self.weight_banks,
                self.act_bits,
                self.weight_bits]

    def text(self):
        return (f"#sa.overlay<rows = {self.rows}, cols = {self.cols}, act = i{self.act_bits}, "
                f"weight = i{self.weight_bits}, acc = {self.acc}, act_pages = {self.act_pages}, "
                f"w_words = {self.w_words}, pe_words = {self.pe_words}, "
                f"fill_words = {self.fill_words}, acc_words = {self.acc_words}, "
                f"param_words = {self.param_words}, pu_stages = {self.pu_stages}"
                f"{f', weight_banks = {self.weight_banks}' if self.weight_banks > 1 else ''}>")


# Programs: lists of tuples, which text, words and the stepper are made of.

class Program:
    def __init__(self, overlay):
        self.overlay, self.items, self.values = overlay, [], {}

    def set(self, **registers):
        for name, value in registers.items():
            if self.values.get(name) != value:
                self.items.append(("set", name, value))
                self.values[name] = value

    def addr(self, buffer, beat):
        self.items.append(("addr", buffer, beat))

    def pu(self, *instruction):
        self.items.append(("pu", *instruction))
        self.values["pu_pc"] = self.values.get("pu_pc", 0) + 1

    def command(self, name, wait=None, signal=None, **fields):
        self.items.append(("exec", name, wait, signal, fields))

    def lines(self):
        for item in self.items:
            if item[0] == "set":
                yield f"sa.set {item[1]}, {item[2]}"
            elif item[0] == "addr":
                yield f"sa.addr {item[1]}, {item[2]}"
            elif item[0] == "pu":
                yield self.pu_line(item[1:])
            else:
                yield self.exec_line(*item[1:])
        yield "sa.end"

    @staticmethod
    def pu_line(item):
        name, *args = item
        words = [f"r{arg}" if i == 0 or (name in PU_REGS or name in ("min",)) else str(arg)
                 for i, arg in enumerate(args)]
        if name in PU_IMMEDIATE or name == "rshifti":
            words[1] = f"r{args[1]}"
        if name == "lookup":
            return f"sa.pu.{name} {words[0]}, r{args[1]}, {args[2]} log2_bits({args[3]})"
        if name == "rshifti":
            return f"sa.pu.{name} {words[0]}, {words[1]}, {args[2]} {args[3]}"
        return f"sa.pu.{name} " + ", ".join(words)

    @staticmethod
    def exec_line(name, wait, signal, fields):
        text = f"sa.{name}"
        if name == "nop":
            text += f" {fields['unit']}"
        for field in ("half", "source", "bank"):
            if field in fields:
                text += f" {field}({fields[field]})"
        return text + (f" wait({wait})" if wait is not None else "") + (
            f" signal({signal})" if signal is not None else "")

    def text(self):
        body = "".join(f"  {line}\n" for line in self.lines())
        return f"sa.program @layer overlay({self.overlay.text()}) {{\n{body}}}\n"

    def file(self):
        """The bytes of the program's file; its name is `layer`."""
        words = [encode(item) for item in self.items] + [0xFC000000]
        overlay = self.overlay
        fingerprint = hashlib.sha256(overlay.text().encode()).digest()
        numbers = [*overlay.numbers(), len("layer"), len(words)]
        return (b"MSA1\x02\0\0\0" + fingerprint + struct.pack(f"<{len(numbers)}I", *numbers) +
                b"layer\0\0\0" + struct.pack(f"<{len(words)}I", *words))


def encode(item):
    """The word of an instruction, from the tables of docs/overlay.md."""
    if item[0] == "set":
        return 2 << 30 | REGISTERS.index(item[1]) << 16 | item[2] & 0xFFFF
    if item[0] == "addr":
        return BUFFERS.index(item[1]) << 28 | item[2]
    if item[0] == "pu":
        return encode_pu(*item[1:])
    _, name, wait, signal, fields = item
    word = 3 << 30 | OPCODES[name] << 26
    if wait is not None:
        word |= 1 << 25 | wait << 21
    if signal is not None:
        word |= 1 << 20 | signal << 16
    word |= fields.get("half", 0) << 15 | fields.get("bank", 0) | fields.get("source", 0)
    return word | (UNITS.index(fields["unit"]) if name == "nop" else 0)


def encode_pu(name, dest, *args):
    word = 1 << 30
    if name == "store":
        return word | 6 << 27 | dest << 17
    word |= 1 << 25 | dest << 21
    if name == "load":
        return word | SOURCES.index(args[0]) << 17 | args[1]
    if name == "lookup":
        return word | 1 << 26 | args[0] << 17 | args[2] << 14 | args[1]
    if name == "mvhi":
        return word | 4 << 27 | 1 << 26 | args[0] & 0x1FFF
    if name == "rshifti":
        return word | 7 << 27 | args[0] << 17 | ROUNDINGS.index(args[2]) << 6 | args[1]
    if name in PU_IMMEDIATE:
        return word | PU_IMMEDIATE[name] << 27 | args[0] << 17 | args[1] & 0x1FFF
    word |= PU_REGS["max" if name == "min" else name] << 27 | 1 << 26 | args[0] << 17
    return word | args[1] << 13 | (1 << 12 if name == "min" else 0)


# Layers.

class Layer:
    """A layer with random numbers; channels are filled up to whole words."""

    def __init__(self, rng, values):
        o = self.overlay = Overlay(rng)
        self.mode = rng.choice([m for m in MODES if m != "depthwise" or o.rows <= o.cols])
        self.both = max(o.rows, o.cols)
        self.cin = self.both * rng.randint(1, 3)
        self.cout = self.cin if self.mode != "dense" else self.both * rng.randint(1, 3)
        self.in_h, self.in_w = rng.randint(1, 7), rng.randint(1, 7)
        window = self.mode != "eltwise"
        self.kernel = [rng.randint(1, 3) if window else 1 for _ in "hw"]
        self.dilation = [rng.randint(1, 2) for _ in "hw"]
        self.stride = [rng.randint(1, 3) if window else 1 for _ in "hw"]
        self.pad = [rng.randint(0, 2) if window else 0 for _ in "hw"]
        self.out = [max(1, (size + 2 * p - d * (k - 1) - 1) // s + 1) if window else size
                    for size, p, d, k, s in zip((self.in_h, self.in_w), self.pad, self.dilation,
                                                self.kernel, self.stride)]
        self.pool = rng.choice(["max", "add"])
        limit = 1 << (o.act_bits - 1)
        self.pad_value = rng.randint(-3, 3) if self.mode != "pool" else (
            -limit if self.pool == "max" else 0)
        self.windows = Windows(rng, self.out) if self.mode in ("dense", "depthwise") and (
            rng.random() < 0.4) else None
        self.result = self.windows.out if self.windows else self.out
        self.has_operand = self.mode == "eltwise" or (not self.windows and rng.random() < 0.3)
        self.shift, self.rounding = rng.randint(1, 12), rng.choice(ROUNDINGS)
        self.relu = rng.random() < 0.5
        self.m_tile = rng.randint(1, self.cout // o.rows)
        self.n_tile = rng.randint(1, self.cin // o.cols)
        self.x = values.integers(-limit, limit, (self.in_h, self.in_w, self.cin))
        self.operand = values.integers(-limit, limit, (*self.out, self.cout))
        wide = 1 << (o.weight_bits - 1)
        shape = (self.cout, self.cin if self.mode == "dense" else 1, *self.kernel)
        self.weights = values.integers(-wide, wide, shape)
        self.bias = values.integers(-1000, 1000, self.cout)
        self.gain = values.integers(1, 100, self.cout)
        self.table_bits = rng.choice([None, None, 0, 1, 2, 3, 4, 5])
        if self.table_bits is not None:
            length = rng.randint(1, TABLE_VECTORS * 32 >> self.table_bits)
            most = 1 << (1 << self.table_bits)
            self.table = values.integers(0, most, (self.cout, length))

    def table_vectors(self):
        """The tables' entries in words of 32 bits: vectors x channels."""
        if self.table_bits is None:
            return np.zeros((0, self.cout), np.int64)
        bits = 1 << self.table_bits
        size = up(self.table.shape[1], 32 // bits) * (32 // bits)
        padded = np.pad(self.table, [(0, 0), (0, size - self.table.shape[1])])
        fields = padded.reshape(self.cout, -1, 32 // bits) << (np.arange(32 // bits) * bits)
        return fields.sum(axis=2).T

    # What numpy says.

    def padded(self):
        """The input with so much padding on every side that all taps lie in it."""
        far = [p + d * k + s * o for p, d, k, s, o in
               zip(self.pad, self.dilation, self.kernel, self.stride, self.out)]
        frame = [(p, f) for p, f in zip(self.pad, far)] + [(0, 0)]
        return np.pad(self.x, frame, constant_values=self.pad_value)

    def taps(self):
        x, (h, w) = self.padded(), self.out
        for ky in range(self.kernel[0]):
            for kx in range(self.kernel[1]):
                y0, x0 = ky * self.dilation[0], kx * self.dilation[1]
                yield ky, kx, x[y0:y0 + h * self.stride[0]:self.stride[0],
                                x0:x0 + w * self.stride[1]:self.stride[1]][:h, :w]

    def sums(self):
        if self.mode == "eltwise":
            return self.x
        total = None
        for ky, kx, tap in self.taps():
            if self.mode == "dense":
                part = tap @ self.weights[:, :, ky, kx].T
            elif self.mode == "depthwise":
                part = tap * self.weights[:, 0, ky, kx]
            else:
                part = tap
            if total is None:
                total = part.astype(np.int64)
            elif self.mode == "pool" and self.pool == "max":
                total = np.maximum(total, part)
            else:
                total = total + part
        return total

    def expected(self):
        value = (self.sums() + self.bias) * self.gain
        floor = value >> self.shift
        rest, half = value - (floor << self.shift), 1 << (self.shift - 1)
        if self.rounding != "floor":
            tie = np.ones_like(rest, bool) if self.rounding == "half_up" else floor % 2 == 1
            floor = floor + ((rest > half) | ((rest == half) & tie))
        if self.has_operand:
            floor = floor + self.operand
        if self.relu:
            floor = np.maximum(floor, 0)
        if self.table_bits is not None:
            index = np.clip(floor, 0, self.table.shape[1] - 1)
            floor = self.table[np.arange(self.cout), index]
        limit = 1 << (self.overlay.act_bits - 1)
        stored = np.clip(floor, -limit, limit - 1)
        return self.windows.maxima(stored) if self.windows else stored

    # External memory: bank 0 input and operand, 1 weights and parameters, 2 output.

    @staticmethod
    def elements(array, bits):
        return np.asarray(array).astype(f"<i{bits // 8}").tobytes()

    def tiles(self):
        """(m blocks, n blocks) as (begin, end), the n of an m one after the other."""
        ms = range(0, self.cout // self.overlay.rows, self.m_tile)
        n_all = self.cin // self.overlay.cols if self.mode == "dense" else 1
        step = self.n_tile if self.mode == "dense" else 1
        for m in ms:
            m_end = min(m + self.m_tile, self.cout // self.overlay.rows)
            for n in range(0, n_all, step):
                yield (m, m_end), (n, min(n + step, n_all))

    def tile_weights(self, m_range, n_range):
        """Words of `rows` weights: for every weight of a processing element a column each."""
        o, out = self.overlay, []
        for m in range(*m_range):
            for ky in range(self.kernel[0]):
                for kx in range(self.kernel[1]):
                    for n in range(*n_range):
                        out.append(self.block(m, n, ky, kx).T)      # cols x rows
        return np.array(out).reshape(-1, o.rows)

    def block(self, m, n, ky, kx):
        o = self.overlay
        rows = slice(m * o.rows, (m + 1) * o.rows)
        if self.mode == "dense":
            return self.weights[rows, n * o.cols:(n + 1) * o.cols, ky, kx]
        block = np.zeros((o.rows, o.cols), np.int64)
        for j in range(o.rows):
            block[j, (m * o.rows + j) % o.cols] = self.weights[m * o.rows + j, 0, ky, kx]
        return block


def aligned(data):
    return data + bytes(-len(data) % BEAT)


# A program for a layer.

def pu_program(layer, blocks):
    """Bias and gain are vectors `blocks` apart."""
    yield ("load", 1, "parameter", 0)
    yield ("load", 2, "parameter", blocks)
    if layer.mode == "pool":
        yield ("add", 3, 0, 1)
    else:
        yield ("load", 0, "sums", 0)
        yield ("add", 3, 0, 1)
    yield ("mul", 3, 3, 2)
    yield ("rshifti", 3, 3, layer.shift, layer.rounding)
    if layer.has_operand:
        yield ("load", 4, "operand", 0)
        yield ("add", 3, 3, 4)
    if layer.relu:
        yield ("maxi", 3, 3, 0)
    if layer.table_bits is not None:
        if layer.table_bits % 2:
            yield ("mini", 3, 3, layer.table.shape[1] - 1)
        else:
            yield ("addi", 5, 15, layer.table.shape[1] - 1)
            yield ("min", 3, 3, 5)
        yield ("lookup", 3, 3, 2 * blocks, layer.table_bits)
    yield ("store", 3)


class Builder:
    """Semaphores: 0 input is there, 1 weights are in the buffer, 2 in the array, 3 outputs are
    there, 4 a half of the array is free, 5 a half of the buffer is free, 6 parameters are there,
    7 the operand is there."""

    def __init__(self, layer):
        self.layer, self.program = layer, Program(layer.overlay)
        self.banks = [b"", b"", b""]
        self.blocks = layer.cout // layer.overlay.rows

    def put(self, bank, data):
        """Appends to a bank; (first beat, beats)."""
        first = len(self.banks[bank]) // BEAT
        self.banks[bank] += aligned(data)
        return first, len(aligned(data)) // BEAT

    def load(self, buffer, bank, data, command, **how):
        first, beats = self.put(bank, data)
        self.program.addr(buffer, first)
        self.program.set(rows=1, beats=beats, row_stride=0)
        self.program.command(command, bank=bank, **how)

    def load_inputs(self):
        p, layer = self.program, self.layer
        bits = layer.overlay.act_bits
        p.set(act_page=0, act_base=0)
        self.load("activations", 0, layer.elements(layer.x, bits), "load_a", signal=0)
        if layer.has_operand:
            p.set(act_page=2, act_base=0)
            self.load("activations", 0, layer.elements(layer.operand, bits), "load_a", signal=7)
        p.set(p_base=0)
        params = np.concatenate([np.stack([layer.bias, layer.gain]), layer.table_vectors()])
        self.load("parameters", 1, (params & 0xFFFFFFFF).astype("<u4").tobytes(), "load_p", signal=6)

    def set_programs(self):
        p, layer = self.program, self.layer
        p.set(pu_pc=0)
        if layer.mode == "pool":
            p.pu("load", 1, "sums", 0)
            p.pu(layer.pool, 0, 0, 1)
        tap = p.values["pu_pc"]
        for instruction in pu_program(layer, self.blocks):
            p.pu(*instruction)
        p.set(pu_tap=0, pu_tap_length=tap, pu_out=tap, pu_out_length=p.values["pu_pc"] - tap)

    def set_shapes(self):
        p, layer, o = self.program, self.layer, self.layer.overlay
        pixel_in, pixel_out = layer.cin // o.cols, layer.cout // o.cols
        if layer.table_bits is not None:
            p.set(p_stride=self.blocks)
        p.set(in_h=layer.in_h, in_w=layer.in_w, out_h=layer.out[0], out_w=layer.out[1],
              k_h=layer.kernel[0], k_w=layer.kernel[1], stride_y=layer.stride[0],
              stride_x=layer.stride[1], dil_y=layer.dilation[0], dil_x=layer.dilation[1],
              pad_t=layer.pad[0], pad_l=layer.pad[1], pad_value=layer.pad_value,
              mode=MODES.index(layer.mode), act_page=0, act_pixel=pixel_in,
              act_row=pixel_in * layer.in_w, act2_page=2, act2_pixel=pixel_out,
              act2_row=pixel_out * layer.out[1], out_page=4, out_pixel=pixel_out,
              out_row=pixel_out * layer.result[1])
        if layer.windows:
            windows = layer.windows
            p.set(pool_k_h=windows.kernel[0], pool_k_w=windows.kernel[1], pool_stride_y=windows.stride[0],
                  pool_stride_x=windows.stride[1], pool_pad_t=windows.pad[0], pool_pad_l=windows.pad[1],
                  pool_h=windows.out[0], pool_w=windows.out[1])

    def weights(self, tile, index, count):
        """Loads and fills one tile's weights."""
        p, layer, half = self.program, self.layer, index % 2
        words = layer.tile_weights(*tile)
        p.set(wb_base=0)
        self.load("weights", 1, layer.elements(words, layer.overlay.weight_bits), "load_w",
                  half=half, wait=5 if index >= 2 else None, signal=1)
        if index >= 2:
            p.command("nop", unit="fill", wait=4)
        p.set(w_base=0, fill_count=len(words) // layer.overlay.cols)
        p.command("fill", half=half, source=half, wait=1, signal=2)
        if index + 2 < count:
            p.command("nop", unit="fill", signal=5)

    def run(self, tile, index, count):
        (m, m_end), (n, n_end) = tile
        p, layer, o = self.program, self.layer, self.layer.overlay
        has_weights = layer.mode in ("dense", "depthwise")
        n_all = layer.cin // o.cols if layer.mode == "dense" else 1
        if layer.mode == "dense":
            base = n
        else:
            base = m * o.rows // o.cols
        first = m * o.rows // o.cols
        p.set(in_cblk=n_end - n, out_cblk=m_end - m, act_base=base, act2_base=first,
              out_base=first, c_first=int(n == 0), c_last=int(n_end == n_all), p_base=m)
        last = index + 1 == count
        p.command("run", half=index % 2 if has_weights else 0, wait=2 if has_weights else None,
                  signal=4 if has_weights and index + 2 < count else 3 if last else None)

    def build(self):
        p, layer = self.program, self.layer
        self.load_inputs()
        self.set_programs()
        self.set_shapes()
        self.clear_end()
        p.set(act_page=0)
        p.command("nop", unit="compute", wait=0)
        p.command("nop", unit="compute", wait=6)
        if layer.has_operand:
            p.command("nop", unit="compute", wait=7)
        # Blocks of a tile begin with whole words of the maps.
        tiles = list(layer.tiles())
        for index, tile in enumerate(tiles):
            if layer.mode in ("dense", "depthwise"):
                self.weights(tile, index, len(tiles))
            self.run(tile, index, len(tiles))
        self.store()
        return p

    def output_bytes(self):
        layer = self.layer
        return int(np.prod(layer.result)) * layer.cout * layer.overlay.act_bits // 8

    def clear_end(self):
        """Words behind the output that belong to its last beat."""
        p, layer, size = self.program, self.layer, self.output_bytes()
        if size % BEAT:
            word = layer.overlay.cols * layer.overlay.act_bits // 8
            p.set(act_page=4, act_base=size // word)
            self.load("activations", 0, bytes(BEAT), "load_a", signal=8)
            p.command("nop", unit="compute", wait=8)

    def store(self):
        beats = up(self.output_bytes(), BEAT)
        self.program.set(out_base=0, rows=1, beats=beats, row_stride=0)
        self.program.addr("output", 0)
        self.program.command("store", bank=2, wait=3)
        self.banks[2] = bytes(beats * BEAT)


# The stepper.

def duration(item, regs, o):
    """Cycles of a command; docs/overlay.md, "Cycles"."""
    _, name, _, _, fields = item
    if name == "nop":
        return 1
    if name == "fill":
        return max(1, up(regs["fill_count"] * o.cols, o.fill_words))
    if name != "run":
        banks = o.weight_banks if name == "load_w" else 1
        return LATENCY + max(0, regs["rows"] - 1) * RESTART + up(regs["rows"] * regs["beats"], banks)
    out_length = regs.get("pu_out_length", 0)
    pu = up(out_length, o.pu_stages) if regs["c_last"] else 0
    words = up(o.rows, o.cols)
    if regs["pool_k_h"] and regs["c_last"]:
        pu = max(pu, POOL_LATENCY, words * up(regs["pool_k_h"], regs["pool_stride_y"]) *
                 up(regs["pool_k_w"], regs["pool_stride_x"]))
    taps = regs["k_h"] * regs["k_w"]
    tap = max(words, up(regs["pu_tap_length"], o.pu_stages))
    each = {"dense": max(taps * regs["in_cblk"], pu, words), "depthwise": max(taps, pu, words),
            "pool": taps * tap + max(pu, words), "eltwise": max(words, pu)}[MODES[regs["mode"]]]
    chains = up(o.cols, 16)
    tree = (chains - 1).bit_length()
    depth = o.rows - 1 + 4 + min(o.cols, 16) + tree + up(out_length, o.pu_stages)
    return regs["out_cblk"] * regs["out_h"] * regs["out_w"] * each + depth


def step(program):
    """[(name, unit, start, end)] in the order of starts, and the cycles of all."""
    o, items = program.overlay, program.items
    queues, active = [[] for _ in UNITS], [None] * len(UNITS)
    semaphores, regs, banks, log = [0] * 16, dict.fromkeys(REGISTERS, 0), {}, []
    at, now = 0, 0
    while True:
        for u, command in enumerate(active):            # what is over signals
            if command and command[1] == now:
                active[u] = None
                if command[0][3] is not None:
                    semaphores[command[0][3]] += 1
        for u, queue in enumerate(queues):              # units begin
            if active[u] or not queue or queue[0][1] == now:
                continue
            item, _, snapshot = queue[0]
            bank = item[4].get("bank")
            if (item[2] is not None and not semaphores[item[2]]) or banks.get(bank, 0) > now:
                continue
            queue.pop(0)
            if item[2] is not None:
                semaphores[item[2]] -= 1
            active[u] = item, now + duration(item, snapshot, o)
            if bank is not None:
                banks[bank] = active[u][1]
            log.append((f"sa.{item[1]}", UNITS[u], now, active[u][1]))
        if at == len(items):                            # the end
            if not any(queues) and not any(active):
                return log, now + 1
        else:                                           # one instruction
            item = items[at]
            if item[0] != "exec":
                if item[0] == "set":
                    regs[item[1]] = item[2]
                at += 1
            else:
                u = UNITS.index(item[4]["unit"]) if item[1] == "nop" else UNIT_OF[item[1]]
                if len(queues[u]) < 4:
                    queues[u].append((item, now, dict(regs)))
                    at += 1
        now += 1
        if now > 10 ** 7:
            raise Failure("the stepper does not come to an end")


# Networks.

class Node:
    """A layer of a network, or its input: name, numbers, and its line of text."""

    def __init__(self, name, array):
        self.name, self.array, self.text, self.uses = name, array, None, 0

    def type(self, bits):
        return f"tensor<{'x'.join(map(str, self.array.shape))}xi{bits}>"


def elements(array):
    return f"dense<{np.asarray(array).tolist()}>"


def shifted(value, shift, rounding):
    floor = value >> shift
    rest, half = value - (floor << shift), 1 << (shift - 1)
    if rounding == "floor":
        return floor
    tie = np.ones_like(rest, bool) if rounding == "half_up" else floor % 2 == 1
    return floor + ((rest > half) | ((rest == half) & tie))


class Net:
    """A random network for an overlay, random if none is given. Every layer adds a bias, multiplies by a gain, shifts,
    perhaps adds another map of the same shape, and saturates."""

    def __init__(self, rng, values, overlay=None):
        self.rng, self.values, self.overlay = rng, values, overlay or Overlay(rng)
        if not overlay:
            self.overlay.act_pages = 24
        self.bits = self.overlay.act_bits
        self.limit = 1 << (self.bits - 1)
        shape = (rng.randint(3, 8), rng.randint(3, 8), rng.randint(1, 9))
        self.nodes = [Node("%x", values.integers(-self.limit, self.limit, shape))]
        for _ in range(rng.randint(1, 5)):
            self.add_layer()
        self.output = self.nodes[-1]

    def add_layer(self):
        source = self.rng.choice(self.nodes[-2:])
        kind = self.rng.choice(["dense", "dense", "depthwise", "max", "sum", "eltwise", "repeat"])
        if kind == "depthwise" and self.overlay.rows > self.overlay.cols:
            kind = "dense"
        if kind == "repeat":
            self.add_repeats(source)
        else:
            self.add(kind, source)

    def add_repeats(self, source):
        """Each pixel several times, or once with a number between them, the first row or column again and
        again; twice of one map, so that there is an operand of that shape."""
        rng = self.rng
        strides = [rng.choice([1, 1, 2, 0]) for _ in "hw"]
        repeats = [rng.randint(1, 3) for _ in "hw"]
        sums = source.array
        for axis, (stride, repeat) in enumerate(zip(strides, repeats)):
            places = np.arange(rng.randint(1, 6)) * 0 if stride == 0 else (
                np.arange(0, sums.shape[axis], stride))
            sums = sums.take(places, axis).repeat(repeat, axis)
        attributes = [f"strides = array<i64: {strides[0]}, {strides[1]}>",
                      f"repeats = array<i64: {repeats[0]}, {repeats[1]}>"]
        if rng.random() < 0.4:
            fill = rng.randint(-2, 2)
            rows, cols = (np.arange(sums.shape[axis]) % repeats[axis] != 0 for axis in (0, 1))
            sums = np.where((rows[:, None] | cols)[..., None], fill, sums)
            attributes.append(f"pad_value = {fill} : i64")
        for _ in range(rng.randint(1, 2)):
            self.finish("eltwise", "repeat", source, sums, attributes)

    def windows(self, source, fill):
        """Taps of a random window as arrays, and its attributes. Empty: it does not fit."""
        rng = self.rng
        kernel, stride = [rng.randint(1, 3) for _ in "hw"], [rng.randint(1, 2) for _ in "hw"]
        dilation, pad = [rng.randint(1, 2) for _ in "hw"], [rng.randint(0, 1) for _ in "hw"]
        out = [(size + 2 * p - d * (k - 1) - 1) // s + 1 for size, p, d, k, s in
               zip(source.array.shape, pad, dilation, kernel, stride)]
        if min(out) < 1:
            return None
        x = np.pad(source.array, [(p, p + 8) for p in pad] + [(0, 0)], constant_values=fill)
        taps = [x[ky * dilation[0]:, kx * dilation[1]:][:out[0] * stride[0]:stride[0],
                                                         :out[1] * stride[1]:stride[1]]
                for ky in range(kernel[0]) for kx in range(kernel[1])]
        numbers = {"strides": stride, "dilations": dilation, "pads": pad}
        attributes = [f"{name} = array<i64: {a}, {b}>" for name, (a, b) in numbers.items()]
        return kernel, taps, attributes + [f"pad_value = {fill} : i64"]

    def add(self, kind, source):
        values, channels = self.values, source.array.shape[2]
        fill = {"max": -self.limit, "sum": 0}.get(kind, self.rng.randint(-2, 2))
        stride = self.rng.randint(1, 2)
        window = self.windows(source, fill)
        attributes, op = [], "eltwise"
        if kind == "eltwise" or window is None:
            sums = source.array[::stride, ::stride]
            attributes = [f"strides = array<i64: {stride}, {stride}>"]
            kind = "eltwise"
        elif kind in ("max", "sum"):
            kernel, taps, attributes = window
            sums = np.maximum.reduce(taps) if kind == "max" else np.sum(taps, axis=0)
            attributes = attributes + [f"kernel = array<i64: {kernel[0]}, {kernel[1]}>"]
            op = "pool"
        else:
            kernel, taps, attributes = window
            wide, op = 1 << (self.overlay.weight_bits - 1), "conv"
            count = channels if kind == "depthwise" else self.rng.randint(1, 9)
            depth = 1 if kind == "depthwise" else channels
            weights = values.integers(-wide, wide, (count, len(taps), depth))
            if kind == "depthwise":
                sums = sum(tap * weights[:, i, 0] for i, tap in enumerate(taps))
                attributes = attributes + ["depthwise"]
            else:
                sums = sum(tap @ weights[:, i].T for i, tap in enumerate(taps))
            shape = f"{count}x{kernel[0]}x{kernel[1]}x{depth}xi{self.overlay.weight_bits}"
            nested = weights.reshape(count, *kernel, depth)
            attributes = attributes + [f"weights = {elements(nested)} : tensor<{shape}>"]
        self.finish(op, kind, source, sums, attributes)

    def finish(self, op, kind, source, sums, attributes):
        rng, channels = self.rng, sums.shape[2]
        bias = self.values.integers(-500, 500, channels)
        gain = self.values.integers(1, 50, channels)
        shift, rounding = rng.randint(1, 14), rng.choice(ROUNDINGS)
        value = shifted((sums + bias) * gain, shift, rounding)
        others = [node for node in self.nodes
                  if node is not source and node.array.shape == value.shape]
        operand = rng.choice(others) if others and rng.random() < 0.7 else None
        if operand:
            value = value + operand.array
        value = np.clip(value, -self.limit, self.limit - 1)
        if op == "conv" and not operand and rng.random() < 0.5:
            windows = Windows(rng, value.shape[:2])
            value, attributes = windows.maxima(value), attributes + windows.attributes()
        node = Node(f"%v{len(self.nodes)}", value)
        program = ["sa.pu.load r1, parameter, 0", "sa.pu.load r2, parameter, 1",
                   *([] if op == "pool" else ["sa.pu.load r0, sums, 0"]), "sa.pu.add r0, r0, r1",
                   "sa.pu.mul r0, r0, r2", f"sa.pu.rshifti r0, r0, {shift} {rounding}",
                   *(["sa.pu.load r3, operand, 0", "sa.pu.add r0, r0, r3"] if operand else []),
                   "sa.pu.store r0"]
        tap = ["sa.pu.load r1, sums, 0", f"sa.pu.{'max' if kind == 'max' else 'add'} r0, r0, r1"]
        regions = (f"tap {{ {' '.join(tap)} }} " if op == "pool" else "") + (
            f"pu {{ {' '.join(program)} }}")
        parameters = ", ".join(f"{elements(vector)} : tensor<{channels}xi32>"
                               for vector in (bias, gain))
        arguments = [node_ for node_ in (source, operand) if node_]
        types = ", ".join(node_.type(self.bits) for node_ in arguments)
        node.text = (f"{node.name} = sa.{op} {', '.join(n.name for n in arguments)} {regions} "
                     f"{{{', '.join(attributes)}, parameters = [{parameters}]}} : ({types}) -> "
                     f"{node.type(self.bits)}")
        for used in arguments:
            used.uses += 1
        self.nodes.append(node)

    def text(self):
        x = self.nodes[0]
        lines = [f'%x = sa.input "x" : {x.type(self.bits)}', *(n.text for n in self.nodes[1:]),
                 f'sa.output {self.output.name}, "y" : {self.output.type(self.bits)}']
        body = "".join(f"  {line}\n" for line in lines)
        return f"sa.network @net overlay({self.overlay.text()}) {{\n{body}}}\n"


def check_network(tools, seed, index, folder):
    rng = random.Random(f"{seed}/{index}/network")
    net = Net(rng, np.random.default_rng(rng.getrandbits(32)))
    (folder / "net.mir").write_text(net.text(), encoding="ascii")
    np.save(folder / "x.npy", net.nodes[0].array.astype(f"i{net.bits // 8}"))
    for command in ([tools / "ming-opt", folder / "net.mir", "--lower-sa-network", "-o",
                     folder / "program.mir"],
                    [tools / "ming", "engine", folder / "program.mir",
                     f"--input={folder / 'x.npy'}", f"--output={folder / 'y.npy'}"]):
        done = run(*command)
        if done.returncode:
            raise Failure(done.stderr.decode().splitlines()[0])
    got, want = np.load(folder / "y.npy"), net.output.array
    if got.shape != want.shape or (got != want).any():
        raise Failure(f"{int((got != want).sum())} of {want.size} outputs differ")


# Cases.

def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, check=False,
                          timeout=120)


def check_values(layer, out):
    want = layer.expected()
    got = np.frombuffer(out, f"<i{layer.overlay.act_bits // 8}", want.size).reshape(want.shape)
    if (got != want).any():
        at = tuple(int(i) for i in np.argwhere(got != want)[0])
        raise Failure(f"{int((got != want).sum())} of {want.size} outputs differ, first at {at}: "
                      f"{got[at]}, not {want[at]}")


def check_cycles(program, report):
    log, cycles = step(program)
    got = [(c["op"], c["unit"], c["start"], c["end"]) for c in report["commands"]]
    for mine, theirs in zip(log, got):
        if mine != theirs:
            raise Failure(f"a command runs as {theirs}; the stepper says {mine}")
    if len(log) != len(got) or cycles != report["cycles"]:
        raise Failure(f"{report['cycles']} cycles; the stepper takes {cycles}")


def check_words(tools, program, folder):
    done = run(tools / "ming-translate", "--sa-to-binary", folder / "p.mir", "-o", folder / "p.bin")
    if done.returncode:
        raise Failure(done.stderr.decode().splitlines()[0])
    if (folder / "p.bin").read_bytes() != program.file():
        raise Failure("the file is not that of the encoder")


def check_damage(tools, folder, rng):
    """A flipped bit or a missing end is refused, or read and written as it is."""
    data = bytearray((folder / "p.bin").read_bytes())
    bit = rng.randrange(8 * len(data))
    data[bit // 8] ^= 1 << bit % 8
    for damaged in (bytes(data), bytes(data[:rng.randrange(len(data))])):
        (folder / "d.bin").write_bytes(damaged)
        done = run(tools / "ming-translate", "--binary-to-sa", folder / "d.bin", "-o", folder / "d.mir")
        if done.returncode not in (0, 1) or (done.returncode == 1 and b"error: " not in done.stderr):
            raise Failure(f"a damaged file ends with {done.returncode}")
        if done.returncode == 1:
            continue
        run(tools / "ming-translate", "--sa-to-binary", folder / "d.mir", "-o", folder / "e.bin")
        if (folder / "e.bin").read_bytes() != damaged:
            raise Failure("a damaged file is read, but written otherwise")


def generate(seed, index):
    """The random layer number `index` of `seed`, and the builder that has its program."""
    rng = random.Random(f"{seed}/{index}/engine")
    layer = Layer(rng, np.random.default_rng(rng.getrandbits(32)))
    # Tiles of channels begin where words of the maps begin.
    step_m = max(1, layer.overlay.cols // layer.overlay.rows)
    layer.m_tile = up(layer.m_tile, step_m) * step_m
    builder = Builder(layer)
    builder.build()
    return layer, builder


def check(tools, seed, index, folder):
    layer, builder = generate(seed, index)
    program, rng = builder.program, random.Random(f"{seed}/{index}/damage")
    (folder / "p.mir").write_text(program.text(), encoding="ascii")
    memories = []
    for bank, data in enumerate(builder.banks):
        (folder / f"bank{bank}").write_bytes(data)
        memories.append(f"--memory={bank}:{folder / f'bank{bank}'}")
    check_words(tools, program, folder)
    check_damage(tools, folder, rng)
    done = run(tools / "ming", "engine", folder / "p.bin", *memories,
               f"--dump=2:{folder / 'out'}", f"--json={folder / 'report.json'}")
    if done.returncode:
        raise Failure(done.stderr.decode().splitlines()[0])
    check_values(layer, (folder / "out").read_bytes())
    check_cycles(program, json.loads((folder / "report.json").read_text(encoding="utf-8")))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True, type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--networks", type=int, default=60)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the files of failed cases")
    args = parser.parse_args()
    cases = [(check, "layer", index) for index in range(args.count)]
    cases += [(check_network, "network", index) for index in range(args.networks)]
    failed = 0
    for function, kind, index in cases:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            try:
                function(args.tools, args.seed, index, folder)
            except (Failure, subprocess.TimeoutExpired) as why:
                print(f"{kind}-{args.seed}-{index}: {why}")
                failed += 1
                if args.keep:
                    shutil.copytree(folder, args.keep / f"{kind}-{index}", dirs_exist_ok=True)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
