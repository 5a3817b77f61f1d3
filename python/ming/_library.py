"""libming by ctypes: handles with owners, texts, arrays, and diagnostics as exceptions."""
import ctypes
import os
import pathlib
import threading
import warnings
from ctypes import POINTER, c_bool, c_char, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_void_p

SEVERITIES = ("error", "warning", "remark", "note")
HANDLER = ctypes.CFUNCTYPE(None, c_void_p, c_void_p)

# Results and arguments of the functions in ming/ming.h. Texts that the caller frees are c_void_p.
SIGNATURES = {
    "version": (c_char_p,),
    "free": (None, c_void_p),
    "context_create": (c_void_p,),
    "context_destroy": (None, c_void_p),
    "context_set_handler": (None, c_void_p, HANDLER, c_void_p),
    "diagnostic_severity": (c_int, c_void_p),
    "diagnostic_message": (c_char_p, c_void_p),
    "diagnostic_file": (c_char_p, c_void_p),
    "diagnostic_line": (c_uint32, c_void_p),
    "diagnostic_column": (c_uint32, c_void_p),
    "diagnostic_note_count": (c_size_t, c_void_p),
    "diagnostic_note": (c_void_p, c_void_p, c_size_t),
    "diagnostic_text": (c_char_p, c_void_p),
    "options_create": (c_void_p, c_void_p, c_char_p),
    "options_destroy": (None, c_void_p),
    "options_set": (c_bool, c_void_p, c_char_p, c_char_p),
    "load": (c_void_p, c_void_p, c_char_p, c_void_p),
    "parse": (c_void_p, c_void_p, c_char_p, c_size_t, c_char_p),
    "load_design": (c_void_p, c_void_p, c_char_p),
    "module_destroy": (None, c_void_p),
    "run_passes": (c_bool, c_void_p, c_char_p),
    "print": (c_void_p, c_void_p, c_bool, POINTER(c_size_t)),
    "ports": (c_void_p, c_void_p, c_char_p),
    "check": (c_void_p, c_void_p, c_char_p, c_void_p),
    "compile": (c_void_p, c_void_p, c_void_p, c_char_p),
    "report": (c_void_p, c_void_p),
    "report_page": (c_void_p, c_void_p, c_void_p, c_char_p),
    "array_create": (c_void_p, c_char, c_uint32, POINTER(c_int64), c_uint32, c_void_p),
    "array_destroy": (None, c_void_p),
    "array_kind": (c_char, c_void_p),
    "array_item": (c_uint32, c_void_p),
    "array_rank": (c_uint32, c_void_p),
    "array_shape": (POINTER(c_int64), c_void_p),
    "array_data": (c_void_p, c_void_p),
    "array_size": (c_size_t, c_void_p),
    "run": (c_void_p, c_void_p, c_void_p, POINTER(c_void_p), c_size_t),
    "simulate": (c_void_p, c_void_p, c_void_p, POINTER(c_void_p), c_size_t),
    "result_destroy": (None, c_void_p),
    "result_count": (c_size_t, c_void_p),
    "result_array": (c_void_p, c_void_p, c_size_t),
    "result_report": (c_char_p, c_void_p),
}


def _open_library():
    """libming.so.0: that of MING_LIBRARY, beside this file in a wheel, or where the loader finds it."""
    given = os.environ.get("MING_LIBRARY")
    bundled = pathlib.Path(__file__).parent / "lib" / "libming.so.0"
    library = ctypes.CDLL(given or (str(bundled) if bundled.exists() else "libming.so.0"))
    for name, (result, *arguments) in SIGNATURES.items():
        function = getattr(library, "ming_" + name)
        function.restype, function.argtypes = result, arguments
    return library


_LIB = _open_library()


def _call(name, *arguments):
    return getattr(_LIB, "ming_" + name)(*arguments)


def version():
    return _call("version").decode()


class Warning(UserWarning):
    """What ming warns of."""


class Diagnostic:
    """severity ("error", "warning", "remark", "note"), message, file, line, column (None where they
    are not known), notes, and text, as the command line shows all of it."""

    def __init__(self, handle):
        self.severity = SEVERITIES[_call("diagnostic_severity", handle)]
        self.message = _call("diagnostic_message", handle).decode(errors="replace")
        file = _call("diagnostic_file", handle)
        self.file = None if file is None else file.decode(errors="replace")
        self.line = _call("diagnostic_line", handle) or None
        self.column = _call("diagnostic_column", handle) or None
        self.text = _call("diagnostic_text", handle).decode(errors="replace")
        self.notes = [Diagnostic(_call("diagnostic_note", handle, index))
                      for index in range(_call("diagnostic_note_count", handle))]

    def __str__(self):
        return self.text.rstrip("\n")

    def __repr__(self):
        return f"Diagnostic({self.severity}: {self.message!r})"


class Error(Exception):
    """What went wrong; diagnostics has all of it, the errors among them first in str()."""

    def __init__(self, diagnostics):
        self.diagnostics = diagnostics
        errors = [str(item) for item in diagnostics if item.severity == "error"]
        super().__init__("\n".join(errors) or "ming failed without a diagnostic")


class _Handle:
    """Something of a context, destroyed with its last reference."""

    def __init__(self, context, handle, destroy):
        self._context, self._handle, self._destroy = context, handle, destroy
        context.own(handle, destroy)

    def __del__(self):
        if getattr(self, "_handle", None):
            self._context.disown(self._handle)


def _bytes(text):
    if isinstance(text, str) and "\0" in text:
        raise ValueError("a text for ming holds a NUL character")
    return None if text is None else os.fsencode(text)


class Context:
    """A context that collects its diagnostics. Calls wait for each other, and what is dropped
    meanwhile is destroyed afterwards."""

    def __init__(self):
        said = self.diagnostics = []
        self._lock = threading.Lock()
        self._owned, self._dropped = {}, []
        self._handler = HANDLER(lambda _user, handle: said.append(Diagnostic(handle)))
        self._handle = _call("context_create")
        _call("context_set_handler", self._handle, self._handler, None)

    def __del__(self):
        if getattr(self, "_handle", None):
            while self._owned:      # in a cycle it may be collected before what it owns
                handle, destroy = self._owned.popitem()
                _call(destroy, handle)
            _call("context_destroy", self._handle)

    def own(self, handle, destroy):
        self._owned[handle] = destroy

    def disown(self, handle):
        self._dropped.append(handle)
        if self._lock.acquire(blocking=False):
            try:
                self._clear()
            finally:
                self._lock.release()

    def _clear(self):
        while self._dropped:
            handle = self._dropped.pop()
            destroy = self._owned.pop(handle, None)
            if destroy:
                _call(destroy, handle)

    def call(self, name, *arguments):
        """Calls a function that is NULL or false when it fails: then raises what was said. Warns of
        warnings."""
        with self._lock:
            begin = len(self.diagnostics)
            result = _call(name, *arguments)
            said = self.diagnostics[begin:]
            self._clear()
        if not result:
            raise Error(said)
        for item in said:
            if item.severity == "warning":
                warnings.warn(str(item), Warning, stacklevel=4)
        return result

    def text(self, name, *arguments):
        pointer = self.call(name, *arguments)
        try:
            return ctypes.string_at(pointer).decode(errors="replace")
        finally:
            _call("free", pointer)

    def options(self, command):
        return Options(self, self.call("options_create", self._handle, _bytes(command)),
                       "options_destroy")

    def load(self, path, options):
        return Module(self, self.call("load", self._handle, _bytes(path), options._handle),
                      "module_destroy")

    def parse(self, text, name):
        data = text.encode()
        return Module(self, self.call("parse", self._handle, data, len(data), _bytes(name)),
                      "module_destroy")

    def load_design(self, folder):
        return Module(self, self.call("load_design", self._handle, _bytes(folder)), "module_destroy")

    def check(self, path, options):
        return self.text("check", self._handle, _bytes(path), options._handle)


class Options(_Handle):
    def set(self, name, value):
        self._context.call("options_set", self._handle, _bytes(name.replace("_", "-")), _bytes(value))


def _to_library(array):
    """An array of the library with the elements of one of numpy's."""
    import numpy
    array = numpy.asarray(array)
    dtype = array.dtype.newbyteorder("<")
    if dtype.kind not in "biuf":
        raise TypeError(f"arrays of {array.dtype} are not taken")
    data = numpy.ascontiguousarray(array, dtype)
    shape = (c_int64 * array.ndim)(*array.shape)
    handle = _call("array_create", dtype.kind.encode(), dtype.itemsize, shape, array.ndim,
                   data.ctypes.data_as(c_void_p))
    if not handle:
        raise TypeError(f"arrays of {array.dtype} and shape {array.shape} are not taken")
    return handle


def _from_library(handle):
    """A copy as one of numpy's arrays."""
    import numpy
    kind, item = _call("array_kind", handle).decode(), _call("array_item", handle)
    shape = tuple(_call("array_shape", handle)[:_call("array_rank", handle)])
    data = ctypes.string_at(_call("array_data", handle), _call("array_size", handle))
    return numpy.frombuffer(data, numpy.dtype(f"<{kind}{item}")).reshape(shape).copy()


class Module(_Handle):
    def ports(self):
        import json
        return json.loads(self._context.text("ports", self._handle, None))

    def run_passes(self, pipeline):
        self._context.call("run_passes", self._handle, _bytes(pipeline))

    def print(self, generic):
        return self._context.text("print", self._handle, generic, None)

    def compile(self, options, folder):
        handle = self._context.call("compile", self._handle, options._handle, _bytes(folder))
        return Module(self._context, handle, "module_destroy")

    def report(self):
        return self._context.text("report", self._handle)

    def page(self, options, path):
        return self._context.text("report_page", self._handle, options._handle, _bytes(path))

    def run(self, options, arrays):
        return self._execute("run", options, arrays)

    def simulate(self, options, arrays):
        return self._execute("simulate", options, arrays)

    def _execute(self, name, options, arrays):
        """(outputs, report as text or None)"""
        handles = []
        result = None
        try:
            for array in arrays:
                handles.append(_to_library(array))
            given = (c_void_p * len(handles))(*handles)
            result = self._context.call(name, self._handle, options._handle, given, len(handles))
            outputs = [_from_library(_call("result_array", result, index))
                       for index in range(_call("result_count", result))]
            report = _call("result_report", result)
            return outputs, None if report is None else report.decode()
        finally:
            _call("result_destroy", result)
            for handle in handles:
                _call("array_destroy", handle)
