"""Inputs that grow in one respect only, for bench/scaling: name -> (size, flags, text of a size)."""


def join(count, item, separator=", "):
    return separator.join(item(i) for i in range(count))


def function(body, args=""):
    return f"func.func @f({args}) {{\n{body}\n  return\n}}\n"


def lines(count, item):
    return join(count, item, "\n")


def nested(count, before, inside, after):
    return before * count + inside + after * count


GENERIC = ["--allow-unregistered-dialect"]
CANON = ["--canonicalize", "--cse", *GENERIC]
LOCS = ["--mlir-print-debuginfo", *GENERIC]


def affine_dims(n):
    names = join(n, lambda i: f"d{i}")
    return f'"t.x"() {{m = affine_map<({names}) -> ({names})>}} : () -> ()\n'


def affine_named(n):
    return (f'"t.x"() {{m = affine_map<({join(n, "i{}".format)})'
            f'[{join(n, "s{}".format)}] -> ({join(n, lambda i: f"i{n - 1 - i} + s{i}")})>}}'
            " : () -> ()\n")


def affine_set(n):
    rows = join(n, lambda i: f"d0 - {i} >= 0")
    return f'"t.x"() {{m = affine_set<(d0) : ({rows})>}} : () -> ()\n'


def affine_sum(n):
    total = join(n, lambda i: f"d0 floordiv {i + 2}", " + ")
    return f'"t.x"() {{m = affine_map<(d0) -> ({total})>}} : () -> ()\n'


def switch(n):
    cases = join(n, lambda i: f"{i}: ^bb{i}")
    blocks = lines(n, lambda i: f"^bb{i}:\n  return")
    return (f"func.func @f(%a: i32) {{\n  cf.switch %a : i32, [default: ^bb0, {cases}]\n"
            f"{blocks}\n}}\n")


def results(n):
    types = join(n, lambda i: "i32")
    uses = join(n, lambda i: f"%r#{i}")
    return function(f'  %r:{n} = "t.x"() : () -> ({types})\n  "t.y"({uses}) : ({types}) -> ()')


def block_args(n):
    args = join(n, lambda i: f"%a{i}: i32")
    return (f'"t.x"() ({{\n^bb0({args}):\n  "t.y"({join(n, "%a{}".format)}) '
            f': ({join(n, lambda i: "i32")}) -> ()\n}}) : () -> ()\n')


def chain_of_blocks(n):
    blocks = lines(n, lambda i: f"^bb{i}:\n  cf.br ^bb{i + 1}")
    return f"func.func @f() {{\n  cf.br ^bb0\n{blocks}\n^bb{n}:\n  return\n}}\n"


def merging_blocks(n):
    blocks = lines(n, lambda i: f"^bb{i}:\n  cf.cond_br %c, ^end, ^bb{i + 1}")
    return (f"func.func @f(%c: i1) {{\n  cf.br ^bb0\n{blocks}\n^bb{n}:\n  cf.br ^end\n^end:\n"
            "  return\n}\n")


def calls(n):
    return ("func.func private @g()\n" + function(lines(n, lambda i: "  call @g() : () -> ()")))


def many_uses(n):
    return (f"func.func @f(%a: i32) -> i32 {{\n  %z = arith.constant 0 : i32\n"
            f"  %b = arith.addi %a, %z : i32\n"
            + lines(n, lambda i: '  "t.use"(%b) : (i32) -> ()') + "\n  return %b : i32\n}\n")


def dead_chain(n):
    return function(lines(n, lambda i: f"  %v{i + 1} = arith.addi %v{i}, %v{i} : i32"), "%v0: i32")


def equal_ops(n):
    return function(lines(n, lambda i: f'  %v{i} = arith.muli %a, %a : i32\n'
                                       f'  "t.use"(%v{i}) : (i32) -> ()'), "%a: i32")


def constants(n):
    return function(lines(n, lambda i: f"  %c{i} = arith.constant {i}.5 : f32\n"
                                       f'  "t.use"(%c{i}) : (f32) -> ()'))


def forward_uses(n):
    return ('"t.graph"() ({\n' + lines(n, lambda i: f'  %v{i} = "t.x"(%v{i + 1}) : (i32) -> i32')
            + f'\n  %v{n} = "t.y"() : () -> i32\n}}) : () -> ()\n')


def attributes(n):
    return f'"t.x"() {{{join(n, lambda i: f"a{(i * 7919) % n}_{i} = {i}")}}} : () -> ()\n'


def set_attributes(n):
    return f'func.func @f() attributes {{{join(n, lambda i: f"t.a{i} = {i}")}}} {{ return }}\n'


def strings(n):
    escaped = "t\\22" * n
    items = join(n, '"s{}"'.format)
    return f'"t.x"() {{a = "{escaped}", b = dense<[{items}]> : tensor<{n}x!t.s>}} : () -> ()\n'


def aliases(n):
    return (lines(n, lambda i: f"#m{i} = affine_map<(d0) -> (d0 + {i})>") + "\n"
            + lines(n, lambda i: f'"t.x"() {{m = #m{i}}} : () -> ()') + "\n")


def type_aliases(n):
    return (lines(n, lambda i: f"!t{i} = tensor<{i}xi32>") + "\n"
            + lines(n, lambda i: f'%v{i} = "t.x"() : () -> !t{i}') + "\n")


def locations(n):
    return (lines(n, lambda i: f'"t.x"() : () -> () loc(#l{i})') + "\n"
            + lines(n, lambda i: f'#l{i} = loc("n{i}"("f":{i}:1))') + "\n")


def fused_location(n):
    places = join(n, '"f":{}:1'.format)
    return f'"t.x"() : () -> () loc(fused[{places}])\n'


def location_chain(n):
    steps = lines(n, lambda i: f'#l{i + 1} = loc(callsite("f":{i}:1 at #l{i}))')
    return f'#l0 = loc("f":0:0)\n{steps}\n"t.x"() : () -> () loc(#l{n})\n'


def symbol_path(n):
    return f'"t.x"() {{s = @a{join(n, lambda i: f"::@b{i}", "")}}} : () -> ()\n'


def resources(n):
    return ('"t.x"() {a = [' + join(n, lambda i: f"dense_resource<r{i}> : tensor<1xi8>")
            + "]} : () -> ()\n{-#\n  dialect_resources: {\n    builtin: {\n"
            + join(n, lambda i: f'      r{i}: "0x0100000007"', ",\n") + "\n    }\n  }\n#-}\n")


def undefined(n):
    return function(lines(n, lambda i: f'  "t.use"(%v{i}) : (i32) -> ()'))


def many_lines_of_args(n):
    args = join(n, lambda i: f"%a{i}: i32", ",\n")
    return f"func.func @f({args}) {{\n  return\n}}\n"


def same_names(n):
    return function(lines(n, lambda i: f"  %c{i} = arith.constant 1 : i32\n"
                                       f'  "t.use"(%c{i}) : (i32) -> ()'))


SHAPES = {
    "affine dims": (1500, GENERIC, affine_dims),
    "affine names": (1500, GENERIC, affine_named),
    "affine constraints": (2000, GENERIC, affine_set),
    "affine sum": (400, GENERIC, affine_sum),
    "attributes of an op": (4000, GENERIC, attributes),
    "discardable attributes": (4000, GENERIC, set_attributes),
    "successors": (3000, [], switch),
    "results and operands": (4000, GENERIC, results),
    "block arguments": (4000, GENERIC, block_args),
    "function arguments": (4000, [], many_lines_of_args),
    "blocks in a chain": (3000, [], chain_of_blocks),
    "blocks that merge": (3000, [], merging_blocks),
    "blocks in a chain, canonicalized": (2000, CANON, chain_of_blocks),
    "blocks that merge, canonicalized": (1500, CANON, merging_blocks),
    "functions": (3000, [], lambda n: lines(n, lambda i: f"func.func private @f{i}()") + "\n"),
    "calls of one function": (4000, [], calls),
    "uses of one value": (4000, CANON, many_uses),
    "dead chain": (4000, CANON, dead_chain),
    "equal ops": (3000, CANON, equal_ops),
    "constants": (3000, CANON, constants),
    "constants of one name": (3000, CANON, same_names),
    "forward uses": (4000, GENERIC, forward_uses),
    "undefined values": (2000, GENERIC, undefined),
    "strings": (4000, GENERIC, strings),
    "attribute aliases": (2000, GENERIC, aliases),
    "type aliases": (2000, GENERIC, type_aliases),
    "locations": (2000, LOCS, locations),
    "fused location": (4000, LOCS, fused_location),
    "chain of locations": (400, LOCS, location_chain),
    "path of a symbol": (4000, GENERIC, symbol_path),
    "resources": (3000, GENERIC, resources),
    "tuple": (4000, GENERIC, lambda n:
              f'"t.x"() {{t = tuple<{join(n, lambda i: f"i{i + 1}")}>}} : () -> ()\n'),
    "array": (8000, GENERIC, lambda n: f'"t.x"() {{a = [{join(n, str)}]}} : () -> ()\n'),
    "dense list": (20000, GENERIC, lambda n:
                   f'"t.x"() {{a = dense<[{join(n, str)}]> : tensor<{n}xi32>}} : () -> ()\n'),
    "nested arrays": (450, GENERIC, lambda n:
                      f'"t.x"() {{a = {nested(n, "[", "1", "]")}}} : () -> ()\n'),
    "nested tuples": (450, GENERIC, lambda n:
                      f'"t.x"() {{a = {nested(n, "tuple<", "i1", ">")}}} : () -> ()\n'),
    "nested regions": (400, GENERIC, lambda n:
                       nested(n, '"t.x"() ({\n', '"t.y"() : () -> ()\n', "}) : () -> ()\n")),
    "nested regions, canonicalized": (400, CANON, lambda n:
                                      nested(n, '"t.x"() ({\n', '"t.y"() : () -> ()\n',
                                             "}) : () -> ()\n")),
    "nested sums": (400, GENERIC, lambda n: '"t.x"() {m = affine_map<(d0) -> ('
                    + nested(n, "(", "d0", " floordiv 2 + d0)") + ")>} : () -> ()\n"),
}
