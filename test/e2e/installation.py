"""An installation of a build in a folder, for suites that use what is installed."""
import json
import os
import pathlib
import subprocess


def option(build, name):
    """Value of an option of a build folder."""
    options = json.loads((pathlib.Path(build) / "meson-info/intro-buildoptions.json").read_text())
    return next(row["value"] for row in options if row["name"] == name)


class Installation:
    """A build installed below a folder as DESTDIR. Its prefix may be moved."""

    def __init__(self, build, folder):
        self.build = pathlib.Path(build)
        self.prefix = pathlib.Path(folder) / option(build, "prefix").lstrip("/")
        self.libdir = self.prefix / option(build, "libdir")
        self.sanitize = option(build, "b_sanitize")
        self.has_coverage = option(build, "b_coverage")
        self.destdir = pathlib.Path(folder)
        subprocess.run(["meson", "install", "-C", self.build, "--no-rebuild", "--quiet", "--destdir",
                        self.destdir], check=True, stdout=subprocess.DEVNULL)

    def flags(self, *options):
        """What pkg-config says, for programs built against the folder."""
        env = dict(os.environ, PKG_CONFIG_PATH=str(self.libdir / "pkgconfig"),
                   PKG_CONFIG_SYSROOT_DIR=str(self.destdir))
        run = subprocess.run(["pkg-config", *options, "libming"], env=env, check=True,
                             capture_output=True, text=True)
        # The sysroot is not that of the libraries beside libming.
        system = str(self.destdir) + "/usr/"
        ours = str(self.prefix)
        return [flag if ours in flag else flag.replace(system, "/usr/") for flag in run.stdout.split()]

    def compile_program(self, source, program, *flags, static=False):
        """A program that uses the installed library, built with the sanitizers of the build."""
        checks = [] if self.sanitize == "none" else [f"-fsanitize={self.sanitize}"]
        libs = self.flags("--libs", *["--static"] * static)
        if static:
            libs = [str(self.libdir / "libming.a") if flag == "-lming" else flag for flag in libs]
            libs += ["-lgcov"] * self.has_coverage
        else:
            libs.append(f"-Wl,-rpath,{self.libdir}")
        subprocess.run(["cc", "-std=c17", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra",
                        "-Wpedantic", "-Werror", "-g", *checks, *flags, *self.flags("--cflags"), source,
                        "-o", program, *libs, "-pthread"], check=True)


class Cases:
    """Counts cases that hold, and prints the others."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, holds, detail=""):
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED: {name}\n{detail}".rstrip())
        return holds

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return self.failed > 0


def same_folders(one, other):
    """Names of files that differ between two folders."""
    files = {folder: {str(path.relative_to(folder)): path.read_bytes()
                      for path in sorted(pathlib.Path(folder).rglob("*")) if path.is_file()}
             for folder in (one, other)}
    names = files[one].keys() | files[other].keys()
    return sorted(name for name in names if files[one].get(name) != files[other].get(name))
