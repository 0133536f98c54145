"""The page in a real browser."""

import json
import re
import shlex
import shutil
import subprocess
from html import escape, unescape

import pytest

CHROMIUM = (
    shutil.which("chromium")
    or shutil.which("chromium-browser")
    or shutil.which("google-chrome")
)

MEASURE = """<!DOCTYPE html><body style="margin:0">%s<pre id="answer">nothing</pre><script>
function measure(frame) {
  const page = frame.contentDocument, width = frame.clientWidth, root = page.documentElement;
  const beyond = [...page.body.querySelectorAll("*")].filter(
    (one) => !one.closest("svg") && one.getBoundingClientRect().right > width + 0.5);
  const scrolling = [...page.querySelectorAll(".scroll")].filter((one) => one.scrollWidth > one.clientWidth + 1);
  return {width, needed: root.scrollWidth, height: root.scrollHeight, text: page.body.innerText.length,
          beyond: beyond.map((one) => one.tagName + "." + one.className), scrolling: scrolling.length};
}
window.addEventListener("load", () => {
  const found = [...document.querySelectorAll("iframe")].map(measure);
  document.getElementById("answer").textContent = JSON.stringify(found);
});
</script></body>"""


FLAGS = shlex.split(
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run"
    " --disable-background-networking --disable-sync --disable-component-update"
    " --hide-scrollbars --virtual-time-budget=5000 --dump-dom --window-size=1400,900"
)


@pytest.fixture(scope="module")
def measured(good, constant, wines, wide, nasty_report, tmp_path_factory):
    """Return what a browser measured: each page in frames as wide as a phone and as a
    desktop.
    """
    if CHROMIUM is None:
        pytest.skip("no chromium is installed")
    folder = tmp_path_factory.mktemp("browser")
    frames = "".join(
        f'<iframe srcdoc="{escape(page.html)}"'
        f' style="border:0;height:600px;width:{width}px"></iframe>'
        for page in (good, constant, wines[-1], wide[-1], nasty_report)
        for width in (390, 1280)
    )
    (folder / "host.html").write_text(MEASURE % frames, encoding="utf-8")
    command = [
        CHROMIUM,
        *FLAGS,
        f"--user-data-dir={folder / 'profile'}",
        f"file://{folder / 'host.html'}",
    ]
    run = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False
    )
    found = re.search(r'<pre id="answer">(.*?)</pre>', run.stdout, re.DOTALL)
    assert found and found[1] != "nothing", run.stderr
    return json.loads(unescape(found[1]))


@pytest.mark.thorough
def test_nothing_overflows_on_a_phone_and_on_a_desktop(measured):
    assert [page["width"] for page in measured] == [390, 1280] * 5
    for page in measured:
        assert page["needed"] <= page["width"]
        assert page["height"] > 1500 and page["text"] > 1500  # the page was there
    for page in [
        *measured[:8],
        measured[9],
    ]:  # long names break in the tables of a desktop
        assert page["beyond"] == [] and page["scrolling"] == 0
