func.func @mvt(%a: tensor<400x400xf32>, %a2: tensor<400x400xf32>, %y1: tensor<400xf32>, %y2: tensor<400xf32>) -> (tensor<400xf32>, tensor<400xf32>) {
  %z = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<400xf32>
  %f0 = linalg.fill ins(%z : f32) outs(%e0 : tensor<400xf32>) -> tensor<400xf32>
  %m0 = linalg.matvec ins(%a, %y1 : tensor<400x400xf32>, tensor<400xf32>) outs(%f0 : tensor<400xf32>) -> tensor<400xf32>
  %e1 = tensor.empty() : tensor<400xf32>
  %f1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<400xf32>) -> tensor<400xf32>
  %m1 = linalg.vecmat ins(%y2, %a2 : tensor<400xf32>, tensor<400x400xf32>) outs(%f1 : tensor<400xf32>) -> tensor<400xf32>
  return %m0, %m1 : tensor<400xf32>, tensor<400xf32>
}
