#!/usr/bin/env python3
"""What is left on the disk when something goes wrong: a call fails or the process ends in the n-th
open, write, fsync, rename, close, mkdir or unlink, the memory ends at the n-th allocation, a signal
comes, processes write one folder at the same time and some of them are killed.

    test/e2e/fault_check.py --tools=build/tools
        --quick          every few calls and fewer processes only
        --processes=N    that many at the same time (default 4)
        --seed=N         of the moments at which processes are killed

A project's folder must be the old design or the new one, file for file, or have no report.json;
a file must be the old one or the new one. What fails says so in one line, with exit status 1; a
signal's status is the process's. Only what SIGKILL ends may leave temporary files, which the next
run removes. The last line counts the cases.

The faults come from fault_call.c, which is compiled here and loaded in front of the C library.
"""
import argparse
import concurrent.futures
import errno
import fcntl
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
MODEL = """func.func @{name}(%x: tensor<4x8xi8>) -> tensor<4x8xi8> {{
  %c = arith.constant dense<{value}> : tensor<4x8xi8>
  %e = tensor.empty() : tensor<4x8xi8>
  %y = linalg.add ins(%x, %c : tensor<4x8xi8>, tensor<4x8xi8>)
                  outs(%e : tensor<4x8xi8>) -> tensor<4x8xi8>
  return %y : tensor<4x8xi8>
}}
"""
LAYERS = """func.func @{name}(%x: tensor<4x8xi8>) -> tensor<4x8xi8> {{
  %c = arith.constant dense<{value}> : tensor<8x8xi8>
  %e = arith.constant dense<0> : tensor<4x8xi8>
  %y = linalg.matmul ins(%x, %c : tensor<4x8xi8>, tensor<8x8xi8>)
                     outs(%e : tensor<4x8xi8>) -> tensor<4x8xi8>
  %z = linalg.matmul ins(%y, %c : tensor<4x8xi8>, tensor<8x8xi8>)
                     outs(%e : tensor<4x8xi8>) -> tensor<4x8xi8>
  return %z : tensor<4x8xi8>
}}
"""
# What several processes write into one folder, of one model and another: files and folders that
# other outputs have not must be gone.
OUTPUTS = [["compile"], ["compile", "--cards=2", "--device=u280"], ["compile", "--platform=xrt", "--device=u280"],
           ["compile", "--platform=pynq", "--device=pynq-z1"], ["compile", "--emit=hls,verilog"],
           ["compile", "--interface=m_axi", "--device=u250"], ["compile", "--cards=2", "--device=u280", "--mode=dp",
            "--platform=xrt"],
           ["overlay", "--rows=4", "--cols=4"], ["overlay", "--rows=8", "--cols=8"]]
CALLS = ["open", "write", "fsync", "rename", "close", "mkdir", "unlink"]
TEMPORARY = re.compile(r"\.\d+\.\d+\.tmp$")
# lp_solve does not look everywhere whether it gets memory, and loses some where it does.
LIBRARY_CRASHES = {-signal.SIGSEGV, -signal.SIGABRT}
LIBRARY_FRAME = re.compile(r"#\d+ \S+ in (lin_solve|spx_\w+|solve_LP|make_lp|add_constraintex|add_columnex|mat_\w+|"
                           r"bfp_\w+|LUSOL_\w+) ")


class Place:
    """The tools, a folder for this run, and what has been counted."""

    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder
        self.passed = self.failed = 0
        self.library = folder / "fault_call.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self.library,
                        HERE / "fault_call.c", "-ldl"], check=True)

    def count(self, wrong, what):
        self.passed += wrong is None
        self.failed += wrong is not None
        if wrong:
            print(f"FAIL {what}: {wrong}", flush=True)

    def command(self, words):
        return [str(self.tools / words[0])] + [str(word) for word in words[1:]]

    def run(self, words, **faults):
        """The finished process; `is_hit` says whether the fault happened."""
        mark = self.folder / "hit"
        mark.unlink(missing_ok=True)
        env = dict(os.environ)
        if faults:
            env.update({f"FAULT_{name.upper()}": str(value) for name, value in faults.items()},
                       FAULT_MARK=str(mark), LD_PRELOAD=str(self.library),
                       ASAN_OPTIONS="verify_asan_link_order=0:allocator_may_return_null=1:"
                                    "fast_unwind_on_malloc=0")   # through libraries without frame pointers
        done = subprocess.run(self.command(words), env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              timeout=300, check=False)
        done.is_hit = mark.exists()
        return done


def contents(folder):
    """Every file with its bytes, without what is temporary, and without the marker of a project that
    is not whole, which means nothing beside a report."""
    found = {}
    for path, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not TEMPORARY.search(name)]
        for name in names:
            file = pathlib.Path(path) / name
            if not TEMPORARY.search(name):
                found[str(file.relative_to(folder))] = file.read_bytes()
    if "report.json" in found:
        found.pop(".incomplete", None)
    return found


def temporaries(folder):
    return [path.name for path in folder.rglob("*") if TEMPORARY.search(path.name)]


def renew(target, template):
    shutil.rmtree(target, ignore_errors=True)
    if template:
        shutil.copytree(template, target)


def exit_complaint(done, wanted_signal, changed_nothing_seen):
    """What is wrong with a status and its message; None: nothing."""
    lines = done.stderr.splitlines()
    errors = [line for line in lines if "error:" in line]
    if wanted_signal:
        if done.returncode == -wanted_signal and not lines:
            return None
    elif done.returncode == 0:
        if changed_nothing_seen and not errors:
            return None
    elif done.returncode == 1 and len(errors) == 1:
        return None
    return f"status {done.returncode}, stderr {done.stderr.strip()[:300]!r}"


def project_complaint(target, wholes):
    """Whether a folder is one whole project, or none and says so."""
    if not target.exists():
        return None
    found = contents(target)
    if "report.json" not in found or found in wholes:
        return None
    known = [sum(found.get(name) == data for name, data in whole.items()) for whole in wholes]
    return f"a mixture: {len(found)} files, of which {known} of {[len(w) for w in wholes]} agree"


def faults_of(nth):
    yield {"error": errno.ENOSPC, "nth": nth}
    yield {"error": errno.EIO, "nth": nth, "rest": 1}
    yield {"signal": int(signal.SIGKILL), "nth": nth}
    yield {"signal": int(signal.SIGTERM), "nth": nth}


def sweep_project(place, template, step):
    """Each call of a compilation into a folder that has a project, or is not there."""
    new = place.folder / "new"
    target = place.folder / "target" / "project"
    wholes = [contents(new)] + ([contents(template)] if template else [])
    compiles = ["ming", "compile", place.folder / "new.mir", "-o", target]
    for call in CALLS:
        nth, is_over = 1, False
        while not is_over:
            for fault in faults_of(nth):
                shutil.rmtree(target.parent, ignore_errors=True)
                target.parent.mkdir()
                renew(target, template)
                done = place.run(compiles, call=call, **fault)
                is_over = not done.is_hit
                if is_over:
                    break
                # What is whole in spite of the fault may well be a success.
                is_new = target.exists() and contents(target) == wholes[0]
                wrong = exit_complaint(done, fault.get("signal"), is_new)
                wrong = wrong or project_complaint(target, wholes)
                left = temporaries(target.parent)
                if left and call != "unlink" and fault.get("signal") != signal.SIGKILL:
                    wrong = wrong or f"left {left[:3]}"
                if not wrong and fault.get("signal") == signal.SIGKILL:
                    wrong = recovery_complaint(place, compiles, target, wholes[0])
                place.count(wrong, f"project, {'old' if template else 'none'}, {call} {fault}")
            nth += step


def recovery_complaint(place, compiles, target, whole):
    """Whether a run after a killed one gives the whole project and removes what was left."""
    done = place.run(compiles)
    if done.returncode != 0 or done.stderr:
        return f"afterwards: status {done.returncode}, {done.stderr.strip()[:300]}"
    if contents(target) != whole or temporaries(target.parent):
        return f"afterwards: not whole, or left {temporaries(target.parent)}"
    return None


def sweep_file(place, step):
    """Each call of a tool that writes one file over another one."""
    target = place.folder / "file" / "out.mir"
    shutil.rmtree(target.parent, ignore_errors=True)
    target.parent.mkdir()
    words = ["ming-opt", place.folder / "new.mir", "-o", target]
    place.run(words)
    whole = target.read_bytes()
    for call in CALLS:
        nth, is_over = 1, False
        while not is_over:
            for fault in faults_of(nth):
                target.write_bytes(b"old")
                target.chmod(0o640)
                done = place.run(words, call=call, **fault)
                is_over = not done.is_hit
                if is_over:
                    break
                found = target.read_bytes()
                wrong = exit_complaint(done, fault.get("signal"), found == whole)
                if found not in (b"old", whole):
                    wrong = wrong or f"{len(found)} bytes of {len(whole)}"
                if target.stat().st_mode & 0o777 != 0o640:
                    wrong = wrong or f"mode {target.stat().st_mode:o}"
                is_killed = fault.get("signal") == signal.SIGKILL
                if is_killed:
                    place.run(words)
                if temporaries(target.parent) and (is_killed or call != "unlink"):
                    wrong = wrong or f"left {temporaries(target.parent)}"
                for path in target.parent.iterdir():
                    path.unlink()
                place.count(wrong, f"file, {call} {fault}")
            nth += step


def is_library_crash(done):
    """Of a sanitizer's report the stack tells, of leaks each one's."""
    leaks = re.split(r"^(?:Direct|Indirect) leak", done.stderr, flags=re.MULTILINE)[1:]
    if leaks:
        return all(LIBRARY_FRAME.search(leak) for leak in leaks)
    if "AddressSanitizer:DEADLYSIGNAL" in done.stderr:
        return LIBRARY_FRAME.search(done.stderr) is not None
    return done.returncode in LIBRARY_CRASHES and "fatal error:" not in done.stderr


def sweep_memory(place, points):
    """No memory at the n-th allocation, and from there on; n spread over a compilation."""
    target = place.folder / "memory"
    template = place.folder / "old"
    wholes = [contents(place.folder / "new"), contents(template)]
    words = ["ming", "compile", place.folder / "new.mir", "-o", target]
    most = 1
    while place.run(words, call="malloc", nth=most * 2, error=errno.ENOMEM).is_hit:
        most *= 2
    crashes = 0
    for point in range(points):
        nth = 1 + point * 2 * most // points
        for rest in (0, 1):
            renew(target, template)
            done = place.run(words, call="malloc", nth=nth, rest=rest, error=errno.ENOMEM)
            if not done.is_hit:
                continue
            is_new = contents(target) == wholes[0]
            wrong = exit_complaint(done, None, is_new)
            is_crash = is_library_crash(done)
            if is_crash:
                crashes, wrong = crashes + 1, None
            wrong = wrong or project_complaint(target, wholes)
            if temporaries(target) and not is_crash:
                wrong = wrong or f"left {temporaries(target)}"
            place.count(wrong, f"allocation {nth}, rest {rest}")
    print(f"memory: {crashes} crashes inside of libraries")


def limited_memory(place):
    """A limit of address space instead of a shim; with a sanitizer it would be too small for that."""
    target = place.folder / "limited"
    limits = 8, 16, 24, 32, 48, 64, 128, 4096
    template = place.folder / "old"
    wholes = [contents(place.folder / "new"), contents(template)]
    words = place.command(["ming", "compile", place.folder / "new.mir", "-o", target])
    for limit in limits:
        renew(target, template)
        done = subprocess.run(["sh", "-c", f'ulimit -v {limit << 10}; exec "$@"', "sh"] + words,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              check=False)
        # Where the loader has no room it says so itself, with status 127.
        wrong = None if done.returncode == 127 else exit_complaint(done, None, True)
        place.count(wrong or project_complaint(target, wholes), f"limit of {limit} MiB")


def outputs_of(place, count):
    """Commands without their folder, and the contents of the projects that they write."""
    commands, wholes = [], []
    for i in range(count):
        model = place.folder / f"many{i}.mir"
        text = LAYERS if "--cards=2" in OUTPUTS[i % len(OUTPUTS)] else MODEL
        model.write_text(text.format(name=f"f{i % 3}", value=i), encoding="utf-8")
        words = OUTPUTS[i % len(OUTPUTS)]
        words = ["ming", words[0], *([model] if words[0] == "compile" else []), *words[1:]]
        done = place.run(words + ["-o", place.folder / f"many{i}"])
        place.count(done.stderr if done.returncode else None, f"{words}")
        commands.append(words)
        wholes.append(contents(place.folder / f"many{i}"))
    return commands, wholes


def compile_many(place, runs, kills, processes, seed):
    """Processes that write one folder, while another one looks at it whenever it has the lock."""
    drawn = random.Random(seed)
    commands, wholes = outputs_of(place, len(OUTPUTS) + 1 if runs < 100 else 2 * len(OUTPUTS) + 1)
    target = place.folder / "shared" / "project"
    target.parent.mkdir()
    killed = set(drawn.sample(range(runs), kills))
    longest = time_of(place, commands)

    def one(number):
        words = place.command(commands[number % len(commands)] + ["-o", target])
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   text=True)
        if number in killed:
            time.sleep(drawn.random() * longest)
            process.kill()
        said = process.communicate()[1]
        return number, process.returncode, said

    def look():
        """None if nothing is wrong or nothing is there."""
        try:
            fd = os.open(target, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            return project_complaint(target, wholes)
        finally:
            os.close(fd)

    ended = looks = 0
    with concurrent.futures.ThreadPoolExecutor(processes) as pool:
        for number, status, said in pool.map(one, range(runs)):
            good = status == 0 and "error:" not in said
            if number in killed:
                ended += status == -signal.SIGKILL
                good = good or status == -signal.SIGKILL
            place.count(None if good else f"status {status}: {said[:300]}", f"process {number}")
            if number % 10 == 0:
                looks += 1
                place.count(look(), f"folder after process {number}")
    done = place.run(commands[0] + ["-o", target])
    wrong = None if done.returncode == 0 and contents(target) == wholes[0] else done.stderr
    place.count(wrong, "folder at the end")
    left = temporaries(target.parent)
    place.count(f"{left}" if left else None, "left at the end")
    print(f"many: {runs} processes, {ended} killed in time, {looks} looks")


def time_of(place, commands):
    """The longest time that one of the commands takes."""
    longest = 0
    for words in commands:
        begin = time.monotonic()
        place.run(words + ["-o", place.folder / "timed"])
        longest = max(longest, time.monotonic() - begin)
    return longest


def links_complaint(place):
    """Links in the place of temporary files and of outputs are not followed, or kept."""
    folder = place.folder / "links"
    folder.mkdir()
    victim, real = folder / "victim", folder / "real.mir"
    victim.write_bytes(b"mine")
    real.write_bytes(b"old")
    (folder / "out.mir").symlink_to("real.mir")
    for pid in range(os.getpid(), os.getpid() + 2000):
        (folder / f"real.mir.{pid}.0.tmp").symlink_to("victim")
    done = place.run(["ming-opt", place.folder / "new.mir", "-o", folder / "out.mir"])
    if done.returncode != 0 or victim.read_bytes() != b"mine":
        return f"status {done.returncode}, victim {victim.read_bytes()[:40]}"
    if not (folder / "out.mir").is_symlink() or real.read_bytes() == b"old":
        return "the output's link is gone"
    return None


def parents_complaint(place):
    """Folders above a project that another process takes away are made again."""
    target = place.folder / "above" / "target"
    for nth in (1, 2):
        shutil.rmtree(target.parent, ignore_errors=True)
        done = place.run(["ming", "compile", place.folder / "new.mir", "-o", target], call="mkdir",
                         nth=nth, error=errno.ENOENT)
        if done.returncode != 0 or not done.is_hit or not (target / "report.json").exists():
            return f"mkdir {nth}: status {done.returncode}: {done.stderr[-300:]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tools", default="build/tools", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--processes", default=4, type=int)
    parser.add_argument("--seed", default=1, type=int)
    options = parser.parse_args()
    os.environ.pop("MING_SYNC", None)
    quick = options.quick
    with tempfile.TemporaryDirectory() as name:
        place = Place(options.tools.resolve(), pathlib.Path(name))
        for model, value in ("old", 3), ("new", 5):
            path = place.folder / f"{model}.mir"
            path.write_text(MODEL.format(name="f", value=value), encoding="utf-8")
            place.run(["ming", "compile", path, "-o", place.folder / model])
        is_sanitized = b"__asan_init" in (place.tools / "ming").read_bytes()
        sweep_project(place, place.folder / "old", 40 if quick else 1)
        sweep_project(place, None, 60 if quick else 1)
        sweep_file(place, 3 if quick else 1)
        sweep_memory(place, 10 if quick else 400)
        if not is_sanitized:
            limited_memory(place)
        place.count(links_complaint(place), "links")
        place.count(parents_complaint(place), "parents")
        compile_many(place, 30 if quick else 1000, 6 if quick else 200, options.processes,
                     options.seed)
        print(f"{place.passed} passed, {place.failed} failed")
        return 1 if place.failed else 0


if __name__ == "__main__":
    sys.exit(main())
