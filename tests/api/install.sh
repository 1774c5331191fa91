#!/bin/sh
# Installs into a temporary prefix and uses what is there as a stranger would: the examples are built by pkg-config (shared
# and static) and by CMake's find_package, and run; the program, its manual page and its completion are tried.
#
# usage: install.sh SOURCE_DIR BUILD_DIR CC
set -eu
source=$1
build=$2
cc=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# Run an example in a new warehouse and compare what it prints.
try() { # PROGRAM NAME
  rm -rf "$scratch/lake"
  "$1" "$scratch/lake" >"$scratch/out" || fail "$1 does not run"
  diff -u "$source/examples/c/$2.out" "$scratch/out" || fail "$1 prints something else"
}

cmake --install "$build" --prefix "$prefix" >"$scratch/install.log" || fail "installation: $(cat "$scratch/install.log")"
libdir=$(dirname "$(find "$prefix" -name libtidelake.a)")
for file in bin/tidelake include/tidelake/tidelake.h include/tidelake/error.h include/tidelake/arrow_abi.h \
  share/man/man1/tidelake.1 share/bash-completion/completions/tidelake; do
  [ -s "$prefix/$file" ] || fail "$file is missing"
done
# Nothing of the source or the build may be needed: the prefix moves, too.
mv "$prefix" "$scratch/elsewhere"
libdir=$scratch/elsewhere/${libdir#"$prefix"/}
prefix=$scratch/elsewhere
if grep -rlF -e "$build" -e "$source/" "$libdir/pkgconfig" "$libdir/cmake"; then fail "the files above name the build"; fi

echo "== program"
"$prefix/bin/tidelake" --version
bash -c "source '$prefix/share/bash-completion/completions/tidelake' && complete -p tidelake" || fail "the completion is broken"
if command -v man >/dev/null; then
  warnings=$(MANWIDTH=100 man -l --warnings "$prefix/share/man/man1/tidelake.1" 2>&1 >"$scratch/manual")
  [ -z "$warnings" ] || fail "manual page: $warnings"
  grep -q 'tidelake changelog' "$scratch/manual" || fail "the manual page lacks its commands"
fi

echo "== pkg-config"
export PKG_CONFIG_PATH="$libdir/pkgconfig"
flags="-std=c99 -O2 -Wall -Wextra -Wpedantic -Werror"
mkdir "$scratch/shared" "$scratch/static"
static_libs=$(pkg-config --static --libs tidelake | sed 's/-ltidelake/-l:libtidelake.a/')
for name in orders workers lookup; do
  # shellcheck disable=SC2086,SC2046
  $cc $flags "$source/examples/c/$name.c" -o "$scratch/shared/$name" $(pkg-config --cflags --libs tidelake)
  # shellcheck disable=SC2086,SC2046
  $cc $flags "$source/examples/c/$name.c" -o "$scratch/static/$name" $(pkg-config --cflags tidelake) $static_libs
done
for name in orders workers lookup; do
  LD_LIBRARY_PATH=$libdir try "$scratch/shared/$name" $name
  try "$scratch/static/$name" $name
done
if LD_LIBRARY_PATH=$libdir ldd "$scratch/static/orders" | grep libtidelake; then fail "the static build took the shared library"; fi
LD_LIBRARY_PATH=$libdir ldd "$scratch/shared/orders" | grep -q "libtidelake.so.[0-9]" || fail "the shared library is not used"

echo "== CMake"
cmake -G Ninja -S "$source/examples/c" -B "$scratch/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" >"$scratch/cmake.log" 2>&1 ||
  fail "$(cat "$scratch/cmake.log")"
cmake --build "$scratch/cmake" >"$scratch/cmake.log" 2>&1 || fail "$(cat "$scratch/cmake.log")"
for name in orders workers lookup; do
  try "$scratch/cmake/$name" $name
  try "$scratch/cmake/${name}_static" $name
done
echo "all run"
