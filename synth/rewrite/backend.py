"""The rule back end: answers requests from the chunk itself, without a model, a network or a cost."""

from __future__ import annotations

from ..chat.types import Refused, Reply, Request
from .styles import VERSION, rewrite


class RuleBackend:
    """Rewrites by rules. Its answers are as cheap to make again as to look up, so they are not stored."""

    name = "rule"
    model = f"rules-{VERSION}"
    fingerprint = ""
    stored = False

    def reply(self, request: Request) -> Reply:
        """The rewrite of the request's source in its style.

        Raises:
            Refused: the style cannot say this chunk (code `unsuitable`).
            UserError: there is no such style.
        """
        text = rewrite(request.source, request.style, request.seed + request.attempt - 1)
        if text is None:
            raise Refused("unsuitable", f"the style {request.style} cannot say this chunk")
        return Reply(text=text, finish="stop")

    def close(self) -> None:
        """Nothing is held open."""
