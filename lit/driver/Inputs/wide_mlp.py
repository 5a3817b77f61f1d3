"""Writes a module of two products of 512 x 512 weights of 8 bits, an input, and what numpy gives."""
import sys

import numpy as np

N = 512
MAP = ("indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, "
       "affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = [\"parallel\", \"parallel\", \"reduction\"]")
SAME = ("indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], "
        "iterator_types = [\"parallel\", \"parallel\"]")


def layer(name, source, weights):
    data = "0x" + weights.tobytes().hex().upper()
    return f"""
  %w{name} = arith.constant dense<"{data}"> : tensor<{N}x{N}xi8>
  %e{name} = tensor.empty() : tensor<1x{N}xi32>
  %z{name} = linalg.fill ins(%c0 : i32) outs(%e{name} : tensor<1x{N}xi32>) -> tensor<1x{N}xi32>
  %s{name} = linalg.generic {{{MAP}}} ins({source}, %w{name} : tensor<1x{N}xi8>, tensor<{N}x{N}xi8>)
      outs(%z{name} : tensor<1x{N}xi32>) {{
  ^bb0(%a: i8, %b: i8, %s: i32):
    %0 = arith.extsi %a : i8 to i32
    %1 = arith.extsi %b : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %s, %2 : i32
    linalg.yield %3 : i32
  }} -> tensor<1x{N}xi32>
  %f{name} = tensor.empty() : tensor<1x{N}xi8>
  %q{name} = linalg.generic {{{SAME}}} ins(%s{name} : tensor<1x{N}xi32>) outs(%f{name} : tensor<1x{N}xi8>) {{
  ^bb0(%a: i32, %b: i8):
    %0 = arith.shrsi %a, %c13 : i32
    %1 = arith.minsi %0, %high : i32
    %2 = arith.maxsi %1, %low : i32
    %3 = arith.trunci %2 : i32 to i8
    linalg.yield %3 : i8
  }} -> tensor<1x{N}xi8>"""


def main():
    module, source, result = sys.argv[1:]
    rng = np.random.default_rng(5)
    x = rng.integers(-128, 128, (1, N), dtype=np.int8)
    weights = [rng.integers(-128, 128, (N, N), dtype=np.int8) for _ in range(2)]
    y = x.astype(np.int64)
    for w in weights:
        y = np.clip((y @ w.T.astype(np.int64)) >> 13, -128, 127)
    body = layer("0", "%x", weights[0]) + layer("1", "%q0", weights[1])
    with open(module, "w", encoding="ascii") as out:
        out.write(f"""func.func @mlp(%x: tensor<1x{N}xi8>) -> tensor<1x{N}xi8> {{
  %c0 = arith.constant 0 : i32
  %c13 = arith.constant 13 : i32
  %high = arith.constant 127 : i32
  %low = arith.constant -128 : i32{body}
  return %q1 : tensor<1x{N}xi8>
}}
""")
    np.save(source, x)
    np.save(result, y.astype(np.int8))


main()
