func.func @autoencoder(%x: tensor<32x784xf32>) -> tensor<32x784xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %1 = arith.constant dense<WEIGHTS> : tensor<256x784xf32>
  %2 = arith.constant dense<WEIGHTS> : tensor<256xf32>
  %3 = tensor.empty() : tensor<784x256xf32>
  %4 = linalg.transpose ins(%1 : tensor<256x784xf32>) outs(%3 : tensor<784x256xf32>) permutation = [1, 0]
  %5 = tensor.empty() : tensor<32x256xf32>
  %6 = linalg.fill ins(%zero : f32) outs(%5 : tensor<32x256xf32>) -> tensor<32x256xf32>
  %7 = linalg.matmul ins(%x, %4 : tensor<32x784xf32>, tensor<784x256xf32>) outs(%6 : tensor<32x256xf32>) -> tensor<32x256xf32>
  %8 = tensor.empty() : tensor<32x256xf32>
  %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%7, %2 : tensor<32x256xf32>, tensor<256xf32>) outs(%8 : tensor<32x256xf32>) {
  ^bb0(%in0: f32, %in1: f32, %out: f32):
    %s = arith.addf %in0, %in1 : f32
    linalg.yield %s : f32
  } -> tensor<32x256xf32>
  %10 = tensor.empty() : tensor<32x256xf32>
  %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%9 : tensor<32x256xf32>) outs(%10 : tensor<32x256xf32>) {
  ^bb0(%in0: f32, %out: f32):
    %c = arith.cmpf ugt, %in0, %zero : f32
    %s = arith.select %c, %in0, %zero : f32
    linalg.yield %s : f32
  } -> tensor<32x256xf32>
  %12 = arith.constant dense<WEIGHTS> : tensor<128x256xf32>
  %13 = arith.constant dense<WEIGHTS> : tensor<128xf32>
  %14 = tensor.empty() : tensor<256x128xf32>
  %15 = linalg.transpose ins(%12 : tensor<128x256xf32>) outs(%14 : tensor<256x128xf32>) permutation = [1, 0]
  %16 = tensor.empty() : tensor<32x128xf32>
  %17 = linalg.fill ins(%zero : f32) outs(%16 : tensor<32x128xf32>) -> tensor<32x128xf32>
  %18 = linalg.matmul ins(%11, %15 : tensor<32x256xf32>, tensor<256x128xf32>) outs(%17 : tensor<32x128xf32>) -> tensor<32x128xf32>
  %19 = tensor.empty() : tensor<32x128xf32>
  %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%18, %13 : tensor<32x128xf32>, tensor<128xf32>) outs(%19 : tensor<32x128xf32>) {
  ^bb0(%in0: f32, %in1: f32, %out: f32):
    %s = arith.addf %in0, %in1 : f32
    linalg.yield %s : f32
  } -> tensor<32x128xf32>
  %21 = tensor.empty() : tensor<32x128xf32>
  %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%20 : tensor<32x128xf32>) outs(%21 : tensor<32x128xf32>) {
  ^bb0(%in0: f32, %out: f32):
    %c = arith.cmpf ugt, %in0, %zero : f32
    %s = arith.select %c, %in0, %zero : f32
    linalg.yield %s : f32
  } -> tensor<32x128xf32>
  %23 = arith.constant dense<WEIGHTS> : tensor<64x128xf32>
  %24 = arith.constant dense<WEIGHTS> : tensor<64xf32>
  %25 = tensor.empty() : tensor<128x64xf32>
  %26 = linalg.transpose ins(%23 : tensor<64x128xf32>) outs(%25 : tensor<128x64xf32>) permutation = [1, 0]
  %27 = tensor.empty() : tensor<32x64xf32>
  %28 = linalg.fill ins(%zero : f32) outs(%27 : tensor<32x64xf32>) -> tensor<32x64xf32>
  %29 = linalg.matmul ins(%22, %26 : tensor<32x128xf32>, tensor<128x64xf32>) outs(%28 : tensor<32x64xf32>) -> tensor<32x64xf32>
  %30 = tensor.empty() : tensor<32x64xf32>
  %31 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%29, %24 : tensor<32x64xf32>, tensor<64xf32>) outs(%30 : tensor<32x64xf32>) {
  ^bb0(%in0: f32, %in1: f32, %out: f32):
    %s = arith.addf %in0, %in1 : f32
    linalg.yield %s : f32
  } -> tensor<32x64xf32>
  %32 = arith.constant dense<WEIGHTS> : tensor<128x64xf32>
  %33 = arith.constant dense<WEIGHTS> : tensor<128xf32>
  %34 = tensor.empty() : tensor<64x128xf32>
  %35 = linalg.transpose ins(%32 : tensor<128x64xf32>) outs(%34 : tensor<64x128xf32>) permutation = [1, 0]
  %36 = tensor.empty() : tensor<32x128xf32>
  %37 = linalg.fill ins(%zero : f32) outs(%36 : tensor<32x128xf32>) -> tensor<32x128xf32>
  %38 = linalg.matmul ins(%31, %35 : tensor<32x64xf32>, tensor<64x128xf32>) outs(%37 : tensor<32x128xf32>) -> tensor<32x128xf32>
  %39 = tensor.empty() : tensor<32x128xf32>
  %40 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%38, %33 : tensor<32x128xf32>, tensor<128xf32>) outs(%39 : tensor<32x128xf32>) {
  ^bb0(%in0: f32, %in1: f32, %out: f32):
    %s = arith.addf %in0, %in1 : f32
    linalg.yield %s : f32
  } -> tensor<32x128xf32>
  %41 = tensor.empty() : tensor<32x128xf32>
  %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%40 : tensor<32x128xf32>) outs(%41 : tensor<32x128xf32>) {
  ^bb0(%in0: f32, %out: f32):
    %c = arith.cmpf ugt, %in0, %zero : f32
    %s = arith.select %c, %in0, %zero : f32
    linalg.yield %s : f32
  } -> tensor<32x128xf32>
  %43 = arith.constant dense<WEIGHTS> : tensor<256x128xf32>
  %44 = arith.constant dense<WEIGHTS> : tensor<256xf32>
  %45 = tensor.empty() : tensor<128x256xf32>
  %46 = linalg.transpose ins(%43 : tensor<256x128xf32>) outs(%45 : tensor<128x256xf32>) permutation = [1, 0]
  %47 = tensor.empty() : tensor<32x256xf32>
  %48 = linalg.fill ins(%zero : f32) outs(%47 : tensor<32x256xf32>) -> tensor<32x256xf32>
  %49 = linalg.matmul ins(%42, %46 : tensor<32x128xf32>, tensor<128x256xf32>) outs(%48 : tensor<32x256xf32>) -> tensor<32x256xf32>
  %50 = tensor.empty() : tensor<32x256xf32>
  %51 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%49, %44 : tensor<32x256xf32>, tensor<256xf32>) outs(%50 : tensor<32x256xf32>) {
  ^bb0(%in0: f32, %in1: f32, %out: f32):
    %s = arith.addf %in0, %in1 : f32
    linalg.yield %s : f32
  } -> tensor<32x256xf32>
  %52 = tensor.empty() : tensor<32x256xf32>
  %53 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%51 : tensor<32x256xf32>) outs(%52 : tensor<32x256xf32>) {
  ^bb0(%in0: f32, %out: f32):
    %c = arith.cmpf ugt, %in0, %zero : f32
    %s = arith.select %c, %in0, %zero : f32
    linalg.yield %s : f32
  } -> tensor<32x256xf32>
  %54 = arith.constant dense<WEIGHTS> : tensor<784x256xf32>
  %55 = arith.constant dense<WEIGHTS> : tensor<784xf32>
  %56 = tensor.empty() : tensor<256x784xf32>
  %57 = linalg.transpose ins(%54 : tensor<784x256xf32>) outs(%56 : tensor<256x784xf32>) permutation = [1, 0]
  %58 = tensor.empty() : tensor<32x784xf32>
  %59 = linalg.fill ins(%zero : f32) outs(%58 : tensor<32x784xf32>) -> tensor<32x784xf32>
  %60 = linalg.matmul ins(%53, %57 : tensor<32x256xf32>, tensor<256x784xf32>) outs(%59 : tensor<32x784xf32>) -> tensor<32x784xf32>
  %61 = tensor.empty() : tensor<32x784xf32>
  %62 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%60, %55 : tensor<32x784xf32>, tensor<784xf32>) outs(%61 : tensor<32x784xf32>) {
  ^bb0(%in0: f32, %in1: f32, %out: f32):
    %s = arith.addf %in0, %in1 : f32
    linalg.yield %s : f32
  } -> tensor<32x784xf32>
  %63 = tensor.empty() : tensor<32x784xf32>
  %64 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%62 : tensor<32x784xf32>) outs(%63 : tensor<32x784xf32>) {
  ^bb0(%in0: f32, %out: f32):
    %n = arith.negf %in0 : f32
    %e = math.exp %n : f32
    %a = arith.addf %e, %one : f32
    %s = arith.divf %one, %a : f32
    linalg.yield %s : f32
  } -> tensor<32x784xf32>
  return %64 : tensor<32x784xf32>
}
