"""Answers that were recorded: a back end that asks nobody. It reads the file that `Calls.export` writes."""

from __future__ import annotations

from pathlib import Path

from ...pipelines.errors import UserError
from .packs import Pack
from .stored import key_of, parts_of, reply_of
from .types import Refused, Reply, Request


class Replay:
    """The replies of one model in an export.

    Args:
        path: the file.
        model: which model's, if it holds those of several.

    Raises:
        UserError: no such file, an empty one, or it is not told which of several models is meant.
        DamagedReply: it is not an export, or a line of it is cut.
    """

    name = "replay"
    stored = False

    def __init__(self, path: Path, model: str = ""):
        if not path.is_file():
            raise UserError(f"{path}: no such file of recorded replies")
        self._pack = Pack(path)
        recorded = {(one["request"]["model"], one["request"]["fingerprint"]) for _, one in self._pack.objects()}
        known = sorted(recorded)
        found = [one for one in known if not model or one[0] == model]
        if not found:
            raise UserError(f"{path}: no replies of {model or 'any model'}")
        if len(found) > 1:
            names = ", ".join(f"{name} ({fingerprint})" for name, fingerprint in found)
            raise UserError(f"{path} holds replies of several models: {names}; export one of them, or say which")
        self.model, self.fingerprint = found[0]

    def reply(self, request: Request) -> Reply:
        """Raises Refused (`not_recorded`, or what was refused when it was recorded)."""
        found = self._pack.get(key_of(parts_of(request, self)))
        if found is None:
            raise Refused("not_recorded", f"{self._pack.path.name} has no answer to this request")
        if "refused" in found:
            raise Refused(found["refused"]["code"], found["refused"]["detail"])
        return reply_of(found)

    def close(self) -> None:
        self._pack.close()
