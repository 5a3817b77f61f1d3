#!/usr/bin/env python3
"""The site that mkdocs makes of docs/ (mkdocs.yml): it builds without a warning and twice with the same
bytes, has every page of docs/ in its navigation, each link leads to a file and an anchor of it, and
nothing is loaded from elsewhere. With Chromium a page is opened from its file. Ends in
`N passed, N failed`."""
import argparse
import html.parser
import os
import pathlib
import re
import shutil
import sys
import tempfile
import urllib.parse

import board_tools
from board_tools import expect, run
from installation import same_folders

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids.add(attrs.get("id"))
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        if attrs.get(LOADED.get(tag)):
            self.loads.append(attrs[LOADED[tag]])


def build(folder):
    environment = dict(os.environ, SOURCE_DATE_EPOCH="946684800", PYTHONDONTWRITEBYTECODE="1")
    result = run("/usr/bin/python3", "-m", "mkdocs", "build", "--quiet", "--strict", "--config-file",
                 ROOT / "mkdocs.yml", "--site-dir", folder, env=environment)
    expect(result.returncode == 0 and not result.stderr, result.stderr)


def check_built(site, folder):
    build(site)
    build(folder / "again")
    expect(not same_folders(site, folder / "again"), "a second site differs")


def pages_of(site):
    """404.html is for servers, whose paths it has."""
    return {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}


def target_of(page, link):
    path = urllib.parse.unquote(urllib.parse.urlsplit(link).path)
    target = (page.parent / path).resolve() if path else page
    return target / "index.html" if target.is_dir() else target


def check_complete(site):
    docs = ROOT / "docs"
    wanted = {site / path.relative_to(docs).with_suffix(".html") for path in docs.rglob("*.md")}
    start = site / "index.html"
    reached = {target_of(start, link) for link in pages_of(site)[start].links if "://" not in link}
    expect(wanted | {site / "CONTRIBUTING.html"} <= reached, "not in the navigation:", wanted - reached)


def check_links(site):
    pages = pages_of(site)
    for path, page in pages.items():
        for link in page.links:
            if "://" in link or link in (".", ".."):
                continue
            target, anchor = target_of(path, link), urllib.parse.unquote(urllib.parse.urlsplit(link).fragment)
            expect(target.is_file(), path.relative_to(site), "leads to", link)
            expect(not anchor or anchor in pages[target].ids, path.relative_to(site), "leads to the lost anchor", link)


def check_loads(site):
    for path, page in pages_of(site).items():
        for load in page.loads:
            expect("://" not in load and not load.startswith("//") and target_of(path, load).is_file(),
                   path.relative_to(site), "loads", load)
    for path in site.rglob("*.css"):
        found = re.findall(r"url\(\s*['\"]?((?:https?:)?//[^)]*)", path.read_text(encoding="utf-8"))
        expect(not found, path.relative_to(site), "loads", found[:3])


def check_browser(site, folder):
    if not shutil.which("chromium"):
        print("note: chromium is not installed; the site is checked without it")
        return
    result = run("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                 "--disable-background-networking", "--disable-dev-shm-usage", f"--user-data-dir={folder / 'profile'}",
                 "--enable-logging=stderr", "--dump-dom", (site / "guide.html").as_uri())
    expect(result.returncode == 0 and "From a trained network to a board" in result.stdout, result.stderr[-300:])
    expect("CONSOLE" not in result.stderr, result.stderr[-300:])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ming-site-") as name:
        folder = pathlib.Path(name)
        site = folder / "site"
        return board_tools.report_cases([
            ("built", lambda: check_built(site, folder)), ("complete", lambda: check_complete(site)),
            ("links", lambda: check_links(site)), ("loads", lambda: check_loads(site)),
            ("browser", lambda: check_browser(site, folder))])


if __name__ == "__main__":
    sys.exit(main())
