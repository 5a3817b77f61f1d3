"""The loop of a suite: cases that each get a folder of their own."""
import pathlib
import subprocess
import tempfile


def run_cases(cases, failures):
    """Runs each check(folder) of (name, check) pairs. Prints those that raise one of `failures`, of files or
    of time, then how many passed and failed; whether one failed."""
    passed = failed = 0
    for name, check in cases:
        with tempfile.TemporaryDirectory(prefix="ming-") as folder:
            try:
                check(pathlib.Path(folder))
                passed += 1
            except (*failures, OSError, ValueError, subprocess.TimeoutExpired) as why:
                failed += 1
                print(f"FAIL {name}: {why}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed > 0
