#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of fedsim run --html says what its JSON says, can be read by everybody, and fetches nothing.

usage: page.py JSON HTML. Prints every fault; exit 0: there is none.
"""
import html.parser
import itertools
import json
import math
import re
import sys

faults = []


def fault(text):
    faults.append(text)


class Page(html.parser.HTMLParser):
    """What the checks need of a page: its elements with their attributes and texts."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.style = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "attrs": dict(attrs), "inside": [e["tag"] for e in self.open], "text": "",
                   "above": list(self.open)}
        self.elements.append(element)
        if tag not in ("meta", "link", "br"):
            self.open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop() if self.open and self.open[-1] is self.elements[-1] else None

    def handle_endtag(self, tag):
        while self.open and self.open.pop()["tag"] != tag:
            fault(f"</{tag}> closes something else")

    def handle_data(self, data):
        if self.open:
            self.open[-1]["text"] += data
            if self.open[-1]["tag"] == "style":
                self.style += data

    def all(self, attribute):
        return [e for e in self.elements if attribute in e["attrs"]]


def flat(value, path=""):
    """Figures by their path: {"classes.online.evictions": 3}."""
    if not isinstance(value, dict):
        return {path: value}
    out = {}
    for key, below in value.items():
        out.update(flat(below, f"{path}.{key}" if path else key))
    return out


# ---- numbers ----

def steps(path):
    """(height, length) of each step of an area: M0 0 V.. h.. V.. h.. V0z."""
    found = re.fullmatch(r"M0 0((?:V[-+.\de]+h[-+.\de]+)*)V0z", path)
    if not found:
        fault(f"a path is no row of steps: {path[:60]}")
        return []
    return [(float(v), float(h)) for v, h in re.findall(r"V([-+.\de]+)h([-+.\de]+)", found.group(1))]


def total(element):
    """Of events: how many; of levels: GPU-hours."""
    if element["attrs"]["data-kind"] == "counts":
        return sum(v * math.ceil(h - 1e-9) for v, h in steps(element["attrs"]["d"]))
    plot = next(e for e in reversed(element["above"]) if "data-bucket-seconds" in e["attrs"])
    return sum(v * h for v, h in steps(element["attrs"]["d"])) * float(plot["attrs"]["data-bucket-seconds"]) / 3600


def near(a, b):
    return abs(a - b) <= max(0.02, 2e-5 * abs(b))


def check_figures(page, figures):
    shown = page.all("data-figure")
    for element in shown:
        name, value = element["attrs"]["data-figure"], float(element["attrs"]["value"])
        if name not in figures:
            fault(f"{name} is on the page and not in the JSON")
        elif value != float(figures[name]):
            fault(f"{name} is {value} on the page and {figures[name]} in the JSON")
        people = re.sub(r"[^\d.−]", "", element["text"])
        if element["text"].endswith("%") and people and abs(float(people) / 100 - value) > 0.000501:
            fault(f"{name} is {value} and reads {element['text']}")
        if re.fullmatch(r"[\d,]+", element["text"]) and abs(float(people) - value) > 0.5:
            fault(f"{name} is {value} and reads {element['text']}")
    return len(shown)


def check_areas(page, figures):
    areas = [e for e in page.all("data-series")]
    checked = 0
    for element in areas:
        series, above = element["attrs"]["data-series"], element["attrs"]["data-above"]
        if not series:
            continue
        mine = total(element)
        if above:  # what is seen is above the area before it, of the same plot
            plot = element["above"][-1]
            mine -= total(next(e for e in areas if e["attrs"]["data-series"] == above and e["above"][-1] is plot))
        if series not in figures:
            fault(f"{series} is drawn and not in the JSON")
        elif not near(mine, float(figures[series])):
            fault(f"{series}: its area is {mine}, and {figures[series]} in the JSON")
        checked += 1
    return checked


def check_cells(page, figures):
    for strip in page.all("data-cells"):
        sum_of = sum(float(e["attrs"]["data-gpu-hours"]) for e in page.all("data-gpu-hours")
                     if any(above is strip for above in e["above"]))
        name = strip["attrs"]["data-cells"]
        if not near(sum_of, float(figures[name])):
            fault(f"{name}: cells of its nodes sum to {sum_of}, and it is {figures[name]} in the JSON")
    return len(page.all("data-cells"))


# ---- nothing is fetched, everything has words ----

def check_closed(page, text):
    for element in page.elements:
        if element["tag"] == "script":
            fault("there is a script")
        for key in ("src", "href", "srcset", "xlink:href", "action"):
            if not element["attrs"].get(key, "data:").startswith("data:"):
                fault(f"<{element['tag']} {key}={element['attrs'][key]}> is fetched")
    if re.search(r"url\(|@import", text):
        fault("the style fetches something")
    if len(text.encode()) >= 2_000_000:
        fault(f"the page has {len(text.encode())} bytes")


def check_words(page):
    for element in page.elements:
        if element["tag"] == "svg" and element["attrs"].get("role") == "img" and not element["attrs"].get("aria-label"):
            fault("a plot has no label for those who do not see it")
    sections = [e for e in page.elements if e["tag"] == "section"]
    for section in sections:
        inside = [e for e in page.elements if any(above is section for above in e["above"])]
        if not any(e["tag"] == "table" for e in inside):
            fault("a section has no table: " + next(e["text"] for e in inside if e["tag"] == "h2"))
    return len(sections)


# ---- colours ----

def linear(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]


def contrast(a, b):
    lights = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in (linear(a), linear(b)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


# Machado, Oliveira and Fernandes 2009, severity 1: how linear RGB looks to people with each deficiency.
SIGHTS = {
    "everybody": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def lab(colour, sight):
    r, g, b = (min(1, max(0, sum(m * c for m, c in zip(row, linear(colour))))) for row in SIGHTS[sight])
    x, y, z = ((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047, 0.2126 * r + 0.7152 * g + 0.0722 * b,
               (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883)
    f = [t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z)]
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


def check_colours(page):
    blocks = re.findall(r":root\{(--page[^}]*)\}", page.style)
    if len(blocks) != 2:
        fault(f"there are {len(blocks)} sets of colours, not one light and one dark")
    for name, block in zip(("light", "dark"), blocks):
        colours = dict(re.findall(r"--(\w+):(#[0-9a-f]{6})", block))
        for text in ("ink", "quiet", "alarm"):
            if contrast(colours[text], colours["page"]) < 4.5:
                fault(f"{name}: {text} has a contrast of {contrast(colours[text], colours['page']):.2f}")
        bands = [c for key, c in colours.items() if re.fullmatch(r"c\d", key)]
        if any(contrast(c, colours["page"]) < 1.4 for c in bands):
            fault(f"{name}: a band can hardly be seen")
        for sight in SIGHTS:
            for a, b in itertools.combinations(bands, 2):
                if math.dist(lab(a, sight), lab(b, sight)) < 12:
                    fault(f"{name}: {a} and {b} look alike to {sight}")
    for fill in re.findall(r"(?:text|\.tick|\.quiet|\.name)[^{}]*\{[^}]*fill:([^;}]*)", page.style):
        if fill not in ("var(--ink)", "var(--quiet)"):
            fault(f"texts are drawn in {fill}, of which nobody computed the contrast")


def main():
    figures = flat(json.load(open(sys.argv[1])))
    text = open(sys.argv[2], encoding="utf-8").read()
    page = Page(text)
    numbers = check_figures(page, figures), check_areas(page, figures), check_cells(page, figures)
    check_closed(page, text)
    sections = check_words(page)
    check_colours(page)
    if min(numbers) == 0 or sections == 0:
        fault(f"there is too little to compare: figures, areas, strips {numbers}, sections {sections}")
    for text in faults[:40]:
        print(text)
    print(f"{numbers[0]} figures, {numbers[1]} areas and {numbers[2]} strips of cells are those of the JSON"
          if not faults else f"{len(faults)} faults")
    return 1 if faults else 0


sys.exit(main())
