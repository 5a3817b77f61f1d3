"""BNN-PYNQ's five accelerators on PYNQ-Z1 at 100 MHz: what their sources and reports say, and the folding
file that pins it in a design of ours. Sources are top.cpp and config.h of each network, and the HLS library
beside them (github.com/Xilinx/BNN-PYNQ, as of its reports of Vivado 2018.2).

  lanes       PE and SIMD of each layer
  pools       take all channels of a pixel at once
  weights     a memory of each PE, which is loaded at start-up
  thresholds  16 bits each, a memory of each PE and threshold
  windows     rows in block RAM (RAM_2P, and Equation (4) of FINN-R)
  streams     as deep as their pragmas say

Arrays without a pragma are blocks from 1,024 bits on, which is what Vitis HLS reports of these sources
(64 words of 16 bits are a block, 28 of 32 none). A device has so many blocks: what does not fit becomes
LUTRAM in Vivado (its warning Synth 8-5835), here memories of the fewest words first."""
import bisect
import dataclasses
import json
import math

import finn_networks as networks

BRAM_WORDS, BRAM_BITS = 512, 36         # of the one shape that FINN-R's equations have
BASE_LUT, BASE_BRAM18 = 2_600, 8        # of the shell on PYNQ (Section 3.4)
DEVICE_BRAM18 = 280
LEAST_BLOCK_BITS = 1_024
THRESHOLD_BITS = 16


@dataclasses.dataclass
class Accelerator:
    """streams: bits that the stream in front of a layer holds, those that are more than shift registers;
    lutram: layers and what of them a pragma puts there. Counts are post-route, shell included."""
    name: str
    recipe: callable
    lanes: tuple
    streams: dict
    lutram: tuple
    lut: int
    bram18: int


LFC_LANES = ((32, 64), (64, 32), (32, 64), (16, 8))
CNV_LANES = ((16, 3), (32, 32), (16, 32), (16, 32), (4, 32), (1, 32), (1, 4), (1, 8), (4, 1))
CNV_W2_LANES = ((8, 3), (16, 16), (8, 16), (8, 16), (4, 8), (1, 8), (1, 2), (2, 2), (4, 1))
CNV_STREAMS = {1: 128 * 64, 2: 128 * 64, 3: 128 * 128, 4: 81 * 128, 7: 128 * 64}
ACCELERATORS = [
    Accelerator("lfcW1A1", lambda: networks.mlp4(is_padded=True), LFC_LANES, {}, (), 28_360, 220),
    Accelerator("lfcW1A2", lambda: networks.mlp4(bits=2, is_padded=True), LFC_LANES, {}, (), 48_981, 220),
    Accelerator("cnvW1A1", lambda: networks.cnv6(is_padded=True), CNV_LANES, CNV_STREAMS, (), 26_072, 248),
    Accelerator("cnvW1A2", lambda: networks.cnv6(bits=2, is_padded=True), CNV_LANES, CNV_STREAMS, (),
                40_321, 263),
    Accelerator("cnvW2A2", lambda: networks.cnv6(2, 2, is_padded=True), CNV_W2_LANES, CNV_STREAMS,
                ((1, "weights"), (4, "params")), 37_302, 280),
]


def swu_bram(layer, pixels=1):
    """Equation (4), block RAMs of the sliding window unit."""
    if layer.kernel == 1:
        return 0
    return (pixels * (math.ceil(layer.kernel / layer.stride) + 1) *
            math.ceil(layer.stride * layer.in_size / BRAM_WORDS) *
            math.ceil(layer.channels * layer.in_bits / BRAM_BITS))


def weight_bram(layer, pe, simd):
    """Equation (5), block RAMs of the weights."""
    words = layer.parameters / (pe * simd)
    return pe * math.ceil(words / BRAM_WORDS) * math.ceil(simd * layer.weights / BRAM_BITS)


def equations_bram(accelerator, layers):
    return BASE_BRAM18 + sum(swu_bram(layer) + weight_bram(layer, *lanes)
                             for layer, lanes in zip(layers, accelerator.lanes))


@dataclasses.dataclass
class Memory:
    """One kind of memory of a process, as folding files name it."""
    process: str
    part: str
    words: int
    is_block: bool


def process_nodes(check):
    """The nodes that multiply and the pools, in the order of the file, from `ming check --json`."""
    def named(*operators):
        return [node["name"] for node in check["nodes"] if node["operator"] in operators]
    return named("Conv", "Gemm"), named("MaxPool")


class Pins:
    """The folding file of an accelerator. nodes: names of its layers; pools: of its pools."""

    def __init__(self, accelerator, layers, nodes, pools):
        self.accelerator, self.nodes = accelerator, nodes
        self.file = {"layers": {}, "fifos": {}}
        pooled = [layer for layer in layers if layer.pool]
        for node, layer in zip(pools, pooled, strict=True):
            self.file["layers"][node] = {"unroll": [1, layer.filters, 1, 1, 1, 1]}
        for node, layer, lanes in zip(nodes, layers, accelerator.lanes, strict=True):
            self.file["layers"][node] = {"unroll": self.unroll(layer, *lanes)}
        self.memories = [memory for i, layer in enumerate(layers) for memory in self.of_layer(i, layer)]
        self.memories += [Memory(f"{node}_window", "lines", layer.out_size, True)
                          for node, layer in zip(pools, pooled)]

    @staticmethod
    def unroll(layer, pe, simd):
        """FINN's lanes as factors of our loops: channels out, pixels, channels in, taps."""
        return [1, pe, simd] if layer.is_dense else [1, pe, 1, 1, simd, 1, 1]

    def of_layer(self, i, layer):
        pe, simd = self.accelerator.lanes[i]
        rows = layer.filters // pe
        sizes = [("weights", layer.parameters // (pe * simd), layer.parameters // pe * layer.weights)]
        if i + 1 < len(self.nodes):
            sizes.append(("params", rows, rows * THRESHOLD_BITS))
        for part, words, bits in sizes:
            is_block = bits >= LEAST_BLOCK_BITS and (i, part) not in self.accelerator.lutram
            yield Memory(self.nodes[i], part, words, is_block)
        if layer.kernel > 1:
            yield Memory(f"{self.nodes[i]}_window", "lines", layer.in_size * layer.channels // simd, True)

    def place(self, spilled):
        """Puts memories where they are, but the blocks of fewest words, so many, in LUTRAM."""
        blocks = sorted((m for m in self.memories if m.is_block), key=lambda m: m.words)
        away = {id(memory) for memory in blocks[:spilled]}
        for m in self.memories:
            kind = "bram" if m.is_block and id(m) not in away else "lutram"
            entry = self.file["layers"].setdefault(m.process, {})
            entry.setdefault("storage", {})[m.part] = [kind, "lutram"] if m.part == "lines" else kind

    def deepen(self, fifos):
        """Makes streams as deep as in the sources. fifos: those of report.json without."""
        for i, bits in self.accelerator.streams.items():
            reader = self.nodes[i]
            fifo = next(f for f in fifos if f["name"].split("_to_", 1)[1] in (
                f"{reader}_window_words", f"{reader}_words", f"{reader}_window")
                and not f["name"].startswith(f"{reader}_"))
            self.file["fifos"][fifo["name"]] = {"depth": math.ceil(bits / fifo["width"]), "impl": "bram"}

    def write(self, path):
        path.write_text(json.dumps(self.file), encoding="utf-8")
        return path

    def fewest_spilled(self, fits):
        """The least number of blocks that leave room for the others; fits: whether so many do."""
        blocks = sum(memory.is_block for memory in self.memories)
        return bisect.bisect_left(range(blocks + 1), True, key=fits)
