# Sourced by scripts/demo and scripts/test: Debian packages and their
# installation. Takes nothing from the network when all are there.

# What building ming and the emitted C++ needs.
build_packages="gcc g++ make meson ninja-build pkg-config python3
    libonnx-dev libprotobuf-c-dev protobuf-c-compiler
    liblpsolve55-dev libxml2-dev libjansson-dev nettle-dev"

# What the tests need besides. mlir-19-tools is upstream MLIR, to compare with; libmlir-19 has what
# programs that mlir-cpu-runner runs print with.
# protobuf-compiler encodes ONNX files that tests keep as text. clang-14 and clang-format-14 check
# the emitted C++; iverilog, verilator and yosys the Verilog; cbc solves what places tasks on dies; tcl runs
# floor plans. libxrt-dev has the headers that hosts of cards are built with. parallel and
# slurm run sweeps.
# man, groff and mandoc check the manual pages, zsh its completion; mkdocs makes the site;
# python3-build and its fellows make and install the wheel.
# libcmocka-dev is what unit tests are built with.
unit_packages=libcmocka-dev
test_packages="llvm-19-tools mlir-19-tools libmlir-19 protobuf-compiler python3-numpy
    libonnx-testdata locales clang-14 clang-format-14 iverilog verilator yosys coinor-cbc graphviz
    tcl libxrt-dev parallel slurmctld slurmd
    man-db groff-base mandoc zsh mkdocs
    python3-build python3-installer python3-setuptools python3-wheel"

# ONNX Runtime, an oracle of the tests: the package of npm for Node.js.
onnx_runtime=onnxruntime-node@1.30.0

# Debian's Python, which sees Debian's numpy.
python=/usr/bin/python3

is_installed() {
    dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q '^install ok installed$'
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null 2>&1; then
        sudo "$@"
    else
        echo "error: root or sudo is needed for: $*" >&2
        return 1
    fi
}

# install_packages NAME...: installs those that are missing.
install_packages() {
    missing=""
    for package in "$@"; do
        is_installed "$package" || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    echo "Installing:$missing"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q </dev/null
    # shellcheck disable=SC2086  # a list of names
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends $missing </dev/null
}

# install_onnx_runtime FOLDER: installs ONNX Runtime there unless it is, and
# Node.js if it is missing. The package's own script fetches what GPUs need.
install_onnx_runtime() {
    [ ! -d "$1/node_modules/onnxruntime-node" ] || return 0
    command -v npm >/dev/null 2>&1 || install_packages nodejs npm || return 1
    echo "Installing: $onnx_runtime"
    mkdir -p "$1" && npm install --prefix "$1" --ignore-scripts --no-save \
        --no-audit --no-fund --loglevel=error "$onnx_runtime" </dev/null
}
