#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fetches the packages of requirements-assets.txt, whose hashes pip checks, and takes the models and photos out of them.

They land in .cache/models and .cache/photos. Does nothing when all of them are there.
"""
import pathlib
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / ".cache" / "models"
PHOTOS = ROOT / ".cache" / "photos"

# From which package (its wheel's name begins so), which file, to which folder.
FILES = [
    ("rapidocr", "rapidocr/models/PP-OCRv6_det_small.onnx", MODELS),
    ("rapidocr", "rapidocr/models/PP-OCRv6_rec_small.onnx", MODELS),
    ("rapidocr", "rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx", MODELS),
    ("faster_whisper", "faster_whisper/assets/silero_vad_v6.onnx", MODELS),
    ("scikit_image", "skimage/data/page.png", PHOTOS),
    ("scikit_image", "skimage/data/motorcycle_left.png", PHOTOS),
    ("scikit_image", "skimage/data/chelsea.png", PHOTOS),
    ("scikit_image", "skimage/data/coffee.png", PHOTOS),
    ("scikit_image", "skimage/data/rocket.jpg", PHOTOS),
]


def main() -> None:
    missing = [entry for entry in FILES if not (entry[2] / pathlib.Path(entry[1]).name).exists()]
    if not missing:
        return
    print("Fetching", ", ".join(pathlib.Path(name).name for _, name, _ in missing), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        # The platform is pinned with the hash: the photos are the same in every wheel of that version.
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
             "--only-binary=:all:", "--implementation=cp", "--python-version=3.11",
             "--platform=manylinux_2_28_x86_64", "--require-hashes", "--dest", folder,
             "--requirement", str(ROOT / "scripts" / "requirements-assets.txt")],
            check=True)
        wheels = list(pathlib.Path(folder).glob("*.whl"))
        for package, name, target in missing:
            wheel = next(path for path in wheels if path.name.startswith(package + "-"))
            target.mkdir(parents=True, exist_ok=True)
            with zipfile.ZipFile(wheel) as archive:
                partial = target / (pathlib.Path(name).name + ".partial")
                partial.write_bytes(archive.read(name))
                partial.rename(target / pathlib.Path(name).name)


main()
