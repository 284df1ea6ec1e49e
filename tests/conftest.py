"""Fixtures for all tests."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from k3data.pipelines.bench.s3 import Bucket, new_bucket, s3_server

if TYPE_CHECKING:
    from playwright.sync_api import Browser


# `make test` draws the same examples each time, so that it fails for what changed alone; `make test-all` searches anew.
# How fast a machine is must not decide.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", settings.get_profile("search"), derandomize=True, database=None)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """One real S3 server for the whole session, started when the first test asks for it."""
    with s3_server() as endpoint:
        yield endpoint


@pytest.fixture
def s3_bucket(s3_endpoint: str) -> Bucket:
    """A new, empty bucket on that server."""
    return new_bucket(s3_endpoint, f"test-{uuid.uuid4().hex[:12]}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from k3data.vision.chromium import find_chromium
    from playwright.sync_api import sync_playwright  # not on machines that only test the model

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()
