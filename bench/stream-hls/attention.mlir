func.func @attention(%x: tensor<1x64x128xf32>) -> tensor<1x64x128xf32> {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %scale = arith.constant 4.0 : f32
  %1 = arith.constant dense<WEIGHTS> : tensor<128x128xf32>
  %2 = arith.constant dense<WEIGHTS> : tensor<128xf32>
  %3 = tensor.empty() : tensor<128x128xf32>
  %4 = linalg.transpose ins(%1 : tensor<128x128xf32>) outs(%3 : tensor<128x128xf32>) permutation = [1, 0]
  %5 = tensor.empty() : tensor<1x128x128xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4 : tensor<128x128xf32>) outs(%5 : tensor<1x128x128xf32>) {
  ^bb0(%in0: f32, %out: f32):
    linalg.yield %in0 : f32
  } -> tensor<1x128x128xf32>
  %7 = tensor.empty() : tensor<1x64x128xf32>
  %8 = linalg.fill ins(%zero : f32) outs(%7 : tensor<1x64x128xf32>) -> tensor<1x64x128xf32>
  %9 = linalg.batch_matmul ins(%x, %6 : tensor<1x64x128xf32>, tensor<1x128x128xf32>) outs(%8 : tensor<1x64x128xf32>) -> tensor<1x64x128xf32>
  %10 = tensor.empty() : tensor<1x64x128xf32>
  %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%9, %2 : tensor<1x64x128xf32>, tensor<128xf32>) outs(%10 : tensor<1x64x128xf32>) {
  ^bb0(%in0: f32, %in1: f32, %out: f32):
    %s = arith.addf %in0, %in1 : f32
    linalg.yield %s : f32
  } -> tensor<1x64x128xf32>
  %12 = tensor.expand_shape %11 [[0], [1], [2, 3]] output_shape [1, 64, 8, 16] : tensor<1x64x128xf32> into tensor<1x64x8x16xf32>
  %13 = tensor.empty() : tensor<1x8x64x16xf32>
  %14 = linalg.transpose ins(%12 : tensor<1x64x8x16xf32>) outs(%13 : tensor<1x8x64x16xf32>) permutation = [0, 2, 1, 3]
  %15 = arith.constant dense<WEIGHTS> : tensor<128x128xf32>
  %16 = arith.constant dense<WEIGHTS> : tensor<128xf32>
  %17 = tensor.empty() : tensor<128x128xf32>
  %18 = linalg.transpose ins(%15 : tensor<128x128xf32>) outs(%17 : tensor<128x128xf32>) permutation = [1, 0]
  %19 = tensor.empty() : tensor<1x128x128xf32>
  %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%18 : tensor<128x128xf32>) outs(%19 : tensor<1x128x128xf32>) {
  ^bb0(%in0: f32, %out: f32):
    linalg.yield %in0 : f32
  } -> tensor<1x128x128xf32>
  %21 = tensor.empty() : tensor<1x64x128xf32>
  %22 = linalg.fill ins(%zero : f32) outs(%21 : tensor<1x64x128xf32>) -> tensor<1x64x128xf32>
  %23 = linalg.batch_matmul ins(%x, %20 : tensor<1x64x128xf32>, tensor<1x128x128xf32>) outs(%22 : tensor<1x64x128xf32>) -> tensor<1x64x128xf32>
  %24 = tensor.empty() : tensor<1x64x128xf32>
  %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%23, %16 : tensor<1x64x128xf32>, tensor<128xf32>) outs(%24 : tensor<1x64x128xf32>) {
  ^bb0(%in0: f32, %in1: f32, %out: f32):
    %s = arith.addf %in0, %in1 : f32
    linalg.yield %s : f32
  } -> tensor<1x64x128xf32>
  %26 = tensor.expand_shape %25 [[0], [1], [2, 3]] output_shape [1, 64, 8, 16] : tensor<1x64x128xf32> into tensor<1x64x8x16xf32>
  %27 = tensor.empty() : tensor<1x8x64x16xf32>
  %28 = linalg.transpose ins(%26 : tensor<1x64x8x16xf32>) outs(%27 : tensor<1x8x64x16xf32>) permutation = [0, 2, 1, 3]
  %29 = arith.constant dense<WEIGHTS> : tensor<128x128xf32>
  %30 = arith.constant dense<WEIGHTS> : tensor<128xf32>
  %31 = tensor.empty() : tensor<128x128xf32>
  %32 = linalg.transpose ins(%29 : tensor<128x128xf32>) outs(%31 : tensor<128x128xf32>) permutation = [1, 0]
  %33 = tensor.empty() : tensor<1x128x128xf32>
  %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%32 : tensor<128x128xf32>) outs(%33 : tensor<1x128x128xf32>) {
  ^bb0(%in0: f32, %out: f32):
    linalg.yield %in0 : f32
  } -> tensor<1x128x128xf32>
  %35 = tensor.empty() : tensor<1x64x128xf32>
  %36 = linalg.fill ins(%zero : f32) outs(%35 : tensor<1x64x128xf32>) -> tensor<1x64x128xf32>
  %37 = linalg.batch_matmul ins(%x, %34 : tensor<1x64x128xf32>, tensor<1x128x128xf32>) outs(%36 : tensor<1x64x128xf32>) -> tensor<1x64x128xf32>
  %38 = tensor.empty() : tensor<1x64x128xf32>
  %39 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%37, %30 : tensor<1x64x128xf32>, tensor<128xf32>) outs(%38 : tensor<1x64x128xf32>) {
  ^bb0(%in0: f32, %in1: f32, %out: f32):
    %s = arith.addf %in0, %in1 : f32
    linalg.yield %s : f32
  } -> tensor<1x64x128xf32>
  %40 = tensor.expand_shape %39 [[0], [1], [2, 3]] output_shape [1, 64, 8, 16] : tensor<1x64x128xf32> into tensor<1x64x8x16xf32>
  %41 = tensor.empty() : tensor<1x8x64x16xf32>
  %42 = linalg.transpose ins(%40 : tensor<1x64x8x16xf32>) outs(%41 : tensor<1x8x64x16xf32>) permutation = [0, 2, 1, 3]
  %43 = tensor.empty() : tensor<1x8x16x64xf32>
  %44 = linalg.transpose ins(%28 : tensor<1x8x64x16xf32>) outs(%43 : tensor<1x8x16x64xf32>) permutation = [0, 1, 3, 2]
  %45 = tensor.collapse_shape %14 [[0, 1], [2], [3]] : tensor<1x8x64x16xf32> into tensor<8x64x16xf32>
  %46 = tensor.collapse_shape %44 [[0, 1], [2], [3]] : tensor<1x8x16x64xf32> into tensor<8x16x64xf32>
  %47 = tensor.empty() : tensor<8x64x64xf32>
  %48 = linalg.fill ins(%zero : f32) outs(%47 : tensor<8x64x64xf32>) -> tensor<8x64x64xf32>
  %49 = linalg.batch_matmul ins(%45, %46 : tensor<8x64x16xf32>, tensor<8x16x64xf32>) outs(%48 : tensor<8x64x64xf32>) -> tensor<8x64x64xf32>
  %50 = tensor.expand_shape %49 [[0, 1], [2], [3]] output_shape [1, 8, 64, 64] : tensor<8x64x64xf32> into tensor<1x8x64x64xf32>
  %51 = tensor.empty() : tensor<1x8x64x64xf32>
  %52 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%50 : tensor<1x8x64x64xf32>) outs(%51 : tensor<1x8x64x64xf32>) {
  ^bb0(%in0: f32, %out: f32):
    %s = arith.divf %in0, %scale : f32
    linalg.yield %s : f32
  } -> tensor<1x8x64x64xf32>
  %53 = tensor.empty() : tensor<1x8x64x1xf32>
  %54 = linalg.fill ins(%least : f32) outs(%53 : tensor<1x8x64x1xf32>) -> tensor<1x8x64x1xf32>
  %55 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%52 : tensor<1x8x64x64xf32>) outs(%54 : tensor<1x8x64x1xf32>) {
  ^bb0(%in0: f32, %out: f32):
    %s = arith.maximumf %in0, %out : f32
    linalg.yield %s : f32
  } -> tensor<1x8x64x1xf32>
  %56 = tensor.empty() : tensor<1x8x64x64xf32>
  %57 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%52, %55 : tensor<1x8x64x64xf32>, tensor<1x8x64x1xf32>) outs(%56 : tensor<1x8x64x64xf32>) {
  ^bb0(%in0: f32, %in1: f32, %out: f32):
    %s = arith.subf %in0, %in1 : f32
    linalg.yield %s : f32
  } -> tensor<1x8x64x64xf32>
  %58 = tensor.empty() : tensor<1x8x64x64xf32>
  %59 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%57 : tensor<1x8x64x64xf32>) outs(%58 : tensor<1x8x64x64xf32>) {
  ^bb0(%in0: f32, %out: f32):
    %s = math.exp %in0 : f32
    linalg.yield %s : f32
  } -> tensor<1x8x64x64xf32>
  %60 = tensor.empty() : tensor<1x8x64x1xf32>
  %61 = linalg.fill ins(%zero : f32) outs(%60 : tensor<1x8x64x1xf32>) -> tensor<1x8x64x1xf32>
  %62 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%59 : tensor<1x8x64x64xf32>) outs(%61 : tensor<1x8x64x1xf32>) {
  ^bb0(%in0: f32, %out: f32):
    %s = arith.addf %in0, %out : f32
    linalg.yield %s : f32
  } -> tensor<1x8x64x1xf32>
  %63 = tensor.empty() : tensor<1x8x64x64xf32>
  %64 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%59, %62 : tensor<1x8x64x64xf32>, tensor<1x8x64x1xf32>) outs(%63 : tensor<1x8x64x64xf32>) {
  ^bb0(%in0: f32, %in1: f32, %out: f32):
    %s = arith.divf %in0, %in1 : f32
    linalg.yield %s : f32
  } -> tensor<1x8x64x64xf32>
  %65 = tensor.collapse_shape %64 [[0, 1], [2], [3]] : tensor<1x8x64x64xf32> into tensor<8x64x64xf32>
  %66 = tensor.collapse_shape %42 [[0, 1], [2], [3]] : tensor<1x8x64x16xf32> into tensor<8x64x16xf32>
  %67 = tensor.empty() : tensor<8x64x16xf32>
  %68 = linalg.fill ins(%zero : f32) outs(%67 : tensor<8x64x16xf32>) -> tensor<8x64x16xf32>
  %69 = linalg.batch_matmul ins(%65, %66 : tensor<8x64x64xf32>, tensor<8x64x16xf32>) outs(%68 : tensor<8x64x16xf32>) -> tensor<8x64x16xf32>
  %70 = tensor.expand_shape %69 [[0, 1], [2], [3]] output_shape [1, 8, 64, 16] : tensor<8x64x16xf32> into tensor<1x8x64x16xf32>
  %71 = tensor.empty() : tensor<1x64x8x16xf32>
  %72 = linalg.transpose ins(%70 : tensor<1x8x64x16xf32>) outs(%71 : tensor<1x64x8x16xf32>) permutation = [0, 2, 1, 3]
  %73 = tensor.collapse_shape %72 [[0], [1], [2, 3]] : tensor<1x64x8x16xf32> into tensor<1x64x128xf32>
  %74 = arith.constant dense<WEIGHTS> : tensor<128x128xf32>
  %75 = arith.constant dense<WEIGHTS> : tensor<128xf32>
  %76 = tensor.empty() : tensor<128x128xf32>
  %77 = linalg.transpose ins(%74 : tensor<128x128xf32>) outs(%76 : tensor<128x128xf32>) permutation = [1, 0]
  %78 = tensor.empty() : tensor<1x128x128xf32>
  %79 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%77 : tensor<128x128xf32>) outs(%78 : tensor<1x128x128xf32>) {
  ^bb0(%in0: f32, %out: f32):
    linalg.yield %in0 : f32
  } -> tensor<1x128x128xf32>
  %80 = tensor.empty() : tensor<1x64x128xf32>
  %81 = linalg.fill ins(%zero : f32) outs(%80 : tensor<1x64x128xf32>) -> tensor<1x64x128xf32>
  %82 = linalg.batch_matmul ins(%73, %79 : tensor<1x64x128xf32>, tensor<1x128x128xf32>) outs(%81 : tensor<1x64x128xf32>) -> tensor<1x64x128xf32>
  %83 = tensor.empty() : tensor<1x64x128xf32>
  %84 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%82, %75 : tensor<1x64x128xf32>, tensor<128xf32>) outs(%83 : tensor<1x64x128xf32>) {
  ^bb0(%in0: f32, %in1: f32, %out: f32):
    %s = arith.addf %in0, %in1 : f32
    linalg.yield %s : f32
  } -> tensor<1x64x128xf32>
  return %84 : tensor<1x64x128xf32>
}
