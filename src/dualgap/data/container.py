"""Arrays and a JSON text in one file, in the layout of safetensors: nothing in it is ever run, so that it is safe to read from strangers.

    length of the header (8 bytes, little-endian) | header, JSON | the bytes of the arrays one after the other

The header gives each array its type, shape and place, and the rest as text under `__metadata__`, where this module also keeps a checksum of
all arrays. A file appears under its name only when it is complete.
"""

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.data.errors import InputError
from dualgap.data.files import naming

TYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "U64": "<u8", "U32": "<u4", "U8": "|u1"}
NAMES = {np.dtype(code): name for name, code in TYPES.items()}
MOST_HEADER = 1 << 28
KEY = "dualgap"
PART = 1 << 26


def write_container(path: str | Path, arrays: Mapping[str, npt.NDArray[Any]], record: Mapping[str, Any]) -> None:
    """Write arrays and a record of what JSON can hold, at once or not at all."""
    laid = {name: np.asarray(a, dtype=a.dtype.newbyteorder("<"), order="C") for name, a in arrays.items()}
    header: dict[str, Any] = {}
    end = check = 0
    for name, a in laid.items():
        header[name] = {"dtype": NAMES[a.dtype], "shape": list(a.shape), "data_offsets": [end, end + a.nbytes]}
        end += a.nbytes
        check = zlib.crc32(a.data, check)
    header["__metadata__"] = {KEY: json.dumps(record, allow_nan=False), "checksum": f"{check:08x}"}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    draft = Path(f"{path}.part")
    try:
        with draft.open("wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for a in laid.values():
                file.write(a.data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def read_container(path: str | Path, what: str) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """The arrays and the record of a file, which is `what`; an error that says what is wrong with it if it is not."""
    path = Path(path)
    with naming(str(path)):
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= min(size - 8, MOST_HEADER):
                raise InputError(str(path), f"is not {what}")
            text = file.read(length)
            data = np.fromfile(file, dtype=np.uint8)
    try:
        header = json.loads(text)
        metadata = header.pop("__metadata__")
        record = json.loads(metadata[KEY])
        arrays = {name: _array(data, entry) for name, entry in header.items()}
        complete = sum(a.nbytes for a in arrays.values()) == len(data)
        checked = f"{zlib.crc32(data.data):08x}" == metadata["checksum"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(str(path), f"is not {what}") from None
    if not (complete and checked and isinstance(record, dict)):
        raise InputError(str(path), f"is {what} that is damaged: its checksum does not agree with its content")
    return arrays, record


def _array(data: npt.NDArray[np.uint8], entry: Any) -> npt.NDArray[Any]:
    """An array of the bytes it names."""
    begin, end = map(int, entry["data_offsets"])
    shape = tuple(int(s) for s in entry["shape"])
    if not 0 <= begin <= end <= len(data) or any(s < 0 for s in shape):
        raise ValueError
    return np.frombuffer(data[begin:end].tobytes(), dtype=TYPES[entry["dtype"]]).reshape(shape)
