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


def masks():
    """Noise at several densities and grains, and photos cut at a brightness: holes, islands, spikes, borders."""
    random = np.random.default_rng(11)
    for density in (0.1, 0.3, 0.5, 0.7, 0.9):
        yield (random.random((37, 53)) < density).astype(np.uint8)
    for grain in (1.0, 2.5, 6.0):
        noise = cv2.GaussianBlur(random.random((240, 320)), (0, 0), grain)
        yield (noise > np.median(noise)).astype(np.uint8)
    for path in photos():
        gray = cv2.imread(path, cv2.IMREAD_GRAYSCALE)
        gray = cv2.resize(gray, None, fx=0.5, fy=0.5)
        yield (gray > gray.mean()).astype(np.uint8)
    yield np.ones((5, 7), np.uint8)
    yield np.zeros((5, 7), np.uint8)
    yield np.ones((1, 9), np.uint8)


class Components(unittest.TestCase):
    def test_dilated_masks_have_the_same_regions_and_rectangles(self):
        regions = holes = other_rectangle = 0
        for mask in masks():
            path = os.path.join(FOLDER, "mask.npy")
            np.save(path, mask)
            contours, _ = cv2.findContours(mask, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
            runs = probe("borders", path, "borders.npy")
            boxes = probe("rectangles", path, "rectangles.npy").reshape(-1, 4, 2).astype(np.float32)
            self.assertEqual(len(contours), len(boxes))
            ours = {}
            starts = np.flatnonzero(np.diff(runs[:, 0], prepend=-1))
            for index, group in enumerate(np.split(runs, starts[1:]) if len(runs) else []):
                inside = np.zeros_like(mask)
                for _, hole, y, first, last in group:
                    inside[y, first:last + 1] = 1
                holes += int(hole)
                ours.setdefault(inside.tobytes(), []).append(boxes[index])
            for contour in contours:
                inside = np.zeros_like(mask)
                cv2.fillPoly(inside, [contour], 1)
                same = ours.get(inside.tobytes())
                self.assertTrue(same, "a region that we do not have")
                box = same.pop()
                regions += 1
                expected = cv2.boxPoints(cv2.minAreaRect(contour))
                area = cv2.contourArea(box)
                self.assertAlmostEqual(area, cv2.contourArea(expected), delta=1e-3 + area * 1e-5)
                distance = np.abs(box[:, None] - expected[None]).max(axis=2).min(axis=0).max()
                # Where two rectangles have the same area, either is right.
                least_side = min(cv2.minAreaRect(contour)[1])
                other_rectangle += int(distance > 1e-2 and least_side >= 3)
        print(f"{regions} regions, {holes} of them holes', {other_rectangle} with another rectangle of the same area")
        self.assertGreater(regions, 5000)
        self.assertGreater(holes, 1000)
        self.assertLess(other_rectangle, regions / 200)


class Warp(unittest.TestCase):
    def test_cubic_with_continued_border(self):
        random = np.random.default_rng(3)
        differing = total = 0
        for path in photos():
            image = cv2.imread(path, cv2.IMREAD_COLOR)
            height, width = image.shape[:2]
            corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * [width, height]
            quad = (corners + random.normal(0, min(width, height) / 8, (4, 2))).astype(np.float32)
            size = (int(random.integers(20, 300)), int(random.integers(20, 200)))
            target = np.array([[0, 0], [size[0], 0], size, [0, size[1]]], np.float32)
            matrix = cv2.getPerspectiveTransform(quad, target)
            expected = cv2.warpPerspective(image, matrix, size, borderMode=cv2.BORDER_REPLICATE, flags=cv2.INTER_CUBIC)
            matrix_path = os.path.join(FOLDER, "matrix.npy")
            np.save(matrix_path, matrix)
            actual = rgb(probe("warp", path, matrix_path, *size, "warped.npy")).astype(int)
            differing += int((expected != actual).any(axis=2).sum())
            total += size[0] * size[1]
            # OpenCV 4 rounds coordinates to 1/32 of a pixel, OpenCV 5 does not.
            exact = int(cv2.__version__.split(".")[0]) >= 5
            self.assertLess(np.abs(expected - actual).mean(), 0.001 if exact else 0.3, path)
            self.assertLessEqual(np.abs(expected - actual).max(), 1 if exact else 12, path)
        print(f"{differing} of {total} pixels differ")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
