#!/usr/bin/env python3
"""ming-lsp-server as an editor uses it, and as nobody should.

    test/e2e/lsp_check.py --tools=build/tools

 1. Diagnostics with ranges and related information, in units of UTF-16, at each change; hover,
    completion, definition and references of values, symbols and ops, in texts that parse and in
    others.
 2. The life of the conversation: requests before initialize, after shutdown, exit statuses.
 3. Hostile bytes: truncated and senseless headers, a huge Content-Length, bad JSON, invalid UTF-8,
    positions and edits outside of the text; each is answered, or ends the server with status 1 and a
    message.
 4. Random edits: after each the diagnostics are those that ming-opt gives for the text.

The last line counts the cases.
"""
import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import time

from installation import Cases

TIMEOUT = 60
URI = "file:///d.mir"
TEXT = """// RUN: ming-opt --canon
func.func private @other(i32) -> i32

func.func @main(%a: i32 {dfg.name = "ö🙂"}, %t: tensor<4xf32>) -> i32 {
  %sum:2 = call @pair(%a) : (i32) -> (i32, i32)
  %b = arith.addi %sum#1, %a {overflowFlags = #arith.overflow<nsw>} : i32 // 🙂 %a
  %c = "arith.muli"(%b, %b) : (i32, i32) -> i32
  %d = call @other(%c) : (i32) -> i32
  return %d : i32
}
func.func @pair(%a: i32) -> (i32, i32) {
  cf.br ^end(%a : i32)
^end(%z: i32):
  return %z, %a : i32, i32
}
"""


class Server:
    """A server with a client that reads every answer."""

    def __init__(self, tools):
        self.process = subprocess.Popen([tools / "ming-lsp-server", "--stdio"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.next = 0

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode()
        self.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def read(self):
        length = None
        while (line := self.process.stdout.readline().strip()):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return json.loads(self.process.stdout.read(length)) if length is not None else None

    def notify(self, method, **params):
        self.send({"method": method, "params": params})

    def ask(self, method, **params):
        self.next += 1
        self.send({"id": self.next, "method": method, "params": params})
        answer = self.read()
        assert answer["id"] == self.next, answer
        return answer.get("result", answer.get("error"))

    def start(self):
        return self.ask("initialize", capabilities={}, processId=None, rootUri=None)

    def open(self, text, uri=URI):
        """The diagnostics of a text."""
        self.notify("textDocument/didOpen", textDocument={"uri": uri, "languageId": "mlir", "version": 1,
                                                          "text": text})
        return self.read()["params"]

    def change(self, version, *edits):
        self.notify("textDocument/didChange", textDocument={"uri": URI, "version": version},
                    contentChanges=list(edits))
        return self.read()["params"]

    def at(self, method, position, **more):
        return self.ask("textDocument/" + method, textDocument={"uri": URI}, position=position, **more)

    def finish(self, data=b""):
        """Exit status, what else was said, and standard error."""
        out, err = self.process.communicate(data, timeout=TIMEOUT)
        return self.process.returncode, out, err.decode(errors="replace")

    def stop(self):
        self.ask("shutdown")
        self.notify("exit")
        return self.finish()


def units(text):
    return len(text.encode("utf-16-le")) // 2


def place(text, offset):
    line = text.count("\n", 0, offset)
    return {"line": line, "character": units(text[text.rfind("\n", 0, offset) + 1:offset])}


def find(text, pattern, number=0):
    """The place of the group of an occurrence."""
    match = list(re.finditer(pattern, text))[number]
    return place(text, match.start(1))


def words(text, ranges):
    """What the text has at the ranges."""
    lines = text.split("\n")
    found = []
    for item in ranges:
        begin, end = item["range"]["start"], item["range"]["end"]
        assert begin["line"] == end["line"], item
        line = lines[begin["line"]].encode("utf-16-le")
        found.append((begin["line"], line[2 * begin["character"]:2 * end["character"]].decode("utf-16-le")))
    return found


def check_features(cases, tools):
    server = Server(tools)
    abilities = server.start()["capabilities"]
    cases.check("abilities", all(abilities[name] for name in (
        "hoverProvider", "definitionProvider", "referencesProvider", "completionProvider")))
    text = TEXT
    cases.check("no diagnostics", server.open(text)["diagnostics"] == [])

    def hover(pattern, number=0):
        return (server.at("hover", find(text, pattern, number)) or {}).get("contents", {}).get("value", "")

    def check_words(name, method, pattern, number, wanted, **more):
        got = sorted(words(text, server.at(method, find(text, pattern, number), **more)))
        cases.check(name, got == wanted, str(got))

    cases.check("hover of an op", "Integer sum" in hover(r"(arith\.addi)") and "`lhs`" in hover(r"arith(\.addi)"),
                hover(r"(arith\.addi)"))
    cases.check("hover of a quoted op", "arith.muli" in hover(r"a(rith\.muli)"))
    cases.check("hover of a value", "%b : i32" in hover(r"\((%b), %b"))
    cases.check("hover of a tensor", "tensor<4xf32>" in hover(r"(%)t:"))
    cases.check("hover of a symbol", "func.func private @other(i32) -> i32" in hover(r"call (@other)"))
    cases.check("hover of nothing", hover(r"(\n\n)") == "")
    check_words("definition of a value", "definition", r"addi %sum#1, (%a)", 0, [(3, "%a")])
    check_words("definition of another's", "definition", r"%z, (%a)", 0, [(10, "%a")])
    check_words("definition of a result", "definition", r"addi (%sum)#1", 0, [(4, "%sum")])
    check_words("definition of a symbol", "definition", r"call (@pair)", 0, [(10, "@pair")])
    check_words("definition in a block", "definition", r"return (%z)", 0, [(12, "%z")])
    check_words("references of a value", "references", r"main\((%a)", 0,
                [(3, "%a"), (4, "%a"), (5, "%a")], context={"includeDeclaration": True})
    check_words("references behind a definition", "references", r"(%b) =", 0, [(6, "%b"), (6, "%b")],
                context={"includeDeclaration": False})
    check_words("references of a symbol", "references", r"private (@other)", 0,
                [(1, "@other"), (7, "@other")], context={"includeDeclaration": True})
    check_words("definition of an op", "definition", r"(arith\.addi)", 0, [])

    def labels(position):
        return {item["label"] for item in server.at("completion", position)["items"]}

    def after(pattern):
        match = re.search(pattern, text)
        return place(text, match.end())

    cases.check("completion of ops", "arith.addi" in labels(after(r"= arith\.ad")) and
                "arith.subi" not in labels(after(r"= arith\.ad")))
    cases.check("completion of values", {"%a", "%b", "%sum", "%t"} <= labels(after(r"addi %")))
    cases.check("completion of symbols", {"@other", "@pair", "@main"} <= labels(after(r"= call @")))
    cases.check("completion of passes", labels(after(r"--canon")) == {"canonicalize"}, str(labels(after("--canon"))))
    cases.check("completion of attributes", "overflowFlags" in labels(after(r"%a \{over")))
    item = server.at("completion", after(r"= arith\.ad"))["items"][0]["textEdit"]
    cases.check("completion replaces", words(text, [item]) == [(5, "arith.ad")], str(item))
    cases.check("close", True)
    server.notify("textDocument/didClose", textDocument={"uri": URI})
    cases.check("close clears", server.read()["params"]["diagnostics"] == [])
    cases.check("closed", server.at("hover", {"line": 0, "character": 0})["code"] == -32602)
    status, _, errors = server.stop()
    cases.check("stop", status == 0 and errors == "", errors)


def check_diagnostics(cases, tools):
    server = Server(tools)
    server.start()
    text = "func.func @f() {\n  %s = \"🙂ö\"() : () -> i32 arith.lost\n}\n"
    found = server.open(text)["diagnostics"]
    cases.check("one diagnostic", len(found) == 1 and found[0]["severity"] == 1 and
                found[0]["source"] == "ming", str(found))
    redefined = "func.func @f(%a: i32) {\n  // 🙂🙂\n/**/  %a = arith.constant 1 : i32\n  return\n}\n"
    redefined = redefined.replace("/**/", "")
    params = server.change(2, {"text": redefined})
    found = params["diagnostics"]
    cases.check("version", params["version"] == 2)
    cases.check("range", words(redefined, found) == [(2, "%a")], str(found))
    related = found[0]["relatedInformation"]
    cases.check("related", [words(redefined, [row["location"]]) for row in related] == [[(0, "%a")]], str(found))
    wide = "func.func @f(%a: i32) {\n  %b = \"x.y\"(%a) {s = \"🙂🙂\"} : (i32) -> i64 %q\n}"
    server.change(3, {"text": wide})
    start = find(wide, r"(🙂)")
    end = {"line": start["line"], "character": start["character"] + 2}
    params = server.change(4, {"range": {"start": start, "end": end}, "text": "é"})
    fixed = wide.replace("🙂", "é", 1)
    column = params["diagnostics"][0]["range"]["start"]["character"]
    cases.check("edit in UTF-16", params["diagnostics"] and fixed.split("\n")[1][column - 1:column + 2], str(params))
    good = "func.func @f() {\n  return\n}\n"
    params = server.change(5, {"text": good})
    cases.check("repaired", params["diagnostics"] == [])
    # in a text that does not parse, what stands before the error is still known
    broken = TEXT.replace("call @other(%c)", "arith.lost %c")
    found = server.change(6, {"text": broken})["diagnostics"]
    cases.check("broken", len(found) == 1, str(found))
    got = words(broken, server.at("definition", find(broken, r"addi %sum#1, (%a)")))
    cases.check("definition in a broken text", got == [(3, "%a")], str(got))
    verify = "func.func @f(%a: i32) -> i64 {\n  return %a : i32\n}\n"
    found = server.change(7, {"text": verify})["diagnostics"]
    cases.check("verifier", words(verify, found) == [(1, "return")], str(found))
    for position in ({"line": 10 ** 9, "character": 10 ** 9}, {"line": -5, "character": -7}, {}):
        for method in ("hover", "completion", "definition", "references"):
            cases.check(f"{method} at {position}", "code" not in (server.at(method, position) or {}))
    params = server.change(8, {"range": {"start": {"line": 9, "character": 9}, "end": {"line": 0, "character": 0}},
                               "text": "x"})
    cases.check("reversed range", params["version"] == 8)
    params = server.change(9, {"text": ""})
    cases.check("empty", params["diagnostics"] == [] and server.at("completion", {"line": 0, "character": 0})["items"])
    status, _, errors = server.stop()
    cases.check("stop after diagnostics", status == 0 and errors == "", errors)


def check_many_places(cases, tools):
    """All places of a value are found in one walk: a walk for each took minutes on one line."""
    for name, blank in (("of lines", "\n"), ("of one line", " ")):
        text = "".join(f"%b{i} = arith.addi %a, %a : i64{blank}" for i in range(20000))
        text = f'func.func @f(%a: i64 {{dfg.name = "ö🙂"}}) {{{blank}{text}return{blank}}}'
        server = Server(tools)
        server.start()
        server.open(text)
        begin = time.monotonic()
        found = server.at("references", find(text, r"f\((%a)"), context={"includeDeclaration": True})
        seconds = time.monotonic() - begin
        cases.check(f"places {name}", len(found) == 40001, str(len(found)))
        cases.check(f"time of places {name}", seconds < TIMEOUT / 3, str(seconds))
        cases.check(f"words {name}", {word for _, word in words(text, found[::4999])} == {"%a"})
        cases.check(f"stop after places {name}", server.stop()[0] == 0)


def check_life(cases, tools):
    server = Server(tools)
    cases.check("before initialize", server.ask("textDocument/hover")["code"] == -32002)
    server.start()
    cases.check("initialize twice", server.start()["code"] == -32600)
    cases.check("unknown method", server.ask("textDocument/dance")["code"] == -32601)
    server.notify("textDocument/dance")
    server.ask("shutdown")
    cases.check("after shutdown", server.ask("textDocument/hover")["code"] == -32600)
    server.notify("exit")
    cases.check("exit", server.finish()[0] == 0)
    server = Server(tools)
    server.start()
    server.notify("exit")
    cases.check("exit without shutdown", server.finish()[0] == 1)
    run = subprocess.run([tools / "ming-lsp-server", "x.mir"], capture_output=True, text=True, input="")
    cases.check("a file", run.returncode == 1 and "no file is taken" in run.stderr)


def framed(body):
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def check_hostile(cases, tools):
    ends = {
        "nothing": b"", "half a header": b"Content-Le", "half a message": b"Content-Length: 100\r\n\r\n{",
        "no length": b"Content-Type: x\r\n\r\n{}", "a word": b"Content-Length: many\r\n\r\n{}",
        "negative": b"Content-Length: -5\r\n\r\n{}", "a long header": b"x" * 100000,
        "beyond 64 bits": b"Content-Length: 99999999999999999999999\r\n\r\n{}",
        "binary": bytes(range(256)) * 50,
    }
    for name, data in ends.items():
        status, _, errors = Server(tools).finish(data)
        cases.check(f"ends: {name}", status == 1 and errors.startswith("ming-lsp-server: error: "), errors)
    huge = Server(tools)
    huge.write(b"Content-Length: 999999999999\r\n\r\n{")
    cases.check("huge", huge.read()["error"]["code"] == -32600)
    cases.check("huge ends", huge.finish()[0] == 1)
    answered = {
        "no JSON": b"{", "an array": b"[1]", "a number": b"7", "invalid UTF-8": b'{"method": "\xff\xfe"}',
        "deep": b"[" * 100000, "no method": b'{"id": 1}', "a method of another kind": b'{"id": 1, "method": 5}',
        "an empty message": b"",
    }
    for name, data in answered.items():
        server = Server(tools)
        server.start()
        server.write(framed(data))
        cases.check(f"answered: {name}", "error" in server.read())
        cases.check(f"goes on: {name}", server.stop()[0] == 0)
    server = Server(tools)
    server.start()
    for params in ({}, {"textDocument": 5}, {"textDocument": {"uri": 7}}, [1], {"textDocument": {"uri": URI}}):
        for method in ("didOpen", "didChange", "didClose"):
            server.send({"method": "textDocument/" + method, "params": params})
    cases.check("senseless parameters", server.ask("textDocument/hover", textDocument=3)["code"] == -32602)
    nul = server.open("func.func @f() {\0\n  return\n}")
    cases.check("a NUL in a text is a blank", nul["diagnostics"] == [], str(nul))
    surrogate = json.dumps({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {
        "uri": URI, "version": 1, "text": "\ud800"}}}).encode()
    server.write(framed(surrogate))
    cases.check("half a surrogate", "error" in server.read())
    slow = framed(json.dumps({"jsonrpc": "2.0", "id": 99, "method": "textDocument/hover", "params": {
        "textDocument": {"uri": URI}, "position": {"line": 0, "character": 3}}}).encode())
    for byte in slow:
        server.write(bytes([byte]))
    cases.check("byte by byte", server.read()["id"] == 99)
    cases.check("stop after all", server.stop()[0] == 0)


def messages_of_opt(tools, text):
    """Lines and messages of the errors that ming-opt has for a text."""
    run = subprocess.run([tools / "ming-opt"], input=text, capture_output=True, text=True)
    return sorted((int(line), message) for line, message in
                  re.findall(r"^<stdin>:(\d+):\d+: error: (.*)$", run.stderr, re.M))


def check_edits(cases, tools, seed, count):
    rng = random.Random(seed)
    server = Server(tools)
    server.start()
    text = TEXT
    server.open(text)
    pieces = ["%a", "}", "{", "@pair", " : ", "arith.addi ", "i64", "🙂", '"', "\n", "é", "#1", ""]
    same = 0
    for version in range(2, 2 + count):
        begin = rng.randrange(len(text) + 1)
        end = min(len(text), begin + rng.choice([0, 0, 1, 3, 10]))
        piece = rng.choice(pieces)
        edit = {"range": {"start": place(text, begin), "end": place(text, end)}, "text": piece}
        found = server.change(version, edit)["diagnostics"]
        text = text[:begin] + piece + text[end:]
        got = sorted((row["range"]["start"]["line"] + 1, row["message"].split("\n")[0]) for row in found
                     if row["severity"] == 1)
        same += got == messages_of_opt(tools, text)
        server.at("hover", place(text, begin))
        server.at("completion", place(text, begin))
        server.at("references", place(text, begin))
        if rng.random() < 0.3:
            text = TEXT
            server.change(version, {"text": text})
    cases.check(f"edits of seed {seed}", same == count, f"{same} of {count}")
    cases.check("stop after edits", server.stop()[0] == 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    options = parser.parse_args()
    tools = options.tools.resolve()
    cases = Cases()
    check_features(cases, tools)
    check_diagnostics(cases, tools)
    check_life(cases, tools)
    check_hostile(cases, tools)
    check_many_places(cases, tools)
    check_edits(cases, tools, options.seed, options.count)
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
