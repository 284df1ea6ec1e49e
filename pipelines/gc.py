"""`k3data gc`: find what no ledger record of the current plan names, and remove it when asked.

Leftovers of killed runs (a shard published, its record never written), units that a new plan revision dropped, stored
outcomes of units that are gone. Young files are spared, since another machine may just be about to record them, and
nothing is touched while a run holds the lease.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from . import lease
from .ledger import FOLDER as LEDGER
from .ledger import Ledger
from .output import DATASET_FILE, DatasetFile, open_output
from .plan import FILE as PLAN_FILE
from .plan import INPUTS_FILE, Plan
from .store import Entry, Store

_PUBLISHED = ("shards/", "index/units/", "rejects/")
_PER_UNIT = (*_PUBLISHED, f"{LEDGER}/", "outcomes/", "attempts/", "logs/")


def collect(url: str, *, min_age_s: float, remove: bool) -> list[Entry]:
    """The files that nothing refers to, older than `min_age_s` seconds; removed if `remove`.

    Raises:
        UserError: not an output, or a run is at work on it.
    """
    store, root = open_output(url)
    current = lease.newest(store)
    lease.refuse_if_live(store, current)
    before = time.time() - min_age_s
    found: list[Entry] = []
    for job in root.jobs:
        garbage = [entry for entry in _unlisted(store.sub(job)) if entry.modified <= before]
        if remove:
            for entry in garbage:
                store.sub(job).delete(entry.path)
        found += [Entry(f"{job}/{entry.path}", entry.size, entry.modified) for entry in garbage]
    return found


def _unlisted(store: Store) -> Iterator[Entry]:
    plan = Plan.load(store)
    if plan is None:
        return
    units = {unit.id for unit in plan.units}
    records = Ledger(store).records()
    kept = {PLAN_FILE, INPUTS_FILE, DATASET_FILE}
    for unit in units & records.keys():
        kept.update(file.path for file in records[unit].files())
    dataset = DatasetFile.load(store)
    if dataset:
        kept.update(dataset.files)
    for entry in store.list():
        # energon lays its index of a shard beside it, as `<shard>.idx`.
        if entry.path.removesuffix(".idx") in kept or not entry.path.startswith(_PER_UNIT):
            continue
        published = entry.path.startswith(_PUBLISHED)
        if published or (_unit_of(entry.path) not in units and not entry.path.endswith(".jsonl")):
            yield entry


def _unit_of(path: str) -> str:
    """The unit id in `ledger/<unit>.json`, `outcomes/<unit>/…`, `attempts/<unit>.json`, `logs/<unit>.log`."""
    return path.split("/")[1].split(".")[0]
