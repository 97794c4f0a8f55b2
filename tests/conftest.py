"""What holds for all tests."""

import os
import shutil
from pathlib import Path

import pytest

import skbidag


@pytest.fixture(autouse=True, scope="session")
def one_package():
    """Let processes that tests start import the package that the tests import."""
    with pytest.MonkeyPatch.context() as patch:
        home = str(Path(skbidag.__file__).parents[1])
        patch.setenv("PYTHONPATH", home, prepend=os.pathsep)
        yield


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Chromium without a window; a log of its console and of its requests.

    What it downloads goes to the folder ``downloads``, an attribute.
    """
    folder = tmp_path_factory.mktemp("browser")
    chromium = shutil.which("chromium")
    driver = shutil.which("chromedriver")
    if not (chromium and driver):
        reason = "chromium and chromedriver are not installed"
        if os.environ.get("SKBIDAG_REQUIRE_BROWSER"):
            pytest.fail(reason)
        pytest.skip(reason)
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--window-size=1200,900",
        f"--user-data-dir={folder}/profile",
    ):
        options.add_argument(flag)
    options.set_capability(
        "goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"}
    )
    service = webdriver.ChromeService(executable_path=driver)
    started = webdriver.Chrome(options=options, service=service)
    started.execute_cdp_cmd(
        "Browser.setDownloadBehavior",
        {"behavior": "allow", "downloadPath": str(folder / "downloads")},
    )
    started.downloads = folder / "downloads"
    yield started
    started.quit()
