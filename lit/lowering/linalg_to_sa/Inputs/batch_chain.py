"""A chain of so many kernels whose results are alike for all items of a batch; with `twice` each reads
the one before twice."""
import sys

count, twice = int(sys.argv[1]), sys.argv[2] == "twice"
T = "tensor<2x2x2x2xi8>"
LOOPS = 'iterator_types = ["parallel", "parallel", "parallel", "parallel"]'
print("#id = affine_map<(n, h, w, c) -> (n, h, w, c)>")
print("#first = affine_map<(n, h, w, c) -> (0, h, w, c)>")
print(f"func.func @f(%x: {T}) -> {T} {{")
print(f"  %v0 = tensor.empty() : {T}")
for i in range(count):
    maps, ins, args = ("#first, #id", f"ins(%v{i} : {T}) ", "%a: i8, ") if twice else ("#id", "", "")
    print(f"  %v{i + 1} = linalg.generic {{indexing_maps = [{maps}], {LOOPS}}} {ins}outs(%v{i} : {T}) {{")
    print(f"  ^bb0({args}%b: i8):")
    print(f"    linalg.yield %b : i8\n  }} -> {T}")
print(f"  %y = linalg.generic {{indexing_maps = [#id, #id, #id], {LOOPS}}} "
      f"ins(%x, %v{count} : {T}, {T}) outs(%v{count} : {T}) {{")
print("  ^bb0(%a: i8, %b: i8, %c: i8):")
print("    %s = arith.addi %a, %b : i8")
print(f"    linalg.yield %s : i8\n  }} -> {T}")
print(f"  return %y : {T}\n}}")
