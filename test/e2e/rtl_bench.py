"""Runs the Verilog of a design in Icarus or Verilator: a testbench that gives and takes words at its
AXI-Streams and notes the cycles.

A port is described by the emitted host header: the model's shape, the order of its dimensions on
the stream, the part of it in a word, and the integers.
"""
import dataclasses
import pathlib
import re
import subprocess

import numpy as np

from run_check import Failure, command

LIMIT = 20000                           # cycles without a word that count as a deadlock
RESET = 4                               # cycles


@dataclasses.dataclass
class Port:
    name: str                           # in Verilog
    shape: list                         # of the model's tensor, of one frame
    order: list                         # the model's dimension behind each one of the stream
    word: list                          # extents of a word, in the stream's order
    bits: int                           # of an element
    is_signed: bool
    is_output: bool
    is_weights: bool                    # words of the first frame alone

    @property
    def lanes(self):
        return int(np.prod(self.word))

    @property
    def width(self):
        """Of TDATA: whole bytes."""
        return -(-self.lanes * self.bits // 8) * 8

    @property
    def words(self):
        return int(np.prod(self.shape)) // self.lanes

    def _split(self):
        """The stream's dimensions as (count, part) pairs, and how they come in words."""
        extents = [self.shape[dim] for dim in self.order]
        split = [number for extent, part in zip(extents, self.word) for number in (extent // part, part)]
        rank = len(extents)
        return split, [*range(0, 2 * rank, 2), *range(1, 2 * rank, 2)]

    def pack(self, frame):
        """The words of a frame, as integers."""
        split, places = self._split()
        stream = frame.reshape(self.shape).transpose(self.order).reshape(split).transpose(places)
        mask = (1 << self.bits) - 1
        return [sum((int(x) & mask) << self.bits * i for i, x in enumerate(row))
                for row in stream.reshape(-1, self.lanes)]

    def unpack(self, words):
        split, places = self._split()
        mask, half = (1 << self.bits) - 1, 1 << self.bits - 1
        rows = [[word >> self.bits * i & mask for i in range(self.lanes)] for word in words]
        array = np.array(rows, np.int64)
        if self.is_signed:
            array = (array ^ half) - half
        stream = array.reshape([split[p] for p in places]).transpose(np.argsort(places))
        return stream.reshape([self.shape[d] for d in self.order]).transpose(np.argsort(self.order))


def numbers(text):
    return [int(number) for number in text.split(",")]


def read_ports(header, top):
    """Ports of the host header, in its order; which are outputs is in the top module."""
    ports = []
    for kind, name, body in re.findall(
            r"// (\w+) [^\n]*\ninline ming::Port (\w+)\(\)\n\{\n(.*?)\n\}", header, re.S):
        shape = numbers(re.search(r'Port\(".*?", \{(.*?)\}\)', body)[1])
        order = re.search(r"stream_order\(\{(.*?)\}\)", body)
        word = re.search(r"word\(\{(.*?)\}\)", body)
        scalar = re.search(r"integers\((\d+)(, false)?\)", body)
        if not scalar:
            raise Failure(f"port {name} carries no integers")
        if top and f" {name}_TVALID" not in top:
            name = re.sub(r"_\d+$", "", name)       # C++ has another thing of the port's name
        ports.append(Port(name, shape, numbers(order[1]) if order else list(range(len(shape))),
                          numbers(word[1]) if word else [1] * len(shape), int(scalar[1]),
                          not scalar[2], f"output wire {name}_TVALID" in top,
                          kind == "Weights"))
    return ports


@dataclasses.dataclass
class Run:
    """What came of a simulation: cycles of the words at each port; None for a deadlock."""
    given: list                         # per input port, the cycle of each word
    taken: list                         # per output port, (cycle, word)
    ports: list
    frames: int

    def frame_begin(self, frame):
        inputs = [port for port in self.ports if not port.is_output]
        return min(cycles[frame * port.words] for port, cycles in zip(inputs, self.given)
                   if not port.is_weights)

    def frame_end(self, frame):
        outputs = [port for port in self.ports if port.is_output]
        return 1 + max(words[(frame + 1) * port.words - 1][0]
                       for port, words in zip(outputs, self.taken))

    def is_all_taken(self):
        """Whether the design has taken all words of its inputs when the last one of the outputs came."""
        inputs = [port for port in self.ports if not port.is_output]
        return all(len(cycles) == port.words * (1 if port.is_weights else self.frames)
                   for port, cycles in zip(inputs, self.given))

    def latency(self, frame):
        return self.frame_end(frame) - self.frame_begin(frame)

    def outputs(self):
        """An array per output, the frames one after the other."""
        outputs = [port for port in self.ports if port.is_output]
        return [np.stack([port.unpack([word for _, word in words[f * port.words:][:port.words]])
                          for f in range(self.frames)])
                for port, words in zip(outputs, self.taken)]


class Bench:
    """A design in Verilog, in the folder of its files.f, with the stimulus of some frames."""

    def __init__(self, folder, top, header, inputs):
        """inputs: per input port an array whose first axis is the frames; one of weights."""
        self.folder, self.top = folder, top
        self.ports = read_ports(header, (folder / f"{top}.v").read_text(encoding="utf-8"))
        self.frames = len(inputs[0])
        sources = [port for port in self.ports if not port.is_output]
        sources.sort(key=lambda port: port.is_weights)
        for port, array in zip(sources, inputs, strict=True):
            words = [word for frame in array for word in port.pack(frame)]
            (folder / f"tb_{port.name}.hex").write_text(
                "".join(f"{word:0{self.digits(port)}x}\n" for word in words), encoding="utf-8")
        self.build()

    def words(self, port):
        """Of a run."""
        return port.words if port.is_weights else port.words * self.frames

    @staticmethod
    def digits(port):
        """Of a word in the stimulus."""
        return -(-port.width // 4)

    def build(self):
        raise NotImplementedError

    def simulate(self, stall, seed):
        """The command."""
        raise NotImplementedError

    def run(self, stall=0, seed=1):
        """Run, or None if words stop coming."""
        lines = command(*self.simulate(stall, seed), cwd=self.folder).splitlines()
        words = [[] for _ in self.ports]
        for port, cycle, *word in (line.split() for line in lines if line[:1].isdigit()):
            if word and not re.fullmatch("[0-9a-f]+", word[0]):
                raise Failure(f"{self.ports[int(port)].name} gives {word[0]} in cycle {cycle}")
            words[int(port)].append((int(cycle), int(word[0], 16)) if word else int(cycle))
        if any(len(got) < self.words(port)
               for port, got in zip(self.ports, words) if port.is_output):
            return None
        return Run([got for port, got in zip(self.ports, words) if not port.is_output],
                   [got for port, got in zip(self.ports, words) if port.is_output], self.ports,
                   self.frames)


class IcarusBench(Bench):
    """What nothing has set is unknown."""

    def build(self):
        (self.folder / "tb.v").write_text(self.testbench(), encoding="utf-8")
        command("iverilog", "-g2005", "-s", "tb", "-o", "sim.vvp", "tb.v", "-f", "files.f",
                cwd=self.folder)

    def simulate(self, stall, seed):
        return "vvp", "-n", "sim.vvp", f"+stall={stall}", f"+seed={seed}"

    def testbench(self):
        """With +stall=PERCENT the ports pause at random, by +seed=N."""
        t = ["module tb;",
             "    reg clk = 0, rst_n = 0;",
             "    integer cycle = 0, idle = 0, stall = 0, seed = 1, left = 0;"]
        before, settled, after, pins = [], [], [], [".ap_clk(clk)", ".ap_rst_n(rst_n)"]
        for i, p in enumerate(self.ports):
            total, n = self.words(p), f"p{i}"
            data = f"[{p.width - 1}:0]"
            pins += [f".{p.name}_{pin}({n}_{pin})" for pin in ("TDATA", "TVALID", "TREADY")]
            t.append(f"    integer {n}_at = 0;")
            pause = "({$random(seed)} % 100) >= stall"
            if p.is_output:
                t += [f"    wire {data} {n}_TDATA; wire {n}_TVALID; reg {n}_TREADY = 0;",
                      f"    initial left = left + {total};"]
                before.append(f"{n}_TREADY = {pause} && {n}_at < {total};")
                settled.append(f"if ({n}_TVALID & {n}_TREADY) begin"
                               f' $display("{i} %0d %h", cycle, {n}_TDATA);'
                               f" left = left - 1; {n}_at = {n}_at + 1; idle = 0; end")
            else:
                t += [f"    reg {data} {n}_TDATA = 0; reg {n}_TVALID = 0; wire {n}_TREADY;",
                      f"    reg {n}_fires; reg {data} {n}_words [0:{total - 1}];",
                      f'    initial $readmemh("tb_{p.name}.hex", {n}_words);']
                before.append(f"if (!{n}_TVALID && {n}_at < {total} && {pause}) begin"
                              f" {n}_TVALID = 1; {n}_TDATA = {n}_words[{n}_at]; end")
                settled.append(f"{n}_fires = {n}_TVALID & {n}_TREADY; if ({n}_fires) begin"
                               f' $display("{i} %0d", cycle); idle = 0; end')
                after.append(f"if ({n}_fires) begin {n}_TVALID = 0; {n}_at = {n}_at + 1; end")
        t += [f"    {self.top} dut ({', '.join(pins)});",
              "    initial begin",
              '        if (!$value$plusargs("stall=%d", stall)) stall = 0;',
              '        if (!$value$plusargs("seed=%d", seed)) seed = 1;',
              f"        repeat ({RESET}) begin #1 clk = 1; #1 clk = 0; end",
              "        rst_n = 1;",
              f"        while (left > 0 && idle < {LIMIT}) begin",
              *(f"            {line}" for line in before), "            #1;",
              "            idle = idle + 1;",
              *(f"            {line}" for line in settled), "            clk = 1; #1;",
              *(f"            {line}" for line in after), "            clk = 0;",
              "            cycle = cycle + 1;", "        end", "        $finish;", "    end",
              "endmodule", ""]
        return "\n".join(t)


VERILATOR_MAIN = r"""
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

static std::mt19937 generator;
static unsigned long cycle, idle, left;
static unsigned stall;

static bool pauses() { return generator() % 100 < stall; }

template <class Word> void set_word(Word &to, const std::string &hex)
{
    if constexpr (std::is_integral_v<Word>) {
        to = static_cast<Word>(std::stoull(hex, nullptr, 16));
    } else {
        for (std::size_t i = 0, end = hex.size(); end > 0; i++) {
            const std::size_t from = end > 8 ? end - 8 : 0;
            to[i] = std::stoul(hex.substr(from, end - from), nullptr, 16);
            end = from;
        }
    }
}

template <class Word> void print_word(const Word &word, unsigned digits)
{
    if constexpr (std::is_integral_v<Word>) {
        std::printf("%0*llx", digits, static_cast<unsigned long long>(word));
    } else {
        for (unsigned i = (digits + 7) / 8; i-- > 0;)
            std::printf("%08x", word[i]);
    }
}

struct Stream {
    virtual ~Stream() = default;
    virtual void drive() = 0;
    virtual void sample() = 0;
    virtual void finish() {}
};

template <class Word, class Bit> struct Input : Stream {
    Input(int port, const char *path, Word &data, Bit &valid, Bit &ready)
        : port(port), data(data), valid(valid), ready(ready)
    {
        valid = 0;
        std::ifstream file(path);
        for (std::string line; std::getline(file, line);)
            words.push_back(line);
    }
    void drive() override
    {
        if (valid || at == words.size() || pauses())
            return;
        valid = 1;
        set_word(data, words[at]);
    }
    void sample() override
    {
        moves = valid && ready;
        if (moves) {
            std::printf("%d %lu\n", port, cycle);
            idle = 0;
        }
    }
    void finish() override
    {
        if (!moves)
            return;
        valid = 0;
        at++;
    }
    int port;
    Word &data;
    Bit &valid, &ready;
    std::vector<std::string> words;
    std::size_t at = 0;
    bool moves = false;
};

template <class Word, class Bit> struct Output : Stream {
    Output(int port, unsigned digits, unsigned long words, Word &data, Bit &valid, Bit &ready)
        : port(port), digits(digits), words(words), data(data), valid(valid), ready(ready)
    {
        left += words;
    }
    void drive() override { ready = !pauses() && words > 0; }
    void sample() override
    {
        if (!valid || !ready)
            return;
        std::printf("%d %lu ", port, cycle);
        print_word(data, digits);
        std::printf("\n");
        left--;
        words--;
        idle = 0;
    }
    int port;
    unsigned digits;
    unsigned long words;                // to come; a frame that does not come may begin behind them
    Word &data;
    Bit &valid, &ready;
};

template <class Word, class Bit>
Stream *input(int port, const char *path, Word &data, Bit &valid, Bit &ready)
{
    return new Input<Word, Bit>(port, path, data, valid, ready);
}

template <class Word, class Bit>
Stream *output(int port, unsigned digits, unsigned long words, Word &data, Bit &valid, Bit &ready)
{
    return new Output<Word, Bit>(port, digits, words, data, valid, ready);
}

double sc_time_stamp() { return 0; }

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    stall = std::atoi(argv[1]);
    generator.seed(std::atoi(argv[2]));
    Verilated::randReset(2);
    Verilated::randSeed(std::atoi(argv[2]));
    Vtop d;
    std::vector<Stream *> streams = {STREAMS};
    for (int i = 0; i < RESET; i++) {
        d.ap_rst_n = 0;
        d.ap_clk = 0;
        d.eval();
        d.ap_clk = 1;
        d.eval();
    }
    for (d.ap_rst_n = 1; left > 0 && idle < LIMIT; cycle++, idle++) {
        for (Stream *s : streams)
            s->drive();
        d.ap_clk = 0;
        d.eval();
        for (Stream *s : streams)
            s->sample();
        d.ap_clk = 1;
        d.eval();
        for (Stream *s : streams)
            s->finish();
    }
}
"""


class VerilatorBench(Bench):
    """What nothing has set is random. Verilator's runtime is built once, beside the folder."""

    FLAGS = ("-std=c++17", "-O0", "-w", "-I/usr/share/verilator/include",
             "-I/usr/share/verilator/include/vltstd", "-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TRACE=0")
    RUNTIME = '#include "verilated.cpp"\n#include "verilated_threads.cpp"\n'

    def build(self):
        command("verilator", "--cc", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--output-split", "0",
                "--prefix", "Vtop", "--top-module", self.top, "-Mdir", "obj", "-f", "files.f",
                cwd=self.folder)
        sources = sorted(path.name for path in (self.folder / "obj").glob("*.cpp"))
        main = "".join(f'#include "{name}"\n' for name in sources) + VERILATOR_MAIN
        for name, value in (("STREAMS", self.streams()), ("RESET", RESET), ("LIMIT", LIMIT)):
            main = main.replace(name, str(value), 1)
        (self.folder / "obj" / "main.cc").write_text(main, encoding="utf-8")
        command("g++", *self.FLAGS, "-o", "sim", "obj/main.cc", self.runtime(), "-pthread",
                cwd=self.folder)

    def runtime(self):
        made = self.folder.parent.parent / "verilated.o"
        if not made.exists():
            made.with_suffix(".cc").write_text(self.RUNTIME, encoding="utf-8")
            command("g++", *self.FLAGS, "-c", "-o", made, made.with_suffix(".cc"))
        return made

    def streams(self):
        calls = []
        for i, p in enumerate(self.ports):
            pins = ", ".join(f"d.{p.name}_{pin}" for pin in ("TDATA", "TVALID", "TREADY"))
            what = (f"output({i}, {self.digits(p)}, {self.words(p)}" if p.is_output else
                    f'input({i}, "tb_{p.name}.hex"')
            calls.append(f"{what}, {pins})")
        return ", ".join(calls)

    def simulate(self, stall, seed):
        return "./sim", str(stall), str(seed)


BENCHES = {"icarus": IcarusBench, "verilator": VerilatorBench}


def translate(tools, module, folder, primitives="xilinx"):
    """Verilog of an emithls module, in a new folder. False: it is refused as no hardware."""
    lowered = folder.with_suffix(".rtl.mir")
    run = subprocess.run([tools / "ming-opt", module, f"--convert-emithls-to-rtl=primitives={primitives}",
                          "--canonicalize", "--cse", "-o", lowered], capture_output=True, text=True, check=False)
    if run.returncode == 1 and "cannot become hardware" in run.stderr:
        return False
    if run.returncode:
        raise Failure(f"ming-opt exits with {run.returncode}: {run.stderr[:300]}")
    command(tools / "ming-translate", "--emit-verilog", lowered, f"--output-dir={folder}")
    return True


def top_name(module):
    """Of the function that is marked `top`."""
    text = pathlib.Path(module).read_text(encoding="utf-8")
    return re.search(r"emithls\.func @(\w+)\([^\n]*attributes \{(?:[^\n]*, )?top\} \{", text)[1]
