#!/usr/bin/env python3
"""The Debian packages.

    test/e2e/deb_check.py --tools=build/tools            what is installed against debian/*.install
    test/e2e/deb_check.py --tools=build/tools --build    makes the packages in a copy of the sources,
                                                         asks lintian, unpacks and uses them (minutes)
    ... --build --root=FOLDER                            installs them there with apt, in a system made
                                                         by debootstrap, and times each step

The last line counts the cases.
"""
import argparse
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from installation import Cases, Installation

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = "usr/share/doc/ming/examples/small_cnn"
OUTPUT = "import numpy; a, b = numpy.load('y.npy'), numpy.load('{}/output.npy'); assert (a.ravel() == b.ravel()).all()"


def run(command, **more):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, **more)


def patterns():
    """{package: patterns of paths} of debian/*.install."""
    return {path.stem: path.read_text().split() for path in sorted((ROOT / "debian").glob("*.install"))}


def packages_of(file, wanted):
    return [name for name, rows in wanted.items()
            if any(fnmatch.fnmatch(file, row) or fnmatch.fnmatch(file, row + "/*") for row in rows)]


def check_lists(cases, installed):
    wanted, prefix = patterns(), installed.prefix
    files = ["usr/" + str(path.relative_to(prefix)) for path in sorted(prefix.rglob("*"))
             if path.is_symlink() or path.is_file()]
    # where packages have it, whatever the prefix of the build is
    files = [file.replace("zsh/site-functions", "zsh/vendor-completions") for file in files]
    for file in files:
        owners = packages_of(file, wanted)
        cases.check(f"one package has {file}", len(owners) == 1, str(owners))
    for name, rows in wanted.items():
        for row in rows:
            found = [file for file in files if fnmatch.fnmatch(file, row) or fnmatch.fnmatch(file, row + "/*")]
            cases.check(f"{name} has {row}", bool(found))


def check_version(cases):
    project = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]
    changelog = (ROOT / "debian/changelog").read_text()
    cases.check("version", changelog.startswith(f"ming ({project}) "), changelog[:40])
    fields = (ROOT / "debian/control").read_text()
    named = set(re.findall(r"^Package: (\S+)", fields, re.M))
    cases.check("packages with files", named == set(patterns()), str(named))
    needed = re.search(r"^Build-Depends: (.*?)\n\n", fields, re.M | re.S)[1]
    script = (ROOT / "scripts/packages.sh").read_text()
    built = re.search(r'build_packages="(.*?)"', script, re.S)[1].split()
    essential = {"gcc", "g++", "make", "ninja-build", "python3"}    # of build-essential, of meson
    missing = [name for name in built if name not in essential and name not in needed]
    cases.check("Build-Depends", not missing, " ".join(missing))


def build_packages(cases, folder):
    """Makes the packages of a copy of the sources; the paths of all."""
    source = folder / "ming"
    listing = run(["git", "ls-files", "-z"], cwd=ROOT, check=True).stdout
    for name in listing.split("\0"):
        if name and (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name)
    begin = time.time()
    made = run(["dpkg-buildpackage", "-us", "-uc", "-b", "-j2"], cwd=source)
    print(f"dpkg-buildpackage: {time.time() - begin:.0f} s")
    cases.check("dpkg-buildpackage", made.returncode == 0, made.stdout[-2000:] + made.stderr[-2000:])
    lint = run(["lintian", "--fail-on", "error,warning", *folder.glob("*.changes")])
    cases.check("lintian", lint.returncode == 0, lint.stdout)
    return sorted(path for path in folder.glob("*.deb") if "dbgsym" not in path.name)


def check_unpacked(cases, packages, folder):
    """Uses the packages from where they are unpacked, beside what the machine has."""
    root = folder / "root"
    for package in packages:
        run(["dpkg-deb", "-x", package, root], check=True)
    library = next(root.glob("usr/lib/*/libming.so.0")).parent
    env = dict(os.environ, LD_LIBRARY_PATH=str(library), PYTHONPATH=str(root / "usr/lib/python3/dist-packages"))
    made = run([root / "usr/bin/ming", "compile", root / EXAMPLE / "model.onnx", "-o", folder / "p"])
    cases.check("ming compile", made.returncode == 0, made.stderr)
    program = f"""import ming, numpy
design = ming.compile('{root / EXAMPLE}/model.onnx', '{folder}/q', ming.Config(device='zcu102'))
numpy.save('{folder}/y.npy', design.predict(numpy.load('{root / EXAMPLE}/input.npy')))
"""
    made = run(["/usr/bin/python3", "-c", program + OUTPUT.format(root / EXAMPLE)], env=env, cwd=folder)
    cases.check("python3-ming", made.returncode == 0, made.stderr)


def step(cases, name, root, *command):
    begin = time.time()
    made = run(["chroot", root, *command], stdin=subprocess.DEVNULL)
    print(f"{name}: {time.time() - begin:.1f} s")
    cases.check(name, made.returncode == 0, made.stdout[-1000:] + made.stderr[-2000:])


def check_installed(cases, packages, root):
    """A system that has nothing but what debootstrap installs."""
    target = root / "packages"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for package in packages:
        shutil.copy(package, target)
    # No sandbox: the user _apt may not read the folder of the packages.
    apt = "DEBIAN_FRONTEND=noninteractive apt-get -q -o APT::Sandbox::User=root"
    step(cases, "apt-get update", root, "sh", "-c", f"{apt} update")
    step(cases, "install packages with what they need", root, "sh", "-c",
         f"{apt} install -y --no-install-recommends /packages/*.deb")
    example = f"/{EXAMPLE}"
    five = re.search(r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text(), re.S)[1]
    (root / "five.py").write_text(five + f"numpy.save('y.npy', scores)\n{OUTPUT.format(example)}\n"
                                 "assert open('project/report.html').read().startswith('<!DOCTYPE html>')\n")
    step(cases, "five lines of Python", root, "sh", "-c",
         f"rm -rf /w && cp -r {example} /w && cd /w && python3 /five.py")
    step(cases, "man page, completion", root, "sh", "-c",
         "zcat /usr/share/man/man1/ming-compile.1.gz | grep -q device && "
         "test -e /usr/share/bash-completion/completions/ming")
    step(cases, "remove", root, "sh", "-c", f"{apt} purge -y ming ming-data libming0 libming-dev python3-ming "
         "&& ! ls /usr/share/ming /usr/bin/ming 2>/dev/null")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--packages", type=pathlib.Path, help="folder of packages that are made already")
    parser.add_argument("--root", type=pathlib.Path)
    options = parser.parse_args()
    cases = Cases()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_lists(cases, Installation(options.tools.resolve().parent, folder / "installed"))
        check_version(cases)
        packages = build_packages(cases, folder) if options.build else []
        if options.packages:
            packages = sorted(path for path in options.packages.glob("*.deb") if "dbgsym" not in path.name)
        if packages:
            check_unpacked(cases, packages, folder)
        if packages and options.root:
            check_installed(cases, packages, options.root.resolve())
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
