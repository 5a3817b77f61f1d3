#!/usr/bin/python3
"""Stands for v++ and vitis-run in tests of projects for cards: checks that every option and every key of the
configurations is one that their manuals have (UG1393, UG1399), that kernels and streams of a link are there,
and makes the files that the tools would make. MING_STUB_LACKS=xo: packages nothing."""
import os
import pathlib
import re
import sys

HLS_KEYS = {"flow_target", "clock", "syn.top", "syn.file", "syn.cflags", "tb.file", "tb.cflags", "csim.O",
            "syn.compile.enable_auto_rewind", "package.output.format", "package.output.syn",
            "package.output.file", "syn.interface.m_axi_max_widen_bitwidth"}
LINK_KEYS = {"connectivity": {"nk", "stream_connect", "slr", "sp"}, "clock": {"defaultFreqHz"}, "vivado": {"prop"}}


def fail(*words):
    sys.exit("stub: " + " ".join(map(str, words)))


def read_config(path):
    section, rows = "", []
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        line = line.strip()
        if line.startswith("["):
            section = line[1:-1]
        elif line and not line.startswith("#"):
            key, equals, value = line.partition("=")
            if not equals:
                fail("no value in", line)
            rows.append((section, key, value))
    return rows


def hls(options):
    rows = read_config(options["--config"])
    for section, key, value in rows:
        if (section, key) != ("", "part") and (section != "hls" or key not in HLS_KEYS):
            fail("unknown key", section, key)
        if key.endswith(".file") and key.startswith("syn") and not pathlib.Path(value).is_file():
            fail("no file", value)
    return {key: value for _, key, value in rows}


def compile_kernel(options):
    config = hls(options)
    source = pathlib.Path(next(v for _, k, v in read_config(options["--config"]) if k == "syn.file")).read_text()
    if not re.search(rf"^void {config['syn.top']}\(", source, re.M) or config["flow_target"] != "vitis":
        fail("no kernel", config["syn.top"])
    pathlib.Path(options["--work_dir"]).mkdir(exist_ok=True)


def package(options):
    config = hls(options)
    if config["package.output.format"] != "xo" or not pathlib.Path(options["--work_dir"]).is_dir():
        fail("nothing to package")
    if os.environ.get("MING_STUB_LACKS") != "xo":
        source = next(v for _, k, v in read_config(options["--config"]) if k == "syn.file")
        text = pathlib.Path(source).read_text()
        signature = re.search(rf"^void {config['syn.top']}\(([^)]*)\)", text, re.M).group(1)
        pathlib.Path(config["package.output.file"]).write_text(config["syn.top"] + "\n" + " ".join(signature.split()))


def link(options, files):
    kernels = {}
    for file in files:
        name, signature = pathlib.Path(file).read_text().split("\n")
        kernels[name] = signature
    instances = {}
    for section, key, value in read_config(options["--config"]):
        if key not in LINK_KEYS.get(section, ()):
            fail("unknown key", section, key)
        if key == "nk":
            kernel, count, name = value.split(":")
            if kernel not in kernels or count != "1":
                fail("no kernel", value)
            instances[name] = kernels[kernel]
        if key == "slr" and (value.split(":")[0] not in instances or not re.fullmatch(r"SLR\d", value.split(":")[1])):
            fail("slr", value)
        if key == "stream_connect":
            ends = [end.split(".") for end in value.split(":")]
            kinds = [re.search(rf"hls::stream<([^&]*)> &{port}\b", instances[name]) for name, port in ends]
            if len(ends) != 2 or not all(kinds) or kinds[0].group(1) != kinds[1].group(1):
                fail("stream_connect", value)
        if key == "defaultFreqHz" and not 10**7 <= int(value) <= 10**9:
            fail("clock", value)
    if len(instances) != len(kernels):
        fail("kernels without an instance")
    for prop in options.get("--vivado.prop", []):
        script = prop.partition("TCL.POST=")[2]
        if not pathlib.Path(script).is_absolute() or not pathlib.Path(script).is_file():
            fail("prop", prop)
    pathlib.Path(options["-o"]).write_text(options["--platform"] + " " + options["--target"])


def main():
    words, options, files, modes = sys.argv[1:], {}, [], set()
    while words:
        word = words.pop(0)
        if word in ("-c", "--link", "--package"):
            modes.add(word)
        elif word in ("--mode", "--config", "--work_dir", "--target", "--platform", "-o"):
            options[word] = words.pop(0)
        elif word == "--vivado.prop":
            options.setdefault(word, []).append(words.pop(0))
        elif word.startswith("-"):
            fail("unknown option", word)
        else:
            files.append(word)
    if modes == {"--link"}:
        link(options, files)
    elif modes in ({"-c"}, {"--package"}) and options.get("--mode") == "hls" and not files:
        (compile_kernel if modes == {"-c"} else package)(options)
    else:
        fail("modes", *sorted(modes))


main()
