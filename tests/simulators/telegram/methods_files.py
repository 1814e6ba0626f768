"""getFile, and the messages that carry files."""

from typing import Any

from tests.simulators.telegram.errors import bad_request
from tests.simulators.telegram.limits import MAX_DOWNLOAD_BYTES
from tests.simulators.telegram.registry import Call, method

Json = dict[str, Any]


@method("getFile")
def get_file(call: Call) -> Json:
    """https://core.telegram.org/bots/api#getfile."""
    file_id = call.params.text("file_id")
    if not file_id:
        raise bad_request("file_id not specified")
    stored = call.sim.files.by_id(file_id)
    if stored is None:
        raise bad_request("wrong file_id or the file is temporarily unavailable")
    if stored.size_bytes > MAX_DOWNLOAD_BYTES:
        raise bad_request("file is too big")
    return {
        "file_id": stored.file_id,
        "file_unique_id": stored.unique_id,
        "file_size": stored.size_bytes,
        "file_path": stored.path,
    }
