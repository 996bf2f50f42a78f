#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the packages (scripts/package.sh), installs them in a bare Debian, uses them there, and removes them again. As root:
#
#   scripts/try_packages.sh
#
# The bare Debian is of this machine's release, from the mirror that its apt is configured for, in a temporary folder
# that is deleted at the end (1 GB, 2 minutes). There
#   libweir-runtime0  comes without protobuf and ONNX's schema
#   weir              answers `weir --version` and `weir devices`, without the libraries
#   libweir-dev       is found by CMake and by pkg-config: libraries/consumer is linked in all four forms, the installed
#                     examples are built, and they run
# and once the packages are removed, nothing of theirs is left.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/packages.sh
if ((EUID != 0)); then
  echo "scripts/try_packages.sh makes a root file system of its own, so run it as root." >&2
  exit 1
fi
install_packages "${try_packages[@]}"
scripts/package.sh >/dev/null

release=$(source /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(apt-get indextargets --format '$(RELEASE) $(CODENAME) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
  awk -v release="$release" '($1 == release || $2 == release) && / main / && !found { print $NF; found = 1 }')
if [[ -z $mirror ]]; then
  echo "The configuration of apt names no mirror of $release main." >&2
  exit 1
fi
eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
[[ -z ${http_proxy:-} ]] || export http_proxy
[[ -z ${https_proxy:-} ]] || export https_proxy

root=$(mktemp -d)
chmod 755 "$root"
trap 'rm -rf --one-file-system "$root"' EXIT
# A command in the bare Debian. Its /proc is mounted in a namespace that ends with the command.
inside() {
  # shellcheck disable=SC2016  # expanded by that shell
  unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" \
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} "$@"
}
install() {  # patterns of files are those of the bare Debian
  echo "Installing $*"
  inside sh -c "apt-get install -y -qq --no-install-recommends $*" >"$root/apt.log" 2>&1 || {
    cat "$root/apt.log"
    exit 1
  }
}
fail() {
  echo "try_packages: $*" >&2
  exit 1
}

echo "Making a bare $release"
debootstrap --variant=minbase --include=ca-certificates "$release" "$root" "$mirror" >"$root.log" 2>&1 || {
  tail -n 20 "$root.log"
  rm -f "$root.log"
  exit 1
}
rm -f "$root.log"
inside apt-get update -qq
cp -r build-package/packages libraries/consumer "$root/root/"
packages() {
  inside dpkg-query -W -f='${Package} ${db:Status-Status}\n' | awk '$2 == "installed" { print $1 }'
}
list() {  # of files and folders named after Weir, but for what was copied in
  inside find / -xdev -path /root -prune -o -path /proc -prune -o -iname '*weir*' -print
}

install /root/packages/libweir-runtime0_*.deb
if packages | grep -E 'protobuf|onnx'; then fail "libweir-runtime0 brings what imports"; fi
inside sh -c 'ldd /usr/lib/*/libweir_runtime.so.0' | { ! grep 'not found'; } || fail "libweir_runtime.so.0 lacks libraries"

install /root/packages/weir_*.deb
if packages | grep -x libweir0; then fail "weir brings libweir0"; fi
inside weir --version
inside weir devices

install /root/packages/lib*.deb cmake g++ ninja-build pkg-config libfmt-dev libxxhash-dev libhwy-dev libprotobuf-dev libonnx-dev
inside cmake -G Ninja -S /root/consumer -B /root/built >/dev/null
inside ninja -C /root/built --quiet
for program in consumer runtime_consumer static_consumer runtime_static_consumer; do
  echo "$program, found by CMake: $(inside "/root/built/$program")"
done
for library in weir weir_runtime; do
  inside sh -c "c++ -std=c++17 /root/consumer/consumer.cc \$(pkg-config --cflags --libs $library) -o /root/$library"
  echo "$library, found by pkg-config: $(inside "/root/$library")"
done
inside cmake -G Ninja -S /usr/share/doc/weir/examples -B /root/examples >/dev/null
inside ninja -C /root/examples --quiet
inside /root/examples/heap_loop

[[ -n $(list) ]] || fail "no file is named after Weir, so looking for what is left shows nothing"
inside apt-get purge -y -qq weir libweir0 libweir-runtime0 libweir-dev >"$root/apt.log" 2>&1 || fail "they cannot be removed"
left=$(list)
[[ -z $left ]] || fail "this is left of removed packages: $left"
echo "Installed, used and removed in a bare $release: $(cd build-package/packages && echo *.deb)"
