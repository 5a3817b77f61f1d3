func.func @atax(%a: tensor<390x410xf32>, %x: tensor<410xf32>) -> tensor<410xf32> {
  %z = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<390xf32>
  %f0 = linalg.fill ins(%z : f32) outs(%e0 : tensor<390xf32>) -> tensor<390xf32>
  %m0 = linalg.matvec ins(%a, %x : tensor<390x410xf32>, tensor<410xf32>) outs(%f0 : tensor<390xf32>) -> tensor<390xf32>
  %e1 = tensor.empty() : tensor<410xf32>
  %f1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<410xf32>) -> tensor<410xf32>
  %m1 = linalg.vecmat ins(%m0, %a : tensor<390xf32>, tensor<390x410xf32>) outs(%f1 : tensor<410xf32>) -> tensor<410xf32>
  return %m1 : tensor<410xf32>
}
