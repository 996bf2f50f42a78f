# SPDX-License-Identifier: Apache-2.0
"""Compares `weir ocr` with text_reference.py: photos in, text out.

    python compare_ocr_command.py WEIR MODELS PHOTOS BUILD_FOLDER

Exit code 77 (skipped) when cv2, numpy or onnxruntime is absent.
"""
import json
import os
import subprocess
import sys
import unittest

try:
    import cv2
    import numpy as np
    import onnxruntime  # noqa: F401
except ImportError as error:
    print(f"SKIPPED: {error}; install opencv-python-headless, numpy and onnxruntime for {sys.executable}.")
    sys.exit(77)

import text_reference as reference

WEIR, MODELS, PHOTOS, FOLDER = sys.argv[1:5]
NAMES = ["page.png", "motorcycle_left.png", "text.png", "rocket.jpg", "coffee.png"]
DETECTOR, RECOGNISER = f"{MODELS}/PP-OCRv6_det_small.onnx", f"{MODELS}/PP-OCRv6_rec_small.onnx"


class OcrCommand(unittest.TestCase):
    def test_reads_what_the_reference_reads(self):
        output = os.path.join(FOLDER, "output")
        answer = subprocess.run([WEIR, "ocr", DETECTOR, RECOGNISER, *(f"{PHOTOS}/{name}" for name in NAMES), "--json",
                                 "--output", output], check=True, capture_output=True).stdout
        pages = json.loads(answer)["images"]
        self.assertEqual([os.path.basename(page["image"]) for page in pages], NAMES)
        detector, recogniser = reference.load(DETECTOR), reference.load(RECOGNISER)
        for name, page in zip(NAMES, pages):
            image = cv2.imread(f"{PHOTOS}/{name}", cv2.IMREAD_COLOR)
            expected = reference.read(detector, recogniser, image)
            self.assertEqual([line["text"] for line in page["lines"]], [text for text, _, _ in expected], name)
            for line, (_, confidence, quad) in zip(page["lines"], expected):
                self.assertAlmostEqual(line["confidence"], confidence, delta=0.02, msg=name)
                # Where a probability is within rounding of the threshold, a box may gain or lose a pixel of the map.
                self.assertLess(np.abs(np.array(line["quad"]) - quad).max(), 2.0, name)
            picture = cv2.imread(os.path.join(output, os.path.splitext(name)[0] + ".png"))
            self.assertGreaterEqual(picture.shape[0], image.shape[0])
            self.assertGreaterEqual(picture.shape[1], image.shape[1])

    def test_errors_are_sentences(self):
        missing = subprocess.run([WEIR, "ocr", DETECTOR, RECOGNISER, "no-such.png"], capture_output=True)
        self.assertEqual(missing.returncode, 1)
        self.assertIn("File 'no-such.png' cannot be opened (No such file or directory).", missing.stderr.decode())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
