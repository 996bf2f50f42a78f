#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the Debian packages weir, libweir0, libweir-runtime0 and libweir-dev, and leaves them in
# build-package/packages/. Arguments go to CMake.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/packages.sh
install_packages "${build_packages[@]}" "${package_packages[@]}"
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
cmake -S . -B build-package -G Ninja -DCMAKE_INSTALL_PREFIX=/usr -DWEIR_WARNINGS_AS_ERRORS=ON \
  -DWEIR_BUILD_TESTS=OFF -DWEIR_DEBIAN=ON "$@" >/dev/null
ninja -C build-package --quiet
rm -rf build-package/packages
(cd build-package && cpack -G DEB >cpack.log) || {
  cat build-package/cpack.log
  exit 1
}
rm -rf build-package/packages/_CPack_Packages
ls -l build-package/packages/*.deb
