# SPDX-License-Identifier: Apache-2.0
#
# What Weir needs from Debian 12, for the other scripts to source. Building and running need the first list, the tests
# the second too, scripts/package.sh, lint.sh and coverage.sh one each.

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

package_packages=(
  dpkg-dev
  file
)

# What scripts/try_packages.sh needs beside what it installs in its bare Debian.
try_packages=(
  debootstrap
)

coverage_packages=(
  gcovr
)

lint_packages=(
  clang-tidy-19
  libbenchmark-dev
)

# What scripts/fuzz.sh needs beside the first list.
fuzz_packages=(
  clang-19
  libclang-rt-19-dev
)

# Installs those of the named packages that are missing.
install_packages() {
  local missing=() package
  for package in "$@"; do
    if [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
      missing+=("$package")
    fi
  done
  if ((${#missing[@]})); then
    echo "Installing ${missing[*]}"
    local sudo=()
    if ((EUID != 0)); then
      sudo=(sudo)
    fi
    "${sudo[@]}" apt-get update -qq
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  fi
}
