#!/usr/bin/env python3
"""What `meson install` installs, used where it lies: a build is installed in a folder, which is then
moved.

    test/e2e/install_check.py --tools=build/tools

 1. The installed `ming compile`, csim of its project, and the example's output; the devices.
 2. A manual page for each tool and command, without warnings of groff and mandoc, which names every
    option that --help lists.
 3. Completion in bash and zsh: of commands, options, values, files.
 4. Headers, library, docs and examples are there, and no path of the build in any text.

The last line counts the cases.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy

from installation import Cases, Installation

MANDOC_KNOWN = 'missing date, using "": TH'   # pages are the same whenever they are made


def run(command, **more):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, **more)


def check_design(cases, prefix, folder):
    example = prefix / "share/doc/ming/examples/small_cnn"
    project, output = folder / "project", folder / "y.npy"
    made = run([prefix / "bin/ming", "compile", example / "model.onnx", "-o", project], cwd=folder)
    if not cases.check("compile", made.returncode == 0, made.stderr):
        return
    made = run(["make", "-C", project, "csim", f"INPUT={example}/input.npy", f"OUTPUT={output}"])
    if cases.check("csim", made.returncode == 0, made.stdout + made.stderr):
        wanted = numpy.load(example / "output.npy")
        cases.check("output", (numpy.load(output).reshape(-1) == wanted.reshape(-1)).all())
    devices = run([prefix / "bin/ming", "devices", "--json"])
    cases.check("devices", devices.returncode == 0 and "zcu102" in devices.stdout, devices.stderr)


def tables(prefix):
    """Tables of options by the names of manual pages."""
    for name in ("ming", "ming-lsp-server", "ming-opt", "ming-translate"):
        table = json.loads(run([prefix / "bin" / name, "--dump-options"], check=True).stdout)
        yield name, table
        for row in table.get("commands", ()):
            command = [prefix / "bin" / name, row["name"], "--dump-options"]
            yield f"ming-{row['name']}", json.loads(run(command, check=True).stdout)


def check_manuals(cases, prefix):
    pages = {path.stem for path in (prefix / "share/man/man1").iterdir()}
    found = dict(tables(prefix))
    cases.check("pages", pages == set(found), str(pages ^ set(found)))
    for name, table in found.items():
        page = prefix / f"share/man/man1/{name}.1"
        groff = run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", page],
                    env=dict(os.environ, MANWIDTH="100", LC_ALL="C.UTF-8"))
        cases.check(f"{name}: groff", groff.returncode == 0 and not groff.stderr, groff.stderr)
        lint = run(["mandoc", "-T", "lint", "-W", "warning", page]).stdout.splitlines()
        wrong = [line for line in lint if not line.endswith(MANDOC_KNOWN)]
        cases.check(f"{name}: mandoc", not wrong, "\n".join(wrong))
        text = re.sub(r".\x08", "", groff.stdout)
        missing = [row["name"] for row in table["options"]
                   if not re.search(rf"^ *--?{re.escape(row['name'])}\b", text, re.M)]
        cases.check(f"{name}: options", not missing, " ".join(missing))


COMPLETE = r"""
source "$1"; COMP_LINE=$2; COMP_POINT=${#2}; read -ra COMP_WORDS <<<"$2"
[[ $2 != *' ' ]] || COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
spec=$(complete -p "${COMP_WORDS[0]}") || exit 1
function=${spec#*-F }; "${function%% *}"; printf '%s\n' "${COMPREPLY[@]}"
"""


def check_bash(cases, prefix, folder):
    script = prefix / "share/bash-completion/completions/ming"
    env = dict(os.environ, PATH=f"{prefix}/bin:{os.environ['PATH']}")
    (folder / "my model.onnx").touch()

    def complete(line, wanted, unwanted=()):
        made = run(["bash", "--norc", "-c", COMPLETE, "-", script, line], env=env, cwd=folder)
        words = made.stdout.split("\n")
        cases.check(f"bash: {line!r}", made.returncode == 0 and not made.stderr and
                    set(wanted) <= set(words) and not set(unwanted) & set(words),
                    made.stdout + made.stderr)

    complete("ming ", ["compile", "sim", "help"])
    complete("ming co", ["compile"], ["sim"])
    complete("ming compile --dev", ["--device="], ["--clock="])
    complete("ming compile --device=zcu", ["zcu102"], ["kv260"])
    complete("ming compile --interface=", ["axis", "m_axi"])
    complete("ming compile m", ["my model.onnx"])
    complete("ming help s", ["sim"])
    complete("ming sim --svg=my", ["my model.onnx"])
    complete("ming --ver", ["--version"])
    complete("ming-opt --canon", ["--canonicalize"])
    complete("ming-translate --emit", ["--emit-hls"])


# Types a line and a tabulator into a zsh, and prints what it shows.
ZSH = r"""
zmodload zsh/zpty; zpty z zsh -f -i
zpty -w z "PS1=; fpath=('$1' \$fpath); autoload -Uz compinit; compinit -D -u; zstyle ':completion:*' list-prompt ''"
zpty -w z "LISTMAX=10000; bindkey '^I' complete-word; print READY"
zpty -r z line '*READY*READY*'
zpty -w -n z "$2"$'\t\t'
repeat 100; do zpty -r -t z line && print -rn -- "$line"; sleep 0.02; done
zpty -d z
"""


def check_zsh(cases, prefix, folder):
    env = dict(os.environ, PATH=f"{prefix}/bin:{os.environ['PATH']}", TERM="dumb", COLUMNS="200")
    # where zsh looks: packages have a folder of their own
    name = "vendor-completions" if prefix.name == "usr" else "site-functions"
    folder_of_script = prefix / "share/zsh" / name
    for line, wanted in (("ming compi", "ming compile"), ("ming compile --devi", "--device="),
                         ("ming compile --interface=m", "--interface=m_axi"),
                         ("ming-opt --canonicali", "--canonicalize")):
        made = run(["zsh", "-f", "-c", ZSH, "-", folder_of_script, line], env=env, cwd=folder)
        shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\x08]", "", made.stdout)
        cases.check(f"zsh: {line!r}", wanted in shown, repr(shown[-400:]) + made.stderr)


def check_files(cases, prefix, build, destdir):
    for name in ("share/doc/ming/README.md", "share/doc/ming/docs/library.md", "include/ming/ming.h",
                 "share/ming/board/driver.py", "share/ming/csim/ap_int.h", "share/ming/rtl/ming_fifo.v",
                 "share/ming/devices/device.xsd"):
        cases.check(name, (prefix / name).is_file())
    root = str(pathlib.Path(build).resolve().parent).encode()
    for path in sorted(destdir.rglob("*")):
        if path.is_file() and not path.is_symlink() and b"\0" not in path.read_bytes()[:4096]:
            cases.check(f"paths in {path.name}", root not in path.read_bytes())
    broken = [path for path in destdir.rglob("*") if path.is_symlink() and not path.exists()]
    cases.check("links", not broken, str(broken))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    build = parser.parse_args().tools.resolve().parent
    cases = Cases()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        installed = Installation(build, folder / "installed")
        prefix = folder / "moved here" / installed.prefix.name
        prefix.parent.mkdir()
        shutil.move(installed.prefix, prefix)
        check_design(cases, prefix, folder)
        check_manuals(cases, prefix)
        check_bash(cases, prefix, folder)
        check_zsh(cases, prefix, folder)
        check_files(cases, prefix, build, prefix)
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
