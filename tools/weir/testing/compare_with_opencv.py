# SPDX-License-Identifier: Apache-2.0
"""Compares the command line's image functions with OpenCV's, through cli_probe.

    python compare_with_opencv.py PROBE PHOTOS BUILD_FOLDER

Exit code 77 (skipped) when cv2 or numpy is absent.
"""
import glob
import os
import subprocess
import sys
import unittest

try:
    import cv2
    import numpy as np
except ImportError as error:
    print(f"SKIPPED: {error}; install opencv-python-headless and numpy for {sys.executable}.")
    sys.exit(77)

PROBE, PHOTOS, FOLDER = sys.argv[1:4]


def probe(*arguments):
    """Runs one command whose last argument is the name of an .npy file, and loads that."""
    path = os.path.join(FOLDER, arguments[-1])
    subprocess.run([PROBE, *map(str, arguments[:-1]), path], check=True)
    return np.load(path)


def photos():
    found = sorted(glob.glob(f"{PHOTOS}/*.png") + glob.glob(f"{PHOTOS}/*.jpg"))
    assert len(found) >= 10, f"{PHOTOS} has {len(found)} photos, and at least 10 are needed"
    return found


def rgb(image):
    """cli_probe's answer as cv2.imread gives it: three channels, BGR."""
    if image.shape[2] == 1:
        image = np.repeat(image, 3, axis=2)
    return image[:, :, 2::-1] if image.shape[2] == 4 else image[:, :, ::-1]


class Decode(unittest.TestCase):
    def test_every_photo(self):
        for path in photos():
            expected = cv2.imread(path, cv2.IMREAD_COLOR)
            actual = rgb(probe("decode", path, "decoded.npy"))
            self.assertEqual(expected.shape, actual.shape, path)
            self.assertEqual(int(cv2.absdiff(expected, np.ascontiguousarray(actual)).max()), 0, path)


class Resize(unittest.TestCase):
    def test_bit_for_bit(self):
        random = np.random.default_rng(5)
        sizes = [(64, 48, 32, 24), (64, 48, 128, 96), (64, 48, 33, 7), (31, 17, 90, 48), (5, 3, 97, 64), (1, 9, 20, 3),
                 (300, 200, 224, 224), (741, 500, 1088, 736), (200, 100, 50, 25), (100, 100, 50, 49), (3, 1, 1, 1)]
        for width, height, to_width, to_height in sizes:
            for channels in (1, 3, 4):
                shape = (height, width, channels)
                image = random.integers(0, 256, shape, dtype=np.uint8)
                if height > 40:
                    image = cv2.GaussianBlur(image, (0, 0), 1.5).reshape(shape)
                path = os.path.join(FOLDER, "resize.png")
                order = {1: [0], 3: [2, 1, 0], 4: [2, 1, 0, 3]}[channels]
                cv2.imwrite(path, np.ascontiguousarray(image[:, :, order]))
                expected = cv2.resize(image, (to_width, to_height)).reshape(to_height, to_width, channels)
                actual = probe("resize", path, to_width, to_height, "resized.npy")
                worst = int(np.abs(expected.astype(int) - actual).max())
                self.assertEqual(worst, 0, f"{width}x{height} to {to_width}x{to_height}, {channels} channels")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
