"""Hooks of mkdocs.yml: README.md and CONTRIBUTING.md stand outside of docs/ and belong to the site, and
headings have the anchors that other viewers of Markdown give them.
Tests: test/e2e/site_check.py"""
import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUTSIDE = ("README.md", "CONTRIBUTING.md")


def slug(text, separator):
    """Words in lower case, without what is neither letter, digit, '-' nor '_'."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", separator)


def on_config(config):
    config["mdx_configs"].setdefault("toc", {})["slugify"] = slug
    return config


def on_files(files, config):
    for name in OUTSIDE:
        files.append(File(name, str(ROOT), config["site_dir"], config["use_directory_urls"]))
    return files


def on_page_markdown(markdown, page, **_):
    if page.file.src_path in OUTSIDE:
        return markdown.replace("](docs/", "](")
    above = "../" * (1 + page.file.src_path.count("/"))
    for name in OUTSIDE:
        markdown = markdown.replace(f"]({above}{name}", f"]({above[3:]}{name}")
    return markdown
