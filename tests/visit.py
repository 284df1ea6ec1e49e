"""A page in a real browser, for the tests of every page that we write."""

from __future__ import annotations


class Visit:
    """An open page, with everything it did that it should not have done."""

    def __init__(self, browser, path, **options):
        self.page = browser.new_page(**options)
        self.alarms: list[str] = []
        self.page.on("dialog", lambda dialog: (self.alarms.append("dialog"), dialog.dismiss()))
        self.page.on("console", lambda message: self.alarms.append(message.text))
        self.page.on("pageerror", lambda error: self.alarms.append(str(error)))
        self.page.on("request", self._request)
        self.page.goto(path.as_uri())

    def _request(self, request):
        if not request.url.startswith(("data:", "file:")):
            self.alarms.append(request.url)

    def text(self, selector):
        return self.page.inner_text(selector)

    def seek(self, words):
        self.page.fill("#search", words)
        self.page.keyboard.press("Escape")
