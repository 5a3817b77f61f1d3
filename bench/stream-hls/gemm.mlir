func.func @gemm(%a: tensor<200x240xf32>, %b: tensor<240x220xf32>, %c: tensor<200x220xf32>) -> tensor<200x220xf32> {
  %z = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<200x220xf32>
  %f0 = linalg.fill ins(%z : f32) outs(%e0 : tensor<200x220xf32>) -> tensor<200x220xf32>
  %m0 = linalg.matmul ins(%a, %b : tensor<200x240xf32>, tensor<240x220xf32>) outs(%f0 : tensor<200x220xf32>) -> tensor<200x220xf32>
  %e1 = tensor.empty() : tensor<200x220xf32>
  %g1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%m0, %c : tensor<200x220xf32>, tensor<200x220xf32>) outs(%e1 : tensor<200x220xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %al = arith.constant 0.5 : f32
    %be = arith.constant 0.1 : f32
    %u = arith.mulf %p, %al : f32
    %v = arith.mulf %q, %be : f32
    %w = arith.addf %u, %v : f32
    linalg.yield %w : f32
  } -> tensor<200x220xf32>
  return %g1 : tensor<200x220xf32>
}
