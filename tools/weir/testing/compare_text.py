# SPDX-License-Identifier: Apache-2.0
"""Compares every step of reading text with text_reference.py, the networks run by onnxruntime.

    python compare_text.py PROBE MODELS PHOTOS BUILD_FOLDER

Exit code 77 (skipped) when cv2, numpy or onnxruntime is absent.
"""
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

PROBE, MODELS, PHOTOS, FOLDER = sys.argv[1:5]
NAMES = ["page.png", "motorcycle_left.png", "text.png", "rocket.jpg", "coffee.png"]


def path_of(name):
    return os.path.join(FOLDER, name)


def probe(*arguments):
    path = path_of(arguments[-1])
    subprocess.run([PROBE, *map(str, arguments[:-1]), path], check=True)
    return np.load(path)


class Text(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.detector = reference.load(f"{MODELS}/PP-OCRv6_det_small.onnx")
        cls.recogniser = reference.load(f"{MODELS}/PP-OCRv6_rec_small.onnx")
        with open(path_of("charset.txt"), "w", encoding="utf-8", newline="") as file:
            file.write(cls.recogniser.get_modelmeta().custom_metadata_map["character"])

    def decode(self, scores):
        np.save(path_of("scores.npy"), scores)
        output = subprocess.run([PROBE, "text", path_of("scores.npy"), path_of("charset.txt")], check=True,
                                capture_output=True).stdout.decode()
        confidence, text = output.split("\t", 1)
        return text, float(confidence)

    def check_photo(self, name):
        photo = f"{PHOTOS}/{name}"
        image = cv2.imread(photo, cv2.IMREAD_COLOR)
        height, width = image.shape[:2]
        expected_input = reference.detection_input(image)
        actual_input = probe("detection_input", photo, "detection_input.npy")
        np.testing.assert_array_equal(actual_input, expected_input)

        probability = reference.run(self.detector, expected_input)[0, 0]
        np.save(path_of("probability.npy"), probability)
        expected = reference.boxes(probability, width, height)
        actual = probe("quads", path_of("probability.npy"), width, height, "quads.npy")
        self.assertEqual(len(actual), len(expected), name)
        unmatched = list(range(len(actual)))
        texts = []
        for quad, score in expected:
            index = min(unmatched, key=lambda i: np.abs(actual[i, :8].reshape(4, 2) - quad).max())
            unmatched.remove(index)
            self.assertLess(np.abs(actual[index, :8].reshape(4, 2) - quad).max(), 0.01, name)
            self.assertAlmostEqual(actual[index, 8], score, delta=1e-5)
            line = reference.crop(image, quad)
            ours = probe("crop", photo, path_of("quads.npy"), index, "crop.npy")[:, :, ::-1]
            if ours.shape[2] == 1:
                ours = np.repeat(ours, 3, axis=2)
            self.assertEqual(ours.shape, line.shape, name)
            self.assertLess(np.abs(ours.astype(int) - line).mean(), 0.1, name)
            fed = probe("recognition_input", photo, path_of("quads.npy"), index, "recognition_input.npy")
            expected_fed = reference.recognition_input(line)
            self.assertEqual(fed.shape, expected_fed.shape)
            self.assertLess(np.abs(fed - expected_fed).mean(), 0.001, name)
            # The same text whether we feed the network or the reference does, and whoever decodes.
            scores = reference.run(self.recogniser, expected_fed)[0]
            text, confidence = reference.decode(scores, reference.charset(self.recogniser))
            self.assertEqual(self.decode(scores)[0], text)
            self.assertAlmostEqual(self.decode(scores)[1], confidence, delta=1e-6)
            if confidence >= 0.5:
                own_text, own_confidence = self.decode(reference.run(self.recogniser, fed)[0])
                self.assertEqual(own_text, text)
                self.assertAlmostEqual(own_confidence, confidence, delta=0.02)
                texts.append(text)
        return texts

    def test_photos(self):
        found = {name: self.check_photo(name) for name in NAMES}
        self.assertEqual(len(found["page.png"]), 7)
        self.assertIn("Region-based segmentation", found["page.png"])
        self.assertIn("histogram of grey values:", found["page.png"])
        self.assertIn("YAMAHA", found["motorcycle_left.png"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
