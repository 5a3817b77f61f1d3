#!/usr/bin/env python3
"""large_weights.py: a matrix product with 32 KiB of weights that are all different, as text."""
bytes_of = "".join(f"{(i * i * 31 + i // 7) % 256:02X}" for i in range(512 * 64))
print(f"""func.func @net(%x: tensor<1x512xi8>) -> tensor<1x64xi32> {{
  %zero = arith.constant 0 : i32
  %w = arith.constant dense<"0x{bytes_of}"> : tensor<512x64xi8>
  %e = tensor.empty() : tensor<1x64xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<1x64xi32>) -> tensor<1x64xi32>
  %y = linalg.matmul ins(%x, %w : tensor<1x512xi8>, tensor<512x64xi8>) outs(%f : tensor<1x64xi32>) -> tensor<1x64xi32>
  return %y : tensor<1x64xi32>
}}""")
