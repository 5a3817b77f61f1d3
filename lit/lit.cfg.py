"""Configuration of the FileCheck suites.

Settings come from lit.site.cfg.py, which meson writes into the build folder;
when lit runs on the source folder itself, the environment variables
MING_TOOLS and MING_LIT_OUTPUT or the folder `build` stand in.
"""
import os
import shutil
import sys

import lit.formats

LLVM_BIN = "/usr/lib/llvm-19/bin"
SANITIZER_VARIABLES = ("ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS")

source_dir = os.path.dirname(os.path.abspath(__file__))
build_dir = os.path.join(os.path.dirname(source_dir), "build")

config.name = "ming"
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".mir", ".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = source_dir
config.test_exec_root = (getattr(config, "ming_exec_root", None)
                         or os.environ.get("MING_LIT_OUTPUT")
                         or os.path.join(build_dir, "lit"))
tools_dir = (getattr(config, "ming_tools_dir", None)
             or os.environ.get("MING_TOOLS")
             or os.path.join(build_dir, "tools"))

# FileCheck, not, count and split-file are found by name; so are our tools.
search_path = os.pathsep.join([tools_dir, LLVM_BIN, config.environment["PATH"]])
config.environment["PATH"] = search_path
for variable in SANITIZER_VARIABLES:
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]


def find(*names):
    """The path of the first of the programs `names` that is installed."""
    paths = (shutil.which(name, path=search_path) for name in names)
    return next((path for path in paths if path), None)


if not find("FileCheck"):
    lit_config.fatal("FileCheck is not installed (package llvm-19-tools)")

# The longer names come first: lit replaces from the top.
for name in ("ming-translate", "ming-opt", "ming"):
    config.substitutions.append((f"%{name}\\b", os.path.join(tools_dir, name)))

# Inputs of other tests, and the project's own files.
config.substitutions.append(("%lit\\b", source_dir))
config.substitutions.append(("%root\\b", os.path.dirname(source_dir)))

# A stack of 1 MB, as threads may have it; AddressSanitizer's frames are several times as large.
with open(os.path.join(tools_dir, "ming-opt"), "rb") as tool:
    stack = 8192 if b"__asan_init" in tool.read() else 1024
config.substitutions.append(("%small-stack\\b", f"ulimit -s {stack};"))

# The values of a .npy file, and a file of values.
for name, verb in (("%show", "show"), ("%write-npy", "write")):
    config.substitutions.append(
        (f"{name}\\b", f"{sys.executable} {os.path.dirname(source_dir)}/scripts/npy.py {verb}"))

# A model in protobuf's text form to an ONNX file.
config.substitutions.append(
    ("%onnx-encode\\b",
     "protoc --encode=onnx.ModelProto --proto_path=/usr/include/onnx onnx.proto"))

# Upstream MLIR, clang-format and the readers of Verilog are optional: tests that run them REQUIRE the
# feature.
for feature, names in {
    "mlir-opt": ("mlir-opt-19", "mlir-opt"),
    "mlir-runner": ("mlir-cpu-runner-19", "mlir-cpu-runner"),
    "clang-format": ("clang-format-14",),
    "iverilog": ("iverilog",),
    "verilator": ("verilator",),
    "yosys": ("yosys",),
}.items():
    program = find(*names)
    if program:
        config.available_features.add(feature)
        config.substitutions.append((f"%{feature}\\b", program))
