"""What a server says beside answers: the text of an error, how long to stay away, which models it has."""

from __future__ import annotations

import email.utils
import hashlib
import time
from typing import Any

import orjson

from ...pipelines.errors import UserError


def error_text(body: bytes) -> str:
    """What an error's body says."""
    try:
        told = orjson.loads(body)
        told = told.get("error", told.get("message", told))
        return str(told.get("message", told) if isinstance(told, dict) else told)
    except (ValueError, AttributeError):
        return body[:300].decode(errors="replace") or "no explanation"


def retry_after(value: str) -> float:
    """Seconds that a Retry-After header asks for, given in seconds or as a date; 0 if it says neither."""
    if value.replace(".", "", 1).isdigit():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        return 0.0


def fingerprint(status: int, body: bytes, model: str, url: str) -> str:
    """What tells a model from another of its name, from the answer to `/models`; of the name alone if the server has no
    such list.

    Raises:
        UserError: the list is none, or lacks the model.
    """
    told: dict[str, Any] = {"id": model}
    if status == 200:
        try:
            models = {one["id"]: one for one in orjson.loads(body)["data"]}
        except (ValueError, TypeError, KeyError):
            raise UserError(f"{url}/models gives no list of models: is the URL right?") from None
        if model not in models:
            raise UserError(f"{url} has no model {model!r}; it has {', '.join(sorted(map(str, models))[:5]) or 'none'}")
        # Not what changes when the same weights are served again: times, limits, permissions.
        told |= {name: models[model].get(name) for name in ("root", "meta")}
    return hashlib.sha256(orjson.dumps(told, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
