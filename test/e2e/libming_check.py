#!/usr/bin/env python3
"""libming as its users have it: a build is installed in a folder, test/libming/library_test.c is
built against that by pkg-config, and what it writes is compared with what the tools write.

    test/e2e/libming_check.py --tools=build/tools

 1. Symbols: none is exported without the prefix ming_, by the shared and by the static library, and
    the header declares all of them.
 2. Projects are those of `ming compile` byte for byte, in a locale with commas in numbers, too;
    modules, outputs and reports are those of ming-opt, `ming run` and `ming sim`.
 3. Each wrong use is refused with its diagnostic.
 4. The program of docs/library.md does what it says.
 5. Two contexts in two threads; --threads builds the library with ThreadSanitizer for it (minutes).

The last line counts the cases.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

from installation import Cases, Installation, same_folders

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCE = ROOT / "test/libming/library_test.c"
EXAMPLE = ROOT / "examples/small_cnn"
OPTIONS = (
    [],
    ["device=kv260", "clock=200", "top=net", "interface=m_axi"],
    ["dsp=100", "weights=load:32", "control=hs", "rewind=on"],
    ["emit=hls,verilog", "objective=latency", "utilization=50"],
)


def run(command, **more):
    return subprocess.run(list(map(str, command)), capture_output=True, **more)


def exported(path, *flags):
    """Names that a library defines for others."""
    listing = run(["nm", *flags, "--defined-only", path], text=True, check=True).stdout
    rows = [line.split() for line in listing.splitlines()]
    return {row[2].split("@")[0] for row in rows if len(row) == 3 and row[1] != "A"}


def check_symbols(cases, installed):
    header = (installed.prefix / "include/ming/ming.h").read_text()
    declared = set(re.findall(r"^MING_API [^;(]*\b(ming_\w+)\(", header, re.M))
    for name, flags in (("libming.so", ["-D"]), ("libming.a", ["-g"])):
        names = exported(installed.libdir / name, *flags)
        # what sanitizers add to every object
        names = {symbol for symbol in names if not symbol.startswith(("__asan", "__odr_asan", "__ubsan"))}
        cases.check(f"symbols of {name}", names == declared, str(names ^ declared))
    soname = run(["objdump", "-p", installed.libdir / "libming.so"], text=True).stdout
    cases.check("soname", re.search(r"SONAME\s+libming\.so\.0\n", soname) is not None)


def comma_locale(folder):
    """The environment of a locale whose numbers have commas, made for the test; or None."""
    made = run(["localedef", "-i", "de_DE", "-f", "UTF-8", folder / "de_DE.UTF-8"])
    env = dict(os.environ, LOCPATH=str(folder), LC_ALL="de_DE.UTF-8")
    return env if made.returncode == 0 else None


def check_projects(cases, program, tools, folder):
    env = comma_locale(folder)
    cases.check("a locale with commas", env is not None, "localedef (package locales) failed")
    for number, options in enumerate(OPTIONS):
        ours, theirs = folder / f"library{number}", folder / f"tool{number}"
        made = run([program, "compile", EXAMPLE / "model.onnx", ours, *options], env=env)
        wanted = run([tools / "ming", "compile", EXAMPLE / "model.onnx", "-o", theirs,
                      *(f"--{option}" for option in options)])
        good = made.returncode == 0 and wanted.returncode == 0
        detail = made.stdout.decode() + made.stderr.decode() + wanted.stderr.decode()
        if cases.check(f"compile {options}", good, detail):
            different = same_folders(ours, theirs)
            cases.check(f"files of {options}", not different, " ".join(different))
            cases.check(f"diagnostics of {options}", made.stdout == wanted.stderr, detail)
            page = run([tools / "ming", "report", theirs, "--html=-", "--layout=own"]).stdout
            cases.check(f"page of {options}", len(page) > 1000 and
                        page == ours.with_name(ours.name + ".html").read_bytes())


def check_execution(cases, program, tools, folder):
    array = numpy.load(EXAMPLE / "input.npy")
    raw = folder / "input.raw"
    raw.write_bytes(array.tobytes())
    wanted = numpy.load(EXAMPLE / "output.npy")
    words = [array.dtype.kind, array.dtype.itemsize, "x".join(map(str, array.shape)), raw]
    for what in (EXAMPLE / "model.onnx", folder / "library0"):
        made = run([program, "run", what, *words])
        head, _, report = made.stderr.decode().partition("\n")
        kind = head.split(" ")[0]
        output = numpy.frombuffer(made.stdout, numpy.dtype(kind)) if made.returncode == 0 else None
        cases.check(f"run {what.name}", output is not None and output.size == wanted.size and
                    (output == wanted.reshape(-1)).all(), made.stderr.decode())
    figures = run([tools / "ming", "sim", folder / "library0", f"--input={EXAMPLE}/input.npy",
                   "--json=-"], text=True).stdout
    cases.check("figures of the simulation", json.loads(report) == json.loads(figures), report)
    pipeline = "builtin.module(canonicalize,cse)"
    text = folder / "library0" / next(p.name for p in (folder / "library0").glob("*.mir"))
    made = run([program, "print", text, pipeline])
    wanted = run([tools / "ming-opt", text, f"--pass-pipeline={pipeline}"])
    cases.check("passes", made.returncode == 0 and made.stdout + b"\n" == wanted.stdout)


def check_page(cases, installed, folder):
    """The program of docs/library.md."""
    source = folder / "page.c"
    source.write_text(re.search(r"```c\n(.*?)```", (ROOT / "docs/library.md").read_text(), re.S)[1])
    installed.compile_program(source, folder / "page")
    made = run([folder / "page", EXAMPLE / "model.onnx", folder / "page-project"], cwd=folder)
    page = folder / "page.html"
    cases.check("page of docs/library.md", page.exists() and page.read_bytes() ==
                run([installed.prefix / "bin/ming", "report", folder / "page-project", "--html=-"]).stdout)
    report = folder / "page-project/report.json"
    cases.check("docs/library.md", made.returncode == 0 and
                json.loads(made.stdout) == json.loads(report.read_text()), made.stderr.decode())
    cases.check("docs/library.md without a model",
                run([folder / "page", folder / "lost.onnx", folder / "lost"]).returncode == 1)


def check_threads(cases, program, folder, reference):
    both = folder / "threads"
    both.mkdir()
    made = run([program, "threads", EXAMPLE / "model.onnx", both])
    if cases.check("two threads", made.returncode == 0, made.stdout.decode() + made.stderr.decode()):
        for number in range(2):
            different = same_folders(both / str(number), reference)
            cases.check(f"files of thread {number}", not different, " ".join(different))


def check_thread_sanitizer(cases, folder, reference):
    build = ROOT / "build-tsan"
    if not (build / "build.ninja").exists():
        run(["meson", "setup", build, "-Dtests=disabled", "--buildtype=debugoptimized", "-Db_sanitize=thread",
             "-Db_lundef=false"], cwd=ROOT, check=True)
    subprocess.run(["ninja", "-C", build, "-j2"], check=True, stdout=subprocess.DEVNULL)
    installed = Installation(build, folder / "tsan-installed")
    program = folder / "library_test_tsan"
    installed.compile_program(SOURCE, program)
    (folder / "tsan").mkdir()
    check_threads(cases, program, folder / "tsan", reference)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--threads", action="store_true", help="build with ThreadSanitizer, too")
    options = parser.parse_args()
    tools = options.tools.resolve()
    cases = Cases()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        installed = Installation(tools.parent, folder / "installed")
        check_symbols(cases, installed)
        program, static = folder / "library_test", installed.prefix / "bin/library_test_static"
        installed.compile_program(SOURCE, program)
        installed.compile_program(SOURCE, static, static=True)
        check_projects(cases, program, tools, folder)
        check_execution(cases, program, tools, folder)
        check_page(cases, installed, folder)
        for what in (program, static):
            made = run([what, "misuse", EXAMPLE / "model.onnx"], text=True)
            cases.check(f"misuse, {what.name}", made.returncode == 0, made.stdout + made.stderr)
        check_threads(cases, program, folder, folder / "tool0")
        if options.threads:
            check_thread_sanitizer(cases, folder, folder / "tool0")
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
