#!/usr/bin/env python3
"""Checks the modules. A module is a folder with C sources.

 1. Each has one rank in the table below, and includes headers of lower ranks only.
 2. Of another module it includes the public header, never `internal.h`; there are no headers but
    these two in a module. Tests and fuzz targets may look inside.
 3. None has more than 25 sources.

With a build folder, whose objects are read by nm:

 4. Calls and uses of data obey the ranks, too.
 5. Every extern begins with a prefix of its module, except for those listed with a reason in
    docs/style.md. The longest prefix that fits tells the module, so that none has two owners.
 6. No static has the name of an extern.

Usage: scripts/check-deps.py [BUILD]. Prints each violation and exits with 1 if there is one.
"""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_SOURCES = 25
PASSES = ("passes/", "lowering/", "target/", "sim/design/")     # where they are

# Modules from the bottom up, each with the prefixes of its externs. Passes are data named
# pass_<name>, op tables <dialect>_ops: these belong to whoever defines them.
MODULES = """
ir/support                      arena bigint file hash i64 input json output ptrmap size str strbuf
                                suggestion svg temporary
                                text_table vec
ir/attr                         affine array attr context dense float ident intern loc map set type
ir/core                         block build builder constraint context_ops dialect dominance op
                                opdef opinfo oppool region symbol symtab symtabs use value ATTR TYPE
ir/asm/format                   format
ir/asm/print                    asm diag print printer write PRINT
ir/verify                       verify
ir/asm/parse                    lexer parse parser token
ir/rewrite                      conversion fold pattern patterns rewrite rewriter
ir/pass                         pass pipeline
dialects/common                 const enum_attr lane
dialects/arith                  arith mixed ARITH
dialects/affine                 affine_apply affine_canonicalize affine_dialect affine_ops
dialects/math                   math
dialects/tensor                 tensor
dialects/linalg                 linalg
dialects/builtin                builtin
dialects/cf                     cf
dialects/complex                complex
dialects/dfg                    dfg
dialects/dlti                   dlti
dialects/emithls                emithls
dialects/func                   func
dialects/hw                     hw HW
dialects/comb                   comb
dialects/seq                    seq
dialects/sys                    sys SYS
dialects/index                  index
dialects/ml_program             ml_program
dialects/onnx                   onnx
dialects/quant                  quant
dialects/sa                     sa SA
dialects/scf                    scf
dialects/sparse_tensor          encoding sparse_tensor
dialects/tosa                   tosa
dialects                        dialects
analysis                        call_graph call_uses fixed_point identifier index_fit int_range
                                kernel layer_name payload_range reshape tensor_names
import                          import
passes/common                   inline
passes/linalg                   fold_unit fuse layout narrow parts
passes/linalg/levels            level
passes/linalg/kernels           batch
passes/onnx                     decompose onnx_fold onnx_is_quant onnx_update quantize
passes/tosa                     tosa_all_ones tosa_decompose tosa_rule
passes/dfg                      load_table port_process stream_table
schedule                        clock delinearize iteration latency product sched
lowering/tosa_to_linalg         tosa_build tosa_lower
lowering/onnx_to_linalg/values  constant epilogue fixed generic lower monotonicity
lowering/onnx_to_linalg/requant level_change level_changes quantizer requant
lowering/onnx_to_linalg         onnx_lower sum
lowering/linalg_to_dfg          to_dfg
lowering/dfg_to_emithls         to_emithls
lowering/linalg_to_sa           extents number numbers payload table to_sa
lowering/network_to_program     to_program
sim/vm                          vm
sim/io                          boundary npy
sim/interp                      calibration compare interp quant_noise verify_semantics
sim/design                      design
lowering/emithls_to_rtl         to_rtl
sim/hls                         hls_sim
sim/engine                      engine
target/device                   csynth device json_file system xml yosys
target/partition                partition
target/forms                    forms FORM
target/overlay                  overlay
target/cost                     cost memory
target/dse/solve                dse
target/dse                      dse folding
target/fifo                     fifo
target/split                    split
emit/verilog                    verilog
emit/dies                       dies
emit                            cpp emit emitted
emit/kernels                    kernels
emit/overlay                    overlay_hls
driver                          chart check choice compile device_options driver model ports search
driver/overlay                  overlay_search
driver/profile                  profile
driver/roofline                 roofline
driver/simulate                 simulation
driver/trace                    trace
driver/run                      run
options                         compile_flags flag flags
report                          html report
sweep                           sweep
libming                         lib ming
lsp                             lsp
tools                           command crash_guard dialect_docs expected_diags job opt pass_watch
                                progress reproducer split_input timing tool
"""

# May include anything of the project.
UNCHECKED = {"test", "fuzz", "examples"}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def read_modules():
    """The table as {module: prefixes}, in its order."""
    modules, name = {}, None
    for line in MODULES.splitlines():
        if line and not line[0].isspace():
            name, *prefixes = line.split()
            modules[name] = prefixes
        elif name:
            modules[name] += line.split()
    return modules


PREFIXES = read_modules()
RANK = {module: rank for rank, module in enumerate(PREFIXES)}


# Folders that are a part of the module around them, with its rank, prefixes and header.
ROOMS = {"driver/choice": "driver", "driver/modes": "driver", "driver/notes": "driver", "driver/quantize": "driver", "emit/board": "emit", "emit/cards": "emit", "emit/cpp": "emit", "emit/trace": "emit",
         "passes/linalg/layout": "passes/linalg",
         "target/partition/bound": "target/partition", "target/partition/cards": "target/partition",
         "target/partition/cuts": "target/partition",
         "target/partition/layers": "target/partition",
         "target/partition/search": "target/partition", "tools/batch": "tools",
         "tools/check": "tools", "tools/engine": "tools", "tools/overlay": "tools"}


def folder_of(path):
    return str(pathlib.PurePosixPath(path).parent)


def module_of(path):
    folder = folder_of(path)
    return ROOMS.get(folder, folder)


# What projects get copies of, and no header of a module.
COPIED = ("emit/csim/", "emit/board/csim_xrt", "emit/board/emulated_xrt", "emit/board/host_frames",
          "emit/board/host_main", "emit/board/network", "emit/board/emulated_network",
          "emit/board/two_sided", "emit/overlay/engine/")


def listed_sources():
    listing = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.c", "*.h", "*.def"],
                             cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return sorted(name for name in listing.splitlines()
                  if (ROOT / name).is_file() and name.split("/")[0] not in UNCHECKED
                  and not name.startswith((*COPIED, "include/")))


def check_folders(sources):
    count = collections.Counter(folder_of(name) for name in sources if name.endswith(".c"))
    for folder, total in sorted(count.items()):
        if total > MOST_SOURCES:
            yield f"{folder}/ has {total} sources, more than {MOST_SOURCES}"
    for module in sorted({module_of(name) for name in sources}):
        if module not in RANK:
            yield f"{module}/ has C sources but no rank in {pathlib.Path(__file__).name}"
    for name in sources:
        module, header = module_of(name), pathlib.PurePosixPath(name).name
        if name.endswith(".h") and header != "internal.h" and name not in PUBLIC.values():
            if name not in PROBES:
                yield f"{name}: {module}/ has another public header, {PUBLIC.get(module)}"


def public_headers(sources):
    """The public header of each module: named like its last folder, or passes.h."""
    public = {}
    for module in RANK:
        folder = pathlib.PurePosixPath(module)
        for stem in (folder.name, "passes"):
            if f"{module}/{stem}.h" in sources:
                public.setdefault(module, f"{module}/{stem}.h")
    return public


# Read by the build to find a file of a library; nothing includes it.
PROBES = {"import/find_schema.h"}


def check_includes(name):
    module = module_of(name)
    text = (ROOT / name).read_text(encoding="utf-8")
    for found in INCLUDE.finditer(text):
        included = found[1]
        other = module_of(included)
        line = text.count("\n", 0, found.start()) + 1
        where = f'{name}:{line}: "{included}"'
        if ".." in included:
            yield f"{where} is not written from the root"
        elif other == "." or other == module or other not in RANK:
            continue
        elif RANK.get(module, -1) <= RANK[other]:
            yield f"{where} is in a higher module than {module}/"
        elif included != PUBLIC.get(other):
            yield f"{where} is not the public header of {other}/"


def read_symbols(objects):
    """Of each object: names that it defines, uses, and keeps for itself."""
    symbols = {source: (set(), set(), set()) for source in objects.values()}
    sources = {str(path): source for path, source in objects.items()}
    listing = subprocess.run(["nm", "-A", *sorted(sources)], check=True, capture_output=True, text=True).stdout
    for line in listing.splitlines():
        path, _, entry = line.partition(":")
        *_, kind, name = entry.split()
        defined, used, private = symbols[sources[path]]
        if kind == "U":
            used.add(name)
        elif "." not in name and not name.startswith("__"):  # what sanitizers add
            (defined if kind.isupper() else private).add(name)
    return symbols


def find_objects(build, sources):
    """{object: source} of the libraries and tools in the build folder."""
    by_object = {name.replace("/", "_"): name for name in sources if name.endswith(".c")}
    objects = {}
    for path in sorted(build.glob("**/*.c.o")):
        parts = path.relative_to(build).parts
        key = path.name[:-len(".o")]
        if parts[0] == "tools":
            key = "tools_" + key
        if parts[0] in ("libming", "lsp"):
            key = f"{parts[0]}_{key}"
        if parts[0] in ("tools", "libming", "lsp", "libming.a.p") and key in by_object:
            objects[path] = by_object[key]
    return objects


def listed_exceptions():
    """Names in the table of docs/style.md whose rows give a reason."""
    text = (ROOT / "docs/style.md").read_text(encoding="utf-8")
    names = set()
    for row in re.findall(r"^\|([^|\n]*`[^|\n]*)\|[^|\n]*\w[^|\n]*\|$", text, re.M):
        names.update(re.findall(r"`([A-Za-z_]\w*)`", row))
    return names


def owner_of(symbol):
    """The module with the longest prefix that the name begins with, or None."""
    best, length = None, 0
    for module, prefixes in PREFIXES.items():
        for prefix in prefixes:
            fits = symbol == prefix or symbol.startswith(prefix + "_")
            if fits and len(prefix) > length:
                best, length = module, len(prefix)
    return best


def check_names(symbols):
    exceptions = listed_exceptions()
    for source, (defined, _, _) in sorted(symbols.items()):
        module = module_of(source)
        for name in sorted(defined - exceptions):
            if name.startswith("pass_") and source.startswith(PASSES):
                continue
            owner = owner_of(name)
            shared = {"target/dse", "target/dse/solve"}  # one search in two folders
            if owner != module and not (owner in shared and module in shared):
                yield f"{source}: extern {name} does not begin with a prefix of {module}/"


def check_links(symbols):
    home = {name: source for source, (defined, _, _) in symbols.items() for name in defined
            if name != "main"}
    edges = collections.defaultdict(set)
    for source, (_, used, private) in sorted(symbols.items()):
        module = module_of(source)
        for name in sorted(used & home.keys()):
            other = module_of(home[name])
            if other != module and RANK[other] >= RANK[module]:
                yield f"{source} uses {name} of {other}/, which is a higher module"
            edges[module.split("/")[0]].add(other.split("/")[0])
        for name in sorted(private & home.keys()):
            yield f"{source}: static {name} has the name of an extern of {home[name]}"
    yield from check_top(edges)


def check_top(edges):
    """The folders at the top form no circle either."""
    done, path = set(), []

    def visit(folder):
        if folder in path:
            return "circle of folders: " + " -> ".join(path[path.index(folder):] + [folder])
        if folder in done:
            return None
        path.append(folder)
        found = next(filter(None, (visit(other) for other in sorted(edges[folder] - {folder}))), None)
        path.pop()
        done.add(folder)
        return found

    yield from filter(None, (visit(folder) for folder in sorted(edges)))


def main():
    sources = listed_sources()
    PUBLIC.update(public_headers(sources))
    problems = list(check_folders(sources))
    for name in sources:
        problems += check_includes(name)
    if len(sys.argv) > 1:
        objects = find_objects(pathlib.Path(sys.argv[1]).resolve(), sources)
        missing = {name for name in sources if name.endswith(".c")} - set(objects.values())
        problems += [f"{name}: not in the build folder" for name in sorted(missing)]
        symbols = read_symbols(objects)
        problems += [*check_names(symbols), *check_links(symbols)]
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


PUBLIC = {}

if __name__ == "__main__":
    main()
