# SPDX-License-Identifier: Apache-2.0
#
# What Weir needs from Debian 12, for the other scripts to source. Building and running need the first list, the tests
# both.

build_packages=(
  ca-certificates
  ccache
  cmake
  flatbuffers-compiler
  g++
  libcli11-dev
  libflatbuffers-dev
  libfmt-dev
  libgmock-dev
  libgtest-dev
  libhwy-dev
  libjpeg62-turbo-dev
  libonnx-dev
  libpng-dev
  libprotobuf-dev
  libxxhash-dev
  ninja-build
  nlohmann-json3-dev
  pkg-config
  protobuf-compiler
  python3
  python3-venv
  unzip
)

test_packages=(
  chromium
  clang-format-19
  git
)
