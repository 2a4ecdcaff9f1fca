"""From content to the lines of a bulk request. Pure."""

import msgspec

from headwater.outbox.types import Action, ClaimedEntry
from headwater.publishing.types import IndexDocument, Operation

_encode = msgspec.json.Encoder().encode


def operation(entry: ClaimedEntry, document: IndexDocument | None, *, most_bytes: int) -> Operation:
    """The operation for an entry. Content that was deleted meanwhile is a deletion, whatever was queued."""
    target = {"_id": entry.url_key.hex(), "version": entry.queued_version, "version_type": "external"}
    if document is None or entry.action == Action.DELETE:
        return Operation(entry, _encode({"delete": target}) + b"\n")
    if isinstance(document.json_ld_data, str):
        document = msgspec.structs.replace(document, json_ld_data=msgspec.Raw(document.json_ld_data.encode()))
    line = _encode(document)
    if len(line) > most_bytes:
        # The HTML is the large part, and the index does not search it; PostgreSQL has it.
        line = _encode(msgspec.structs.replace(document, raw_html=None))
    return Operation(entry, _encode({"index": target}) + b"\n" + line + b"\n")
