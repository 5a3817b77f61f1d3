"""What the tests of drivers and libraries share: projects, and frames packed by the C++ that
a project comes with (top_host.h), which is the oracle for everything that packs them anew."""
import json
import pathlib
import subprocess

import json_schema

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "emit/report.schema.json"
STRICT = "-std=c++17 -O1 -Wall -Wextra -Werror -Wno-unknown-pragmas"

PACKER = """#include "{top}_host.h"
#include <fstream>

static void pack(const ming::Port &port, const char *npy, const char *file)
{{
    const ming::Array array = ming::npy_read(npy);
    std::ofstream out(file, std::ios::binary);
    for (std::size_t f = 0; f < port.count_frames(array); f++) {{
        const std::vector<std::uint8_t> bytes = ming::pack(port, array, f);
        out.write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }}
}}

static void unpack(const ming::Port &port, const char *file, const char *npy)
{{
    std::ifstream in(file, std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const std::size_t frames = all.size() / port.frame_bytes();
    ming::Array array(port.dtype(), port.frames_shape(frames));
    for (std::size_t f = 0; f < frames; f++) {{
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(f * port.frame_bytes());
        ming::unpack(port, {{first, first + static_cast<std::ptrdiff_t>(port.frame_bytes())}}, array, f);
    }}
    ming::npy_write(npy, array);
}}

int main(int argc, char **argv)
{{
    const std::string what = argc > 4 ? argv[1] : "", port = argc > 4 ? argv[2] : "";
{rows}    return what.empty();
}}
"""


class Failure(Exception):
    """Why a case failed, in one line."""


def expect(condition, *what):
    if not condition:
        raise Failure(" ".join(str(part) for part in what)[:400])


def run(*command, cwd=None, env=None):
    return subprocess.run([str(part) for part in command], cwd=cwd, env=env, timeout=300,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", check=False)


def must_run(*command, cwd=None, env=None):
    result = run(*command, cwd=cwd, env=env)
    expect(result.returncode == 0, pathlib.Path(str(command[0])).name, "exits with",
           result.returncode, (result.stderr + result.stdout)[-300:])
    return result


def must_make(project, *targets):
    return must_run("make", "-s", "-C", project, f"CXXFLAGS={STRICT}", *targets)


def load_report(project):
    """report.json, which must be as its schema says."""
    report = json.loads((project / "report.json").read_text(encoding="utf-8"))
    found = list(json_schema.problems(report, json.loads(SCHEMA.read_text(encoding="utf-8"))))
    expect(not found, "; ".join(found[:3]))
    return report


class Packer:
    """pack and unpack of a project's own C++."""

    def __init__(self, project):
        report = json.loads((project / "report.json").read_text(encoding="utf-8")) # of ports alone, perhaps
        top = report["top"]
        rows = "".join(
            f'    if (port == "{port["argument"]}")\n        '
            f'(what == "pack" ? pack : unpack)({top}_host::{port["argument"]}(), argv[3], argv[4]);\n'
            for port in report["ports"])
        source = project / "packer.cpp"
        source.write_text(PACKER.format(top=top, rows=rows), encoding="utf-8")
        self.program = project / "packer"
        must_run("g++", *STRICT.split(), "-Wno-unused-function", "-I", project, "-I",
                 project / "csim", source, "-o", self.program)

    def pack(self, port, npy, file):
        must_run(self.program, "pack", port["argument"], npy, file)
        return file.read_bytes()

    def unpack(self, port, data, file, npy):
        file.write_bytes(data)
        must_run(self.program, "unpack", port["argument"], file, npy)


def report_cases(cases):
    """Runs (name, function) pairs and prints a line for each; the exit status."""
    failed = 0
    for name, function in cases:
        try:
            function()
            print("PASS", name, flush=True)
        except (Failure, subprocess.TimeoutExpired, OSError, KeyError, ValueError) as error:
            failed += 1
            print("FAIL", f"{name}: {type(error).__name__}: {error}", flush=True)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return int(failed > 0)
