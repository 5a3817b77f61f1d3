func.func @feed_forward(%x: tensor<1x512x128xf32>) -> tensor<1x512x128xf32> {
  %zero = arith.constant 0.0 : f32
  %1 = arith.constant dense<WEIGHTS> : tensor<256x128xf32>
  %2 = arith.constant dense<WEIGHTS> : tensor<256xf32>
  %3 = tensor.empty() : tensor<128x256xf32>
  %4 = linalg.transpose ins(%1 : tensor<256x128xf32>) outs(%3 : tensor<128x256xf32>) permutation = [1, 0]
  %5 = tensor.empty() : tensor<1x128x256xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4 : tensor<128x256xf32>) outs(%5 : tensor<1x128x256xf32>) {
  ^bb0(%in0: f32, %out: f32):
    linalg.yield %in0 : f32
  } -> tensor<1x128x256xf32>
  %7 = tensor.empty() : tensor<1x512x256xf32>
  %8 = linalg.fill ins(%zero : f32) outs(%7 : tensor<1x512x256xf32>) -> tensor<1x512x256xf32>
  %9 = linalg.batch_matmul ins(%x, %6 : tensor<1x512x128xf32>, tensor<1x128x256xf32>) outs(%8 : tensor<1x512x256xf32>) -> tensor<1x512x256xf32>
  %10 = tensor.empty() : tensor<1x512x256xf32>
  %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%9, %2 : tensor<1x512x256xf32>, tensor<256xf32>) outs(%10 : tensor<1x512x256xf32>) {
  ^bb0(%in0: f32, %in1: f32, %out: f32):
    %s = arith.addf %in0, %in1 : f32
    linalg.yield %s : f32
  } -> tensor<1x512x256xf32>
  %12 = tensor.empty() : tensor<1x512x256xf32>
  %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%11 : tensor<1x512x256xf32>) outs(%12 : tensor<1x512x256xf32>) {
  ^bb0(%in0: f32, %out: f32):
    %c = arith.cmpf ugt, %in0, %zero : f32
    %s = arith.select %c, %in0, %zero : f32
    linalg.yield %s : f32
  } -> tensor<1x512x256xf32>
  %14 = arith.constant dense<WEIGHTS> : tensor<128x256xf32>
  %15 = arith.constant dense<WEIGHTS> : tensor<128xf32>
  %16 = tensor.empty() : tensor<256x128xf32>
  %17 = linalg.transpose ins(%14 : tensor<128x256xf32>) outs(%16 : tensor<256x128xf32>) permutation = [1, 0]
  %18 = tensor.empty() : tensor<1x256x128xf32>
  %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%17 : tensor<256x128xf32>) outs(%18 : tensor<1x256x128xf32>) {
  ^bb0(%in0: f32, %out: f32):
    linalg.yield %in0 : f32
  } -> tensor<1x256x128xf32>
  %20 = tensor.empty() : tensor<1x512x128xf32>
  %21 = linalg.fill ins(%zero : f32) outs(%20 : tensor<1x512x128xf32>) -> tensor<1x512x128xf32>
  %22 = linalg.batch_matmul ins(%13, %19 : tensor<1x512x256xf32>, tensor<1x256x128xf32>) outs(%21 : tensor<1x512x128xf32>) -> tensor<1x512x128xf32>
  %23 = tensor.empty() : tensor<1x512x128xf32>
  %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%22, %15 : tensor<1x512x128xf32>, tensor<128xf32>) outs(%23 : tensor<1x512x128xf32>) {
  ^bb0(%in0: f32, %in1: f32, %out: f32):
    %s = arith.addf %in0, %in1 : f32
    linalg.yield %s : f32
  } -> tensor<1x512x128xf32>
  return %24 : tensor<1x512x128xf32>
}
