"""ONNX Runtime as an oracle, where a folder with its Node.js package is named by
the environment variable MING_ORT. It is run without graph optimizations."""
import os
import pathlib
import shutil
import subprocess

import numpy as np

SCRIPT = pathlib.Path(__file__).resolve().parent / "onnx_runtime.js"
TIMEOUT = 120                                           # seconds


class RuntimeFailure(Exception):
    """What ONNX Runtime says of a model, in one line."""


def folder():
    """Where the package is installed, or None."""
    named = os.environ.get("MING_ORT")
    package = pathlib.Path(named or "/nowhere") / "node_modules" / "onnxruntime-node"
    return named if shutil.which("node") and package.is_dir() else None


def run(model, frames, work, images=1, precise=False):
    """The output for each of the float frames, flat, one after the other; the model
    takes so many of them at once. precise: as onnx_runtime.js has it."""
    source, target = work / "ort_x.bin", work / "ort_y.bin"
    source.write_bytes(np.ascontiguousarray(frames, np.float32).tobytes())
    done = subprocess.run(["node", SCRIPT, folder(), model, source, target, str(int(precise)),
                           str(images), *map(str, frames.shape[1:])],
                          capture_output=True, encoding="utf-8", errors="replace",
                          timeout=TIMEOUT, check=False)
    if done.returncode:
        raise RuntimeFailure(done.stderr.strip().split("\n")[0])
    return np.frombuffer(target.read_bytes(), np.float32)
