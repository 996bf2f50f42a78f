#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fetches the packages of requirements-assets.txt, whose hashes pip checks, and takes the models and photos out of them.

They land in .cache/models and .cache/photos. Does nothing when they were fetched before.
"""
import fnmatch
import pathlib
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / ".cache" / "models"
PHOTOS = ROOT / ".cache" / "photos"

# From which package (its wheel's name begins so), which files (a pattern), to which folder.
FILES = [
    ("rapidocr", "rapidocr/models/PP-OCRv6_det_small.onnx", MODELS),
    ("rapidocr", "rapidocr/models/PP-OCRv6_rec_small.onnx", MODELS),
    ("rapidocr", "rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx", MODELS),
    ("faster_whisper", "faster_whisper/assets/silero_vad_v6.onnx", MODELS),
    ("scikit_image", "skimage/data/*.png", PHOTOS),
    ("scikit_image", "skimage/data/*.jpg", PHOTOS),
]
# Written last: says which list of packages and files the folder holds.
STAMP = ROOT / ".cache" / "assets.stamp"


def wanted() -> str:
    """What STAMP reads when everything is there."""
    listed = "".join(f"{package} {pattern}\n" for package, pattern, _ in FILES)
    return (ROOT / "scripts" / "requirements-assets.txt").read_text() + listed


def main() -> None:
    if STAMP.exists() and STAMP.read_text() == wanted():
        return
    print("Fetching models and photos", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        # The platform is pinned with the hash: the photos are the same in every wheel of that version.
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
             "--only-binary=:all:", "--implementation=cp", "--python-version=3.11",
             "--platform=manylinux_2_28_x86_64", "--require-hashes", "--dest", folder,
             "--requirement", str(ROOT / "scripts" / "requirements-assets.txt")],
            check=True)
        wheels = list(pathlib.Path(folder).glob("*.whl"))
        for package, pattern, target in FILES:
            wheel = next(path for path in wheels if path.name.startswith(package + "-"))
            target.mkdir(parents=True, exist_ok=True)
            with zipfile.ZipFile(wheel) as archive:
                names = fnmatch.filter(archive.namelist(), pattern)
                if not names:
                    sys.exit(f"Package '{wheel.name}' holds no file '{pattern}'.")
                for name in names:
                    (target / pathlib.Path(name).name).write_bytes(archive.read(name))
    STAMP.write_text(wanted())


main()
