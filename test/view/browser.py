# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium, driven by its DevTools protocol over two pipes: no package and no port is needed.

    with Browser() as browser:
        page = browser.open("file:///tmp/run.html")
        page.value("document.title")
        page.picture("/tmp/run.png")"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LIMIT = 120  # seconds for an answer, on a loaded machine too


def installed():
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    def __init__(self, size=(1500, 850)):
        self.size, self.count, self.events, self.rest = size, 0, [], b""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="millet-browser-")
        to_read, self.to = os.pipe()
        self.back, back_write = os.pipe()
        words = [installed(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--mute-audio",
                 "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={self.folder}",
                 f"--window-size={self.size[0]},{self.size[1]}", "about:blank"]

        def wire():  # the browser reads commands from 3 and writes answers to 4
            a, b = os.dup(to_read), os.dup(back_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(words, preexec_fn=wire, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_read)
        os.close(back_write)
        return self

    def __exit__(self, *_):
        try:
            self.ask("Browser.close")
            self.process.wait(timeout=20)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            pass
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.back)
        shutil.rmtree(self.folder, ignore_errors=True)

    def read(self, until):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.back], [], [], max(0, until - time.monotonic()))
            data = os.read(self.back, 1 << 16) if ready else b""
            assert data, "the browser does not answer"
            self.rest += data
        line, self.rest = self.rest.split(b"\0", 1)
        return json.loads(line)

    def ask(self, method, session=None, **parameters):
        self.count += 1
        request = {"id": self.count, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        until = time.monotonic() + LIMIT
        while True:
            answer = self.read(until)
            if answer.get("id") == self.count:
                assert "error" not in answer, f"{method}: {answer}"
                return answer["result"]
            self.events.append(answer)

    def open(self, address):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        page.ask("Runtime.enable")
        page.ask("Page.enable")
        page.ask("Page.navigate", url=address)
        page.wait("document.readyState === 'complete'")
        return page


class Page:
    def __init__(self, browser, session):
        self.browser, self.session = browser, session

    def ask(self, method, **parameters):
        return self.browser.ask(method, self.session, **parameters)

    def value(self, expression):
        """What an expression of JavaScript gives; what it throws is an error."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, f"{expression}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    def wait(self, expression):
        """Until the expression holds."""
        until = time.monotonic() + LIMIT
        while not self.value(expression):
            assert time.monotonic() < until, f"{expression} does not become true; {self.faults()}"
            time.sleep(0.02)

    def faults(self):
        """What scripts of the page threw."""
        return [e["params"]["exceptionDetails"].get("exception", {}).get("description", e["params"]["exceptionDetails"].get("text"))
                for e in self.browser.events if e.get("method") == "Runtime.exceptionThrown"]

    def mouse(self, kind, x, y, **more):
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def key(self, key):
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, text=key if len(key) == 1 else "")
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)

    def picture(self, path, clip=None):
        more = {"clip": dict(zip(("x", "y", "width", "height"), clip), scale=1)} if clip else {}
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.ask("Page.captureScreenshot", format="png", **more)["data"]))
