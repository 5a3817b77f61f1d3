#!/usr/bin/env python3
"""Whether exit statuses and messages agree: a command succeeds if and only if no line on its
standard error says `error:`, and it fails with status 1 if its standard output takes nothing.
On a terminal, work of more than a second shows a line of progress and erases it; elsewhere, never.

    test/e2e/status_check.py --tools=build/tools

The last line counts the cases.
"""
import argparse
import fcntl
import os
import pathlib
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import time

GOOD = """func.func @f(%x: tensor<4x8xi8>) -> tensor<4x8xi8> {
  %e = tensor.empty() : tensor<4x8xi8>
  %y = linalg.add ins(%x, %x : tensor<4x8xi8>, tensor<4x8xi8>)
                  outs(%e : tensor<4x8xi8>) -> tensor<4x8xi8>
  return %y : tensor<4x8xi8>
}
"""
NETWORK = """func.func @f(%x: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %y = "onnx.Relu"(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32>
  return %y : tensor<1x8xf32>
}
"""
SECONDS = 3  # of a run that is to show its progress, which comes after one
SLOW = """func.func @f(%x: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %e = tensor.empty() : tensor<128x128xf32>
  %y = linalg.matmul ins(%x, %x : tensor<128x128xf32>, tensor<128x128xf32>)
                     outs(%e : tensor<128x128xf32>) -> tensor<128x128xf32>
  return %y : tensor<128x128xf32>
}
"""
REFUSED = NETWORK.replace("onnx.Relu", "onnx.NonZero")


def cases(folder):
    """Names of commands with their arguments; whether each is to succeed (None: either)."""
    good, network, refused, bad, out = (str(folder / name) for name in (
        "good.mir", "network.mir", "refused.mir", "bad.mir", "out"))
    x = str(folder / "x.npy")
    none = str(folder / "none")
    yield True, ["ming", "compile", good, "-o", out]
    yield True, ["ming", "compile", network, "-o", str(folder / "a" / "b")]
    yield True, ["ming", "sim", out]
    yield True, ["ming", "sim", out, f"--svg={folder}/s.svg", f"--vcd={folder}/s.vcd"]
    yield True, ["ming", "sim", out, "--vcd=-", "--vcd-limit=3"]
    yield False, ["ming", "sim", out, "--vcd-signals=f"]
    yield False, ["ming", "sim", out, f"--vcd={folder}/s.vcd", "--vcd-signals=none"]
    yield False, ["ming", "sim", out, f"--svg={none}/s.svg"]
    yield True, ["ming", "explore", good]
    yield True, ["ming", "explore", good, "--points=2", f"--svg={folder}/f.svg"]
    yield False, ["ming", "explore", good, "--points=2", f"--svg={none}/f.svg"]
    yield True, ["ming", "check", network]
    yield True, ["ming", "check", good]
    yield False, ["ming", "check", good, f"--partition-out={folder}/p.json"]
    yield True, ["ming", "check", network, "--json"]
    yield True, ["ming", "run", good, f"--input={x}", f"--output={folder}/y.npy"]
    yield True, ["ming", "devices"]
    yield True, ["ming", "compile", "--dump-pass-pipeline", good]
    yield True, ["ming-opt", good]
    yield True, ["ming-opt", "--show-dialects"]
    yield True, ["ming-translate", "--emit-hls", f"{out}/f.mir", f"--output-dir={folder}/again"]
    for tool in (["ming", "compile"], ["ming", "check"], ["ming", "explore"], ["ming", "report"],
                 ["ming", "run"], ["ming", "sim"], ["ming", "devices"], ["ming-opt"],
                 ["ming-translate"], ["ming"]):
        yield True, tool + ["--help"]
        yield True, tool + ["--version"]
        yield False, tool + ["--none"]
        yield False, tool + [none]
    yield False, ["ming", "compile", bad, "-o", str(folder / "c")]
    yield False, ["ming", "compile", refused, "-o", str(folder / "c")]
    yield False, ["ming", "compile", good, "-o", "/proc/none/x"]
    yield False, ["ming", "compile", good, "-o", str(folder / "c"), "--fps=100000000000"]
    yield False, ["ming", "compile", good, "-o", str(folder / "c"), "--device=none"]
    yield False, ["ming", "check", refused]
    yield False, ["ming", "check", refused, "--json"]
    yield False, ["ming", "check", bad]
    yield False, ["ming", "check", network, f"--partition-out={folder}/p.json"]
    yield False, ["ming", "check", network, f"--partition={none}"]
    yield False, ["ming", "explore", bad]
    yield True, ["ming", "report", out]
    yield False, ["ming", "report", out, "--json"]
    yield False, ["ming", "run", good, f"--input={none}"]
    yield False, ["ming", "run", bad]
    yield False, ["ming-opt", bad]
    yield False, ["ming-opt", good, "--verify-diagnostics", "--pass-pipeline=none"]
    yield False, ["ming-opt", good, "-o", f"{none}/x"]
    yield False, ["ming-translate", "--import-onnx", bad]
    yield False, ["ming-translate", "--emit-hls", good, f"--output-dir={folder}/d"]


def run(tools, command, **options):
    return subprocess.run([str(tools / command[0])] + command[1:], stderr=subprocess.PIPE,
                          text=True, timeout=300, check=False, **options)


def complaint(tools, command, succeeds):
    """What is wrong with a command; None: nothing."""
    done = run(tools, command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    said = "error:" in done.stderr
    if done.returncode not in (0, 1) or (done.returncode == 0) == said:
        return f"status {done.returncode}, stderr: {done.stderr.strip()[:300]}"
    if (done.returncode == 0) != succeeds:
        return f"status {done.returncode}: {done.stderr.strip()[:300]}"
    if not done.stdout or not succeeds:
        return None
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = run(tools, command, stdout=full, stdin=subprocess.DEVNULL)
    if done.returncode != 1 or "error: cannot write" not in done.stderr:
        return f"> /dev/full: status {done.returncode}, stderr: {done.stderr.strip()[:300]}"
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", str(tools / command[0])]
                          + command[1:], stderr=subprocess.PIPE, text=True, timeout=300,
                          check=False)
    if done.returncode != 1 or "error: cannot write" not in done.stderr:
        return f">&-: status {done.returncode}, stderr: {done.stderr.strip()[:300]}"
    return None


def npy(path, descr, shape, size):
    """An array of zeros."""
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (117 - len(head)) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode()
                     + bytes(size))


def on_terminal(tools, command, columns, **variables):
    """The exit status and what a terminal gets."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ.pop("CI", None)
        os.environ.update({"TERM": "xterm", **variables})
        fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execv(tools / command[0], [str(word) for word in command])
    shown = b""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the program has ended
            break
        if not piece:
            break
        shown += piece
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown.decode()


def slow_frames(tools, folder, command):
    """How many frames the command is to run for SECONDS; writes its input with as many."""
    frames = 16
    npy(folder / "slow.npy", "<f4", (128 * frames, 128), 4 * 128 * 128 * frames)
    start = time.monotonic()
    run(tools, command, stdout=subprocess.PIPE)
    frames = max(frames, int(frames * SECONDS / (time.monotonic() - start)))
    npy(folder / "slow.npy", "<f4", (128 * frames, 128), 4 * 128 * 128 * frames)
    return frames


def progress_complaints(tools, folder):
    """What is wrong with the line of progress, one item per case; None: nothing."""
    command = ["ming", "run", folder / "slow.mir", f"--input={folder}/slow.npy",
               f"--output={folder}/y.npy"]
    frames = slow_frames(tools, folder, command)
    status, shown = on_terminal(tools, command, 80)
    lines = shown.split("\r")
    is_right = (any(line.startswith("frame ") and line.endswith(" s") and f" of {frames}, " in line
                    for line in lines)
                and lines[-1] == "" and not lines[-2].strip() and "\n" not in shown
                and len(lines[-2]) == len(lines[-3] or lines[-4]))
    yield None if status == 0 and is_right else f"on a terminal: {status}, {shown!r}"
    status, shown = on_terminal(tools, command, 10)
    longest = max(map(len, shown.split("\r")))
    yield None if status == 0 and longest == 9 else f"on 10 columns: {status}, {shown!r}"
    for variables in {"TERM": "dumb"}, {"CI": "true"}:
        status, shown = on_terminal(tools, command, 80, **variables)
        yield None if status == 0 and not shown else f"with {variables}: {status}, {shown!r}"
    done = run(tools, command, stdout=subprocess.PIPE)
    yield None if done.returncode == 0 and not done.stderr else f"redirected: {done.stderr!r}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", default="build/tools", type=pathlib.Path)
    tools = parser.parse_args().tools.resolve()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file, text in {"good": GOOD, "network": NETWORK, "refused": REFUSED,
                           "slow": SLOW, "bad": "junk\n"}.items():
            (folder / f"{file}.mir").write_text(text, encoding="utf-8")
        npy(folder / "x.npy", "|i1", (4, 8), 32)
        for succeeds, command in cases(folder):
            wrong = complaint(tools, command, succeeds)
            passed += wrong is None
            failed += wrong is not None
            if wrong:
                print(f"{' '.join(command)}: {wrong}")
        for wrong in progress_complaints(tools, folder):
            passed += wrong is None
            failed += wrong is not None
            if wrong:
                print(f"progress {wrong}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
