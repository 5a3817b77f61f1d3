#!/usr/bin/env python3
"""chain.py hls|verilog STEPS: x ^ (x + x), over and over: a value that two later ones use, of which
printing it in place would double the text at each step."""
import sys

kind, steps = sys.argv[1], int(sys.argv[2])
FRAME = "{emithls.frame = tensor<3xi8>, emithls.word = array<i64: 1>}"
if kind == "hls":
    print(f"""emithls.func @chain(%a: !emithls.stream<i8>, %b: !emithls.stream<i8>)
    attributes {{top, port_attrs = [{FRAME}, {FRAME}]}} {{
  emithls.for "words" (%i) in [3] {{
    %x0 = emithls.read %a : !emithls.stream<i8>""")
else:
    print("hw.module @chain(in %x0: i8, out y: i8) {")
add, xor = ("arith.addi", "arith.xori") if kind == "hls" else ("comb.add", "comb.xor")
for i in range(steps):
    print(f"    %s{i} = {add} %x{i}, %x{i} : i8")
    print(f"    %x{i + 1} = {xor} %x{i}, %s{i} : i8")
if kind == "hls":
    print(f"    emithls.write %x{steps}, %b : i8, !emithls.stream<i8>\n  }}\n}}")
else:
    print(f"  hw.output %x{steps} : i8\n}}")
