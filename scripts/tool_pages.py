#!/usr/bin/env python3
"""Manual pages and shell completions of the tools, from the tables of their options.

    tool_pages.py --version=V --output=FOLDER --manuals=ming,ming-opt,… TOOL...

Writes FOLDER/<tool>.1, one for each command of ming as well (ming-compile.1), FOLDER/ming.bash and
FOLDER/_ming. The manuals must be those that the build is going to install. Each TOOL is run with --dump-options. Standard library only; the build runs it.
"""
import argparse
import json
import pathlib
import subprocess
import sys

# What a value's word stands for, where a shell can complete it.
FILES = {"file", "file.npy", "[name=]file.npy", "dir", "svg", "json"}
SEE = {"ming-lsp-server": "gives editors diagnostics, hover, completion, definitions and references of values and "
                          "symbols; an editor starts it. See lsp.md among the pages of ming.",
       "ming-opt": "reads IR in MLIR's text, verifies it, runs passes on it and prints it.",
       "ming-translate": "turns ONNX files into IR, and designs of the emithls dialect into projects of C++ "
                         "or Verilog."}


def dump(command):
    run = subprocess.run([*command, "--dump-options"], check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


def read_tools(paths):
    """(tables of the tools by name, tables of the commands of ming by name)"""
    tools, commands = {}, {}
    for path in paths:
        table = dump([path])
        tools[pathlib.Path(path).name] = table
        for row in table.get("commands", ()):
            commands[row["name"]] = dump([path, row["name"]])
            commands[row["name"]]["summary"] = row["summary"]
    return tools, commands


# Manual pages

def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...").replace("'", "\\(aq")
    return "\\&" + text if text.startswith((".", "'")) else text


def spelled(option):
    """An option as one writes it, in the fonts of a manual page."""
    name, value, kind = option["name"], option["value"], option["kind"]
    dashes = "-" if len(name) == 1 else "--"
    text = f"\\fB{roff(dashes + name)}\\fR"
    if not value:
        return text
    shown = f"\\fB{roff(value)}\\fR" if kind == "choice" else f"\\fI{roff(value)}\\fR"
    if kind.startswith("optional"):
        return f"{text}[={shown}]"
    return f"{text} {shown}" if len(name) == 1 else f"{text}={shown}"


def man_page(name, table, version, pages, about):
    out = [f'.TH {roff(name).upper()} 1 "" "ming {version}" "User Commands"', ".SH NAME",
           f"{roff(name)} \\- {roff(about)}", ".SH SYNOPSIS",
           f".B {roff(table['name'])}", roff(table["usage"]), ".SH DESCRIPTION",
           f".B {roff(table['name'])}"]
    out += [roff(SEE.get(name, about + "."))]
    if "commands" in table:
        out += [".SH COMMANDS"]
        for row in table["commands"]:
            out += [".TP", f"\\fB{roff(row['name'])}\\fR",
                    f"{roff(row['summary'])}; see \\fBming\\-{roff(row['name'])}\\fR(1)"]
    out += [".SH OPTIONS"]
    for option in table["options"]:
        out += [".TP", spelled(option), roff(option["help"])]
    if "passes" in table:
        out += [".SH PASSES", "Each pass is an option as well, which may be given options of its own in "
                "braces as a value."]
        for row in table["passes"]:
            out += [".TP", f"\\fB\\-\\-{roff(row['name'])}\\fR", roff(row["summary"])]
    out += [".SH EXIT STATUS", "0 if all went well, 1 after an error, which is told on standard error.",
            ".SH SEE ALSO"]
    others = [page for page in pages if page != name]
    out += [f".BR {roff(page)} (1){',' if page != others[-1] else ''}" for page in others]
    return "\n".join(out) + "\n"


def write_manuals(folder, tools, commands, version):
    pages = sorted([*tools, *(f"ming-{name}" for name in commands)])
    for name, table in tools.items():
        about = table["summary"].partition(": ")[2]
        (folder / f"{name}.1").write_text(man_page(name, table, version, pages, about))
    for name, table in commands.items():
        (folder / f"ming-{name}.1").write_text(
            man_page(f"ming-{name}", table, version, pages, table["summary"]))


# Completion

def words_of(table):
    """Options with the end that tells whether a value follows."""
    for option in table["options"]:
        name, kind = option["name"], option["kind"]
        needs = bool(option["value"]) and not kind.startswith("optional") and len(name) > 1
        yield ("-" if len(name) == 1 else "--") + name + ("=" if needs else "")
    for row in table.get("passes", ()):
        yield "--" + row["name"]


def values_of(option):
    """How bash completes a value: words, files, devices, or nothing."""
    if option["kind"] == "choice":
        return f"words {option['value'].replace('|', ' ')}"
    if option["name"] in ("device", "devices"):
        return "devices"
    return "files" if option["value"] in FILES else "none"


def bash_function(name, table):
    lines = [f"__ming_{name.replace('-', '_')}()", "{", "    case $1 in"]
    for option in table["options"]:
        if option["value"]:
            dashes = "-" if len(option["name"]) == 1 else "--"
            lines.append(f"        {dashes}{option['name']}) echo '{values_of(option)}' ;;")
    words = " ".join(words_of(table))
    lines += [f"        '') echo '{words}' ;;", "        *) echo none ;;", "    esac", "}", ""]
    return lines


BASH_TAIL = r"""# __ming_values PREFIX WORD KIND [WORDS]: completes the value of an option.
__ming_values()
{
    local prefix=$1 word=$2 kind=$3
    shift 3
    case $kind in
        words) mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "$*" -- "$word") ;;
        devices)
            mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "$(ming devices 2>/dev/null |
                awk '/^[a-z0-9]/ && NR > 1 { print $1 }')" -- "$word") ;;
        files)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -P "$prefix" -f -- "$word") ;;
    esac
}

# __ming_options FUNCTION: completes options, their values, and files.
__ming_options()
{
    local line=${COMP_LINE:0:COMP_POINT} word name prefix=
    word=${line##*[[:space:]]}
    COMPREPLY=()
    if [[ $word == -*=* ]]; then
        name=${word%%=*}
        [[ $COMP_WORDBREAKS == *=* ]] || prefix=$name=
        __ming_values "$prefix" "${word#*=}" $("$1" "$name")
    elif [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$1" '')" -- "$word")
        [[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
    elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == -? ]]; then
        __ming_values '' "$word" $("$1" "${COMP_WORDS[COMP_CWORD - 1]}")
    else
        __ming_values '' "$word" files
    fi
}
"""


def write_bash(path, tools, commands):
    lines = ["# Completion of ming's tools for bash, made of the tables of their options.", ""]
    for name, table in commands.items():
        lines += bash_function(f"command_{name}", table)
    for name, table in tools.items():
        lines += bash_function(f"tool_{name}", table)
    lines += [BASH_TAIL]
    names = " ".join(commands)
    lines += ["_ming()", "{", "    if ((COMP_CWORD == 1)) && [[ ${COMP_WORDS[1]} != -* ]]; then",
              f"        mapfile -t COMPREPLY < <(compgen -W '{names} help' -- \"${{COMP_WORDS[1]}}\")",
              "        return", "    fi", "    case ${COMP_WORDS[1]} in"]
    lines += [f"        {name}) __ming_options __ming_command_{name.replace('-', '_')} ;;"
              for name in commands]
    lines += [f"        help) mapfile -t COMPREPLY < <(compgen -W '{names}' -- \"${{COMP_WORDS[2]}}\") ;;",
              "        -*) __ming_options __ming_tool_ming ;;", "    esac", "}", "complete -F _ming ming"]
    for name in tools:
        if name == "ming":
            continue
        symbol = name.replace("-", "_")
        lines += [f"_{symbol}()", "{", f"    __ming_options __ming_tool_{symbol}", "}",
                  f"complete -F _{symbol} {name}"]
    path.write_text("\n".join(lines) + "\n")


def zsh_quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh_specs(table):
    for option in table["options"]:
        name, value, kind = option["name"], option["value"], option["kind"]
        about = option["help"].translate(str.maketrans({"[": "\\[", "]": "\\]", ":": "\\:", "\\": "\\\\"}))
        dashes = "-" if len(name) == 1 else "--"
        if not value:
            yield f"{dashes}{name}[{about}]"
            continue
        tail = "+" if len(name) == 1 else "=-"
        action = "_files" if option["value"] in FILES else ""
        if kind == "choice":
            action = "(" + value.replace("|", " ") + ")"
        if name in ("device", "devices"):
            action = "_ming_devices"
        colons = "::" if kind.startswith("optional") else ":"
        yield f"{'*' if kind == 'texts' else ''}{dashes}{name}{tail}[{about}]{colons}value:{action}"
    for row in table.get("passes", ()):
        yield f"--{row['name']}=-[pass]::options:"
    yield "*:file:_files"


def zsh_case(name, table):
    return [f"    {name})", "        _arguments \\",
            *(f"            {zsh_quote(spec)} \\" for spec in zsh_specs(table)), "            ;;"]


def write_zsh(path, tools, commands):
    lines = [f"#compdef {' '.join(tools)}",
             "# Completion of ming's tools for zsh, made of the tables of their options.", "",
             "_ming_devices() {",
             "    local -a names",
             "    names=(${(f)\"$(ming devices 2>/dev/null | awk '/^[a-z0-9]/ && NR > 1 { print $1 }')\"})",
             "    compadd -a names", "}", "", "local -a commands", "commands=("]
    lines += [f"    {zsh_quote(name + ':' + table['summary'])}" for name, table in commands.items()]
    lines += [")", "", "local what=$service", "if [[ $service == ming ]]; then",
              "    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then",
              "        _describe command commands", "        return", "    fi",
              "    if [[ $words[2] != -* ]]; then", "        what=\"ming $words[2]\"",
              "        shift words", "        (( CURRENT-- ))", "    fi", "fi", "case $what in"]
    for name, table in tools.items():
        lines += zsh_case(name, table)
    for name, table in commands.items():
        lines += zsh_case(f"'ming {name}'", table)
    lines += ["esac"]
    path.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--manuals", required=True)
    parser.add_argument("tools", nargs="+")
    options = parser.parse_args()
    tools, commands = read_tools(options.tools)
    made = {*tools, *(f"ming-{name}" for name in commands)}
    if made != set(options.manuals.split(",")):
        sys.exit(f"tools/meson.build lists other manuals than {' '.join(sorted(made))}")
    options.output.mkdir(parents=True, exist_ok=True)
    write_manuals(options.output, tools, commands, options.version)
    write_bash(options.output / "ming.bash", tools, commands)
    write_zsh(options.output / "_ming", tools, commands)


if __name__ == "__main__":
    main()
