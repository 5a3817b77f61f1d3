"""Stands for XRT's module pyxrt in tests of driver.py: buffers with two sides, and kernels in front of the
C simulation, whose calls run when somebody waits for them, in the order in which they were started. Takes
no argument of another type than pyxrt's."""
import ctypes
import enum
import json
import os
import pathlib

import numpy as np

PROJECT = pathlib.Path(os.environ["MING_FAKE_PROJECT"])
REPORT = json.loads((PROJECT / "report.json").read_text(encoding="utf-8"))


def is_loaded(row):
    """Weights that a kernel of their own sends, rather than such that stay in memory."""
    return row.get("weights", False) and row["interface"] == "axis"


class xclBOSyncDirection(enum.Enum):
    XCL_BO_SYNC_BO_TO_DEVICE = 0
    XCL_BO_SYNC_BO_FROM_DEVICE = 1


class ert_cmd_state(enum.Enum):
    ERT_CMD_STATE_NEW = 1
    ERT_CMD_STATE_COMPLETED = 4
    ERT_CMD_STATE_ERROR = 5


class xclbin:
    def __init__(self, path):
        assert isinstance(path, str)
        self.path = path


class device:
    def __init__(self, index):
        if os.environ.get("MING_FAKE_LACKS") == "card":
            raise RuntimeError("Could not open device with index '0'")
        assert index == 0
        self.library, self.weights, self.started, self.most = None, None, [], 0

    def load_xclbin(self, file):
        assert isinstance(file, xclbin) and pathlib.Path(file.path).is_file()
        self.library = ctypes.CDLL(str(PROJECT / "libcsim.so"))
        return "uuid"

    def run_until(self, last):
        while last in self.started:
            self.started.pop(0).execute()


class bo:
    normal = 0

    def __init__(self, owner, size, flags, group):
        assert isinstance(owner, device) and size > 0 and flags == bo.normal
        self.group, self.host, self.card = group, np.full(size, 0xA5, np.uint8), np.full(size, 0x5A, np.uint8)

    def write(self, data, seek):
        assert isinstance(data, bytes) and seek + len(data) <= len(self.host)
        self.host[seek:seek + len(data)] = np.frombuffer(data, np.uint8)

    def read(self, size, skip):
        assert skip + size <= len(self.host)
        return self.host[skip:skip + size].view(np.int8).copy()

    def sync(self, way, size, offset):
        assert offset + size <= len(self.host)
        part = slice(offset, offset + size)
        if way == xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE:
            self.card[part] = self.host[part]
        else:
            assert way == xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE
            self.host[part] = self.card[part]


class kernel:
    shared = 0

    def __init__(self, owner, uuid, name, access):
        assert uuid == "uuid" and access == kernel.shared and name in (REPORT["top"], REPORT["top"] + "_load")
        self.device, self.is_loader = owner, name != REPORT["top"]

    def group_id(self, argument):
        limit = 1 if self.is_loader else len(REPORT["ports"])
        assert 0 <= argument < limit and (self.is_loader or not is_loaded(REPORT["ports"][argument]))
        return argument


class run:
    def __init__(self, of):
        self.kernel, self.arguments = of, {}

    def set_arg(self, index, value):
        if isinstance(value, bo):
            assert value.group == index, "a buffer of another argument's bank"
        else:
            assert isinstance(value, int)
        self.arguments[index] = value

    def start(self):
        started = self.kernel.device.started
        assert self not in started, "started while it runs"
        started.append(self)
        most = int(os.environ["MING_FAKE_SLOTS"])
        assert len([r for r in started if not r.kernel.is_loader]) <= most
        if not self.kernel.is_loader:
            self.kernel.device.most = max(self.kernel.device.most, len(started))

    def execute(self):
        owner = self.kernel.device
        if self.kernel.is_loader:
            weights = next(p for p in REPORT["ports"] if p.get("weights"))
            assert self.arguments[2] == weights["words_per_frame"]
            owner.weights = self.arguments[0].card
            return
        rows = list(enumerate(REPORT["ports"]))
        order = sorted(rows, key=lambda r: 2 if r[1].get("weights") else int(r[1]["direction"] == "out"))
        frames = self.arguments[len(rows)]
        buffers = []
        for index, row in order:
            card = owner.weights if is_loaded(row) else self.arguments[index].card
            assert row.get("weights") or len(card) >= frames * row["frame_bytes"]
            buffers.append(card)
        pointers = (ctypes.c_void_p * len(buffers))(*[b.ctypes.data for b in buffers])
        message = ctypes.create_string_buffer(200)
        assert owner.library.ming_csim_run(ctypes.c_size_t(frames), pointers, message, ctypes.c_size_t(200)) == 0, message.value

    def wait(self):
        self.kernel.device.run_until(self)
        if os.environ.get("MING_FAKE_LACKS") == "end":
            return ert_cmd_state.ERT_CMD_STATE_ERROR
        return ert_cmd_state.ERT_CMD_STATE_COMPLETED
