#!/bin/sh
# Each public header compiles alone, as strict C99 and as C++ (where a C++ compiler is there), without a warning.
# usage: headers.sh SOURCE_DIR CC
set -eu
include=$1/include
cc=$2
strict="-Wall -Wextra -Wpedantic -Wconversion -Werror -fsyntax-only"

cxx=
for candidate in g++ clang++ clang++-19 "clang-19 -nostdinc++"; do
  # shellcheck disable=SC2086
  if echo 'int main() { return 0; }' | $candidate -x c++ -fsyntax-only - 2>/dev/null; then
    cxx=$candidate
    break
  fi
done
[ -n "$cxx" ] || echo "no C++ compiler: only C is tried"

for header in "$include"/tidelake/*.h; do
  name=tidelake/$(basename "$header")
  for twice in "#include <$name>" "#include <$name>
#include <$name>"; do
    # shellcheck disable=SC2086
    printf '%s\nint main(void) { return 0; }\n' "$twice" | $cc -std=c99 $strict -I"$include" -x c -
    # shellcheck disable=SC2086
    [ -z "$cxx" ] || printf '%s\nint main() { return 0; }\n' "$twice" | $cxx -std=c++11 $strict -I"$include" -x c++ -
  done
  echo "$name: C99${cxx:+, C++}"
done
