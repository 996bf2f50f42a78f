# SPDX-License-Identifier: Apache-2.0
"""Opens the drawing of a memory plan in a headless browser and checks what it shows.

    python check_plan_html.py PROBE BUILD_FOLDER

Exit code 77 (skipped) when there is no Chromium, or no cv2.
"""
import html.parser
import json
import os
import shutil
import subprocess
import sys
import unittest

try:
    import cv2
except ImportError as error:
    print(f"SKIPPED: {error}; install opencv-python-headless for {sys.executable}.")
    sys.exit(77)

BROWSER = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
if BROWSER is None:
    print("SKIPPED: there is no Chromium; install the package chromium.")
    sys.exit(77)

PROBE, FOLDER = sys.argv[1:3]
WIDTH, HEIGHT = 1360, 1400


def browse(page, *arguments):
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
               f"--user-data-dir={FOLDER}/profile", f"--window-size={WIDTH},{HEIGHT}", *arguments, f"file://{page}"]
    return subprocess.run(command, check=True, capture_output=True, timeout=120).stdout.decode()


class Elements(html.parser.HTMLParser):
    """Every start tag with its attributes."""

    def __init__(self, text):
        super().__init__()
        self.all = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.all.append((tag, dict(attrs)))

    def of_class(self, tag, name):
        return [a for t, a in self.all if t == tag and name in (a.get("class") or "").split()]


class PlanHtml(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.page = os.path.abspath(os.path.join(FOLDER, "plan.html"))
        subprocess.run([PROBE, "plan_html", "60", cls.page], check=True)
        subprocess.run([PROBE, "plan_json", "60", os.path.join(FOLDER, "plan.json")], check=True)
        with open(os.path.join(FOLDER, "plan.json"), encoding="utf-8") as file:
            cls.plan = json.load(file)
        cls.elements = Elements(browse(cls.page, "--dump-dom"))

    def test_a_box_for_each_tensor_in_the_arena(self):
        placed = {i: t for i, t in enumerate(self.plan["tensors"]) if t["offset"] >= 0}
        self.assertGreater(len(placed), 200)
        boxes = {int(a["data-tensor"]): a for a in self.elements.of_class("rect", "box")}
        self.assertEqual(sorted(boxes), sorted(placed))
        # Width in steps and height in bytes on one scale for all; the smallest are drawn a little larger.
        step = max(float(b["width"]) / (placed[i]["last_step"] - placed[i]["first_step"] + 1) for i, b in boxes.items())
        largest = max(placed, key=lambda i: placed[i]["bytes"])
        byte = float(boxes[largest]["height"]) / placed[largest]["bytes"]
        left = min(float(b["x"]) for b in boxes.values())
        bottom = float(boxes[largest]["y"]) + byte * (placed[largest]["offset"] + placed[largest]["bytes"])
        for index, box in boxes.items():
            tensor = placed[index]
            self.assertAlmostEqual(float(box["x"]), left + step * tensor["first_step"], delta=0.01)
            self.assertAlmostEqual(float(box["width"]), step * (tensor["last_step"] - tensor["first_step"] + 1), delta=0.01)
            self.assertAlmostEqual(float(box["y"]), bottom - byte * (tensor["offset"] + tensor["bytes"]), delta=0.1)
            self.assertAlmostEqual(float(box["height"]), max(byte * tensor["bytes"], 0.8), delta=0.1)
            kind = "alias" if tensor["alias_of"] >= 0 else tensor["kind"]
            self.assertIn(kind, box["class"].split())
        for name, value in (("peak", "peak_bytes"), ("bound", "lower_bound_bytes"), ("unfused", "unfused_bound_bytes")):
            line, = self.elements.of_class("line", name)
            self.assertAlmostEqual(float(line["y1"]), bottom - byte * self.plan[value], delta=0.1)
        self.assertEqual(len(self.elements.of_class("g", "badge")), 12)

    def test_tables_have_all_rows(self):
        rows = [a for t, a in self.elements.all if t == "tr"]
        self.assertEqual(len([a for a in rows if "data-step" in a]), len(self.plan["steps"]))
        self.assertEqual(len([a for a in rows if "data-tensor" in a]), 12)
        refused = sum(len(s["refused"]) for s in self.plan["steps"])
        self.assertGreater(refused, 0)
        self.assertEqual(len(self.elements.of_class("div", "refused")), refused)
        self.assertEqual(len(self.elements.of_class("td", "cost")), 1)

    def screenshot(self, page, colour):
        """How much of the window has about this colour (blue, green, red)."""
        path = os.path.join(FOLDER, os.path.basename(page) + ".png")
        browse(page, f"--screenshot={path}")
        image = cv2.imread(path)
        self.assertEqual(image.shape[1], WIDTH)
        return float((abs(image.astype(int) - colour).max(axis=2) <= 24).mean())

    def test_is_painted_light_and_dark(self):
        self.assertGreater(self.screenshot(self.page, (0xC8, 0x73, 0x2F)), 0.02)  # boxes of activations
        self.assertGreater(self.screenshot(self.page, (0xFF, 0xFF, 0xFF)), 0.3)
        dark = os.path.abspath(os.path.join(FOLDER, "dark.html"))
        with open(self.page, encoding="utf-8") as file, open(dark, "w", encoding="utf-8") as out:
            out.write(file.read().replace("(prefers-color-scheme: dark)", "all"))
        self.assertGreater(self.screenshot(dark, (0xEA, 0x9B, 0x5B)), 0.02)
        self.assertGreater(self.screenshot(dark, (0x24, 0x1F, 0x1C)), 0.3)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
