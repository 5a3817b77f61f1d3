"""Models that suites compile to designs, and how they count what comes of one."""
import os
import pathlib
import random
import re
import subprocess

import gen_graphs
import gen_kernels
import gen_linalg
from run_check import Failure, command

ROOT = pathlib.Path(__file__).resolve().parents[2]
REFUSED = object()


class Refusal(Exception):
    """A model that does not compile to a design."""


def judge(name, check):
    """What check() returns; REFUSED, or None if it fails, which is printed."""
    try:
        return check()
    except Refusal as refusal:
        print(f"REFUSED {name}: {refusal}", flush=True)
        return REFUSED
    except (Failure, OSError, ValueError, KeyError, subprocess.TimeoutExpired) as failure:
        print(f"FAIL {name}: {failure}", flush=True)
        return None


def compile_exactly(tools, folder, dsp, *options):
    """Compiles folder/model.mlir to folder/hls with FIFOs without slack and that many DSP, or those
    that are named if no design fits them."""
    try:
        command(tools / "ming", "compile", folder / "model.mlir", "-o", folder / "hls", "--top=net",
                "--fifo-slack=exact", "--residual=all", f"--dsp={dsp}", "--bram=4000", *options)
    except Failure as failure:
        needed = re.search(r"the smallest design needs (\d+) DSP", str(failure))
        if not needed and " error: " in str(failure):
            raise Refusal(str(failure).split(" error: ", 1)[1]) from None
        if not needed:
            raise
        compile_exactly(tools, folder, int(needed[1]), *options)


def chain_of_cards(*links):
    """A system file: U280s in a chain, with the attributes of the link behind each."""
    cards = "".join(f'<card name="c{i}" device="u280"/>' for i in range(len(links) + 1))
    cables = "".join(f'<link from="c{i}.eth0" to="c{i + 1}.eth1" {link}/>'
                     for i, link in enumerate(links))
    return f'<system name="chain">{cards}{cables}</system>'


def named_models(networks=None):
    """Paths by name: the examples, and the networks (if given, only these) and kernels of
    MING_MODELS and MING_MLIR."""
    models = {path.name: path / "model.onnx" for path in (ROOT / "examples").iterdir()
              if (path / "model.onnx").exists()}
    for variable, pattern in (("MING_MODELS", "*/model.onnx"),
                              ("MING_MLIR", "kernels/*/model.mlir")):
        if os.environ.get(variable):
            found = sorted(pathlib.Path(os.environ[variable]).glob(pattern))
            models |= {path.parent.name: path for path in found
                       if variable == "MING_MLIR" or not networks or path.parent.name in networks}
        else:
            print(f"note: {variable} is not set; its models are left out")
    return models


def random_models(folder, seed, count, options):
    """Name, path and one of the options of as many kernels, and graphs, written to the folder."""
    for generator in (gen_kernels, gen_graphs):
        for index in range(count):
            model = generator.generate(seed, index)
            gen_linalg.write_model(model, folder / model.name)
            chosen = random.Random(f"{seed} {model.name}").choice(options)
            yield f"{model.name} {' '.join(chosen)}".strip(), folder / model.name / "model.mlir", chosen
