# SPDX-License-Identifier: Apache-2.0
"""Reads text on photos with OpenCV and onnxruntime: what `weir ocr` is compared with.

    python text_reference.py DETECTOR.onnx RECOGNISER.onnx IMAGE...

Prints a line for each line of text: image, confidence, text, corners.
"""
import os
import sys

import cv2
import numpy as np
import onnxruntime


def load(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run(network, array):
    return network.run(None, {network.get_inputs()[0].name: array})[0]


def planes(image):
    """[1, 3, H, W] in -1 to 1 of a BGR image."""
    return np.ascontiguousarray(((image.astype(np.float32) / 255 - 0.5) / 0.5).transpose(2, 0, 1)[None])


def detection_input(image):
    height, width = image.shape[:2]
    scale = max(1.0, 736 / min(height, width))
    size = [max(32, round(side * scale / 32) * 32) for side in (width, height)]
    return planes(cv2.resize(image, size))


def boxes(probability, width, height):
    """[(quadrilateral [4, 2], score)] in pixels of the image of `width` x `height`."""
    mask = cv2.dilate((probability > 0.3).astype(np.uint8), np.ones((2, 2), np.uint8))
    found = []
    for contour in cv2.findContours(mask, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)[0]:
        centre, (a, b), angle = cv2.minAreaRect(contour)
        if min(a, b) < 3:
            continue
        region = np.zeros_like(mask)
        cv2.fillPoly(region, [contour], 1)
        score = float(probability[region == 1].mean())
        if score < 0.5:
            continue
        grow = 2 * a * b * 1.5 / (2 * (a + b))
        points = cv2.boxPoints((centre, (a + grow, b + grow), angle)).astype(np.float64)
        points *= [width / mask.shape[1], height / mask.shape[0]]
        points = points[np.argsort(points[:, 0], kind="stable")]
        left, right = (side[np.argsort(side[:, 1], kind="stable")] for side in (points[:2], points[2:]))
        found.append((np.array([left[0], right[0], right[1], left[1]]), score))
    return found


def crop(image, quad):
    """The part of the image in the quadrilateral, upright, or None where it is too small."""
    quad = quad.astype(np.float32)
    width = max(np.linalg.norm(quad[0] - quad[1]), np.linalg.norm(quad[2] - quad[3]))
    height = max(np.linalg.norm(quad[0] - quad[3]), np.linalg.norm(quad[1] - quad[2]))
    if min(width, height) < 3:
        return None
    target = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    result = cv2.warpPerspective(image, cv2.getPerspectiveTransform(quad, target), (int(width), int(height)),
                                 flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    return np.rot90(result).copy() if result.shape[0] >= 1.5 * result.shape[1] else result


def recognition_input(line):
    columns = max(16, int(np.ceil(48 * line.shape[1] / line.shape[0])))
    array = planes(cv2.resize(line, (columns, 48)))
    return np.pad(array, ((0, 0), (0, 0), (0, 0), (0, max(0, 320 - columns))))


def charset(network):
    return [""] + network.get_modelmeta().custom_metadata_map["character"].split("\n") + [" "]


def decode(scores, characters):
    """Text and mean score of its characters from [steps, characters]."""
    best = scores.argmax(axis=1)
    kept = [i for i, c in enumerate(best) if c != 0 and (i == 0 or c != best[i - 1])]
    text = "".join(characters[best[i]] for i in kept)
    return text, float(scores[kept, best[kept]].astype(np.float64).mean()) if kept else 0.0


def read(detector, recogniser, image):
    """[(text, confidence, quadrilateral)] from the top down."""
    height, width = image.shape[:2]
    lines = []
    for quad, _ in boxes(run(detector, detection_input(image))[0, 0], width, height):
        line = crop(image, quad)
        if line is None:
            continue
        text, confidence = decode(run(recogniser, recognition_input(line))[0], charset(recogniser))
        if confidence >= 0.5:
            lines.append((text, confidence, quad))
    return sorted(lines, key=lambda line: (line[2][:, 1].min(), line[0]))


def main():
    detector, recogniser = load(sys.argv[1]), load(sys.argv[2])
    for path in sys.argv[3:]:
        for text, confidence, quad in read(detector, recogniser, cv2.imread(path, cv2.IMREAD_COLOR)):
            print(f"{os.path.basename(path)}\t{confidence:.3f}\t{text}\t{quad.round().astype(int).tolist()}")


if __name__ == "__main__":
    main()
