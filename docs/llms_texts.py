"""Write llms.txt and llms-full.txt into the site: the documentation for language models (https://llmstxt.org).

Run `python docs/llms_texts.py` in a checkout after `zensical build`; `make docs` does both. llms.txt
lists the pages in the order of zensical.toml, each with its first sentence. It links to their Markdown, which
is copied into the site. llms-full.txt has all pages in one text.
"""

import re
import tomllib
from pathlib import Path


def first_sentence(text: str) -> str:
    """Return the first sentence below the heading of a page, without links."""
    paragraph = next(line for line in text.splitlines()[1:] if re.match(r"[\w`*\[]", line))
    return re.split(r"(?<=[.?]) ", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", paragraph))[0]


def write_texts(root: Path) -> None:
    """Write both texts, and the Markdown of each page, into the folder `site` of a checkout.

    Raise ValueError if the navigation of the site lacks a page of docs/.
    """
    project = tomllib.loads((root / "zensical.toml").read_text(encoding="utf-8"))["project"]
    lines, full = [f"# {project['site_name']}", "", f"> {project['site_description']}"], list[str]()
    missing = {page.name for page in (root / "docs").glob("*.md")}
    for title, pages in (item for entry in project["nav"] for item in entry.items()):
        lines += ["", f"## {title}", ""]
        for page in [pages] if isinstance(pages, str) else pages:
            text = (root / "docs" / page).read_text(encoding="utf-8")
            lines.append(f"- [{text.splitlines()[0].lstrip('# ')}]({page}): {first_sentence(text)}")
            full.append(text)
            missing.discard(page)
            copy = root / "site" / page
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text, encoding="utf-8")
    if missing:
        raise ValueError(f"the nav of zensical.toml lacks {', '.join(sorted(missing))}")
    (root / "site" / "llms.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")
    (root / "site" / "llms-full.txt").write_text("\n".join(full), encoding="utf-8")


if __name__ == "__main__":
    write_texts(Path.cwd())
