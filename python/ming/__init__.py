"""ming: from quantized neural networks to streaming FPGA accelerators.

    import ming, numpy
    config = ming.Config(device="zcu102")
    design = ming.compile("model.onnx", "project", config)
    scores = design.predict(numpy.load("input.npy"))
    print(design.report["totals"]["fps"], design.write_page())

Options have the names of the command line, with _ in place of -: `ming compile --help`. What is wrong
raises ming.Error, which carries the diagnostics; warnings are Python's, of ming.Warning.
"""
import json
import pathlib
import tempfile

from ming import _csim
from ming._library import Context, Diagnostic, Error, Warning, version

__all__ = ["Config", "Design", "Diagnostic", "Error", "Model", "Port", "Simulation", "Warning", "check",
           "compile", "load", "open_design", "parse", "version"]
__version__ = version()


class Port:
    """An input or output: name, shape (None: any extent) and dtype of its arrays."""

    def __init__(self, row):
        self.name = row["name"]
        self.shape = tuple(None if extent < 0 else extent for extent in row["shape"])
        self.dtype = row["dtype"]

    def __repr__(self):
        return f"Port({self.name!r}, {self.shape}, {self.dtype})"


class Config:
    """Options of `ming compile` by name, checked as they are set.

    A value is a text, a number, True for a switch, or a list; an array is written to a file for the
    options that take one (calibrate)."""

    command = "compile"

    def __init__(self, **options):
        self._context = Context()
        self._files = []
        self._values = {}
        for name, value in options.items():
            self[name] = value

    def __setitem__(self, name, value):
        texts = list(self._texts(value))
        probe = self._context.options(self.command)
        for text in texts:
            probe.set(name, text)
        self._values[name] = texts

    def __getitem__(self, name):
        texts = self._values[name]
        return texts[0] if len(texts) == 1 else texts

    def __iter__(self):
        return iter(self._values)

    def __repr__(self):
        return f"Config({', '.join(f'{name}={self[name]!r}' for name in self)})"

    def _texts(self, value):
        if hasattr(value, "__array__"):
            yield self._save(value)
        elif isinstance(value, (list, tuple)):
            for item in value:
                yield from self._texts(item)
        elif isinstance(value, bool):
            yield str(value).lower()
        else:
            yield str(value)

    def _save(self, array):
        import numpy
        file = tempfile.NamedTemporaryFile(suffix=".npy")
        numpy.save(file, numpy.asarray(array))
        file.flush()
        self._files.append(file)
        return file.name

    def apply(self, context, command):
        """Options of a context for a command that takes them, too."""
        options = context.options(command)
        for name, texts in self._values.items():
            for text in texts:
                options.set(name, text)
        return options


def _config(config, options):
    if config is not None and options:
        raise TypeError("options are given beside a config, which holds them")
    return config if config is not None else Config(**options)


def _frames(outputs):
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


class Model:
    """A network, or any module of IR."""

    def __init__(self, context, module, config=None):
        self._context, self._module = context, module
        self._config = config if config is not None else Config()

    @property
    def inputs(self):
        return [Port(row) for row in self._module.ports()["inputs"]]

    @property
    def outputs(self):
        return [Port(row) for row in self._module.ports()["outputs"]]

    @property
    def diagnostics(self):
        """All that was said so far, remarks included."""
        return list(self._context.diagnostics)

    def predict(self, *arrays, **options):
        """The outputs of the reference interpreter: an array, or a tuple of several. Arrays hold one
        frame or several in a row. Options are those of `ming run`."""
        settings = self._context.options("run")
        for name, value in options.items():
            settings.set(name, str(value))
        return _frames(self._module.run(settings, arrays)[0])

    def run_passes(self, pipeline):
        """Runs "builtin.module(…)" on the module."""
        self._module.run_passes(pipeline)

    def compile(self, folder=None, config=None, **options):
        """A Design, written to the folder if one is given."""
        own = self._config if config is None and not options else _config(config, options)
        text = None if folder is None else str(pathlib.Path(folder))
        design = self._module.compile(own.apply(self._context, "compile"), text)
        return Design(self._context, design, folder, self)

    def text(self, generic=False):
        return self._module.print(generic)

    __str__ = text


class Simulation:
    """What a simulation found: outputs (None without inputs) and report, as `ming sim --json`."""

    def __init__(self, outputs, report):
        self.outputs, self.report = outputs, report


class Design:
    """A compiled network. report: report.json of the project as a dictionary."""

    def __init__(self, context, module, folder=None, model=None):
        self._context, self._module, self.model = context, module, model
        self.folder = None if folder is None else pathlib.Path(folder)
        self.report = json.loads(module.report())
        self._csim = None

    @property
    def diagnostics(self):
        return list(self._context.diagnostics)

    def predict(self, *arrays, by=None):
        """The outputs for arrays of one frame or several.

        by: "interpreter" (the network; default where it is known), "simulator" (the design cycle by
        cycle; default else), or "csim" (the emitted C++, which make and g++ build first)."""
        if by is None:
            by = "interpreter" if self.model else "simulator"
        if by == "interpreter":
            if not self.model:
                raise ValueError("the network of a design that was opened is not known")
            return self.model.predict(*arrays)
        if by == "simulator":
            return self.simulate(*arrays).outputs
        if by == "csim":
            return self._run_csim(arrays)
        raise ValueError(f"by is {by!r}, not 'interpreter', 'simulator' or 'csim'")

    def _run_csim(self, arrays):
        if not self.folder:
            raise ValueError("the design has no folder, so nothing of it can be built")
        if not self._csim:
            self._csim = _csim.Csim(self.folder, self.report)
        return _frames(self._csim.run(arrays))

    def simulate(self, *arrays, **options):
        """A Simulation; without arrays only of time. Options are those of `ming sim`."""
        settings = self._context.options("sim")
        for name, value in options.items():
            settings.set(name, str(value))
        outputs, report = self._module.simulate(settings, arrays)
        return Simulation(_frames(outputs) if arrays else None, json.loads(report))

    def page(self, **options):
        """The page about the design, as a text of HTML. Options are those of `ming report`."""
        return self._page(options, None)

    def write_page(self, path=None, **options):
        """Writes it, as report.html of the design's folder by default; gives its path."""
        if path is None and not self.folder:
            raise ValueError("the design has no folder, so a path is needed")
        path = pathlib.Path(path) if path is not None else self.folder / "report.html"
        self._page(options, str(path))
        return path

    def _page(self, options, path):
        settings = self._context.options("report")
        for name, value in options.items():
            settings.set(name, str(value))
        return self._module.page(settings, path)

    def text(self, generic=False):
        return self._module.print(generic)

    __str__ = text


def load(path, config=None, **options):
    """The Model of a file: ONNX, or MLIR text."""
    own = _config(config, options)
    context = Context()
    return Model(context, context.load(str(path), own.apply(context, "compile")), own)


def parse(text, name="<text>"):
    """The Model of MLIR text."""
    context = Context()
    return Model(context, context.parse(text, name))


def compile(path, folder=None, config=None, **options):
    """Compiles the network in a file; a Design, written to the folder if one is given."""
    return load(path, config, **options).compile(folder)


def open_design(folder):
    """The Design in a folder that was written before."""
    context = Context()
    return Design(context, context.load_design(str(pathlib.Path(folder))), folder)


def check(path, **options):
    """What of a network compiles: the JSON of `ming check --json` as a dictionary."""
    context = Context()
    settings = context.options("check")
    for name, value in options.items():
        settings.set(name, str(value))
    return json.loads(context.check(str(path), settings))
