func.func @bicg(%a: tensor<410x390xf32>, %a2: tensor<410x390xf32>, %r: tensor<410xf32>, %p: tensor<390xf32>) -> (tensor<390xf32>, tensor<410xf32>) {
  %z = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<390xf32>
  %f0 = linalg.fill ins(%z : f32) outs(%e0 : tensor<390xf32>) -> tensor<390xf32>
  %m0 = linalg.vecmat ins(%r, %a : tensor<410xf32>, tensor<410x390xf32>) outs(%f0 : tensor<390xf32>) -> tensor<390xf32>
  %e1 = tensor.empty() : tensor<410xf32>
  %f1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<410xf32>) -> tensor<410xf32>
  %m1 = linalg.matvec ins(%a2, %p : tensor<410x390xf32>, tensor<390xf32>) outs(%f1 : tensor<410xf32>) -> tensor<410xf32>
  return %m0, %m1 : tensor<390xf32>, tensor<410xf32>
}
