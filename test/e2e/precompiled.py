"""csim and cosim of many small designs: what `make csim` and `make cosim` build, from the same
files, but by clang and with the headers in csim/, which are most of what there is to compile and
the same for all designs, compiled once. A design then takes a tenth of the time."""
import hashlib
import shutil

import networks_check

CLANG = "clang++-14"
FLAGS = ("-std=c++17", "-O0", "-Wno-unknown-pragmas")
HEADERS = ("ap_int.h", "hls_stream.h", "hls_vector.h", "hls_math.h", "ap_axi_sdata.h", "ming_tb.h")
FIRST = {"csim": (), "cosim": ("ming_cosim.h",)}        # as the Makefile includes them


def make(design, target, given, got):
    """The outputs of a design's C++ as its Makefile builds it."""
    networks_check.run("make", "-s", "-C", design, target, f"INPUT={given}", f"OUTPUT={got}",
                       "CXXFLAGS=-O0 -std=c++17")


class Headers:
    """Compiled headers in a folder of their own, by what they say."""

    def __init__(self, folder):
        self.folder = folder

    def compiled(self, csim, target):
        """The headers' precompiled form and their functions as an object."""
        texts = hashlib.sha256(target.encode())
        for path in sorted(csim.iterdir()):
            texts.update(path.name.encode() + b"\0" + path.read_bytes())
        place = self.folder / texts.hexdigest()[:16]
        source, header, functions = (place / f"all.{end}" for end in ("h", "pch", "o"))
        if not functions.exists():
            shutil.copytree(csim, place, dirs_exist_ok=True)
            source.write_text("".join(f'#include "{name}"\n' for name in (*FIRST[target], *HEADERS)),
                              encoding="utf-8")
            networks_check.run(CLANG, *FLAGS, "-fpch-codegen", "-fpch-instantiate-templates",
                               f"-I{place}", "-x", "c++-header", source, "-o", header)
            networks_check.run(CLANG, *FLAGS, "-c", header, "-o", functions)
        return header, functions

    def simulate(self, design, target, given, got):
        """The outputs of a design's C++, `target` csim or cosim, for the inputs `given`."""
        header, functions = self.compiled(design / "csim", target)
        testbench = min((path.name for path in design.glob("*_tb.cpp")), key=len)  # not TOP_rtl_tb.cpp
        top = testbench.removesuffix("_tb.cpp")
        if target == "cosim":
            networks_check.run("make", "-s", "-C", design, f"{top}_cosim.cpp")
        whole, program = design / f"{top}_whole.cpp", design / f"{top}_{target}"
        processes = f"{top}_cosim.cpp" if target == "cosim" else f"{top}.cpp"
        whole.write_text(f'#include "{processes}"\n#include "{top}_tb.cpp"\n', encoding="utf-8")
        networks_check.run(CLANG, *FLAGS, "-include-pch", header, f"-I{header.parent}", whole, functions,
                           "-o", program)
        networks_check.run(program, given, got, *design.glob("*_weights.npy"))
