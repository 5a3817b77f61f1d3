# Sourced by scripts/demo and scripts/test: Debian packages and their
# installation. Takes nothing from the network when all are there.

# What building ming and the emitted C++ needs.
build_packages="gcc g++ make meson ninja-build pkg-config python3
    libonnx-dev libprotobuf-c-dev protobuf-c-compiler
    liblpsolve55-dev libxml2-dev"

# What the tests need besides. mlir-19-tools is upstream MLIR, to compare with.
# protobuf-compiler encodes ONNX files that tests keep as text.
test_packages="libcmocka-dev llvm-19-tools mlir-19-tools protobuf-compiler python3-numpy
    libonnx-testdata"

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
