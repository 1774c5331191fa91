#!/bin/bash
# A disk that runs full, and one that is read-only: the failure is told, what was committed stays whole, and the same command
# goes through once there is space. Uses a small memory disk in a mount namespace; exit status 77 where that is not allowed.
#
# usage: full_disk.sh TIDELAKE
set -u
tidelake=$1

if [ "${2-}" != inside ]; then
  unshare --user --map-root-user --mount true 2>/dev/null || {
    echo "no mount namespaces here: skipped"
    exit 77
  }
  exec unshare --user --map-root-user --mount "$0" "$tidelake" inside
fi

scratch=$(mktemp -d)
trap 'umount "$scratch/disk" 2>/dev/null; rm -rf "$scratch"' EXIT
mkdir "$scratch/disk"
mount -t tmpfs -o size=2m tidelake "$scratch/disk" 2>/dev/null || {
  echo "no memory disk here: skipped"
  exit 77
}
export TIDELAKE_WAREHOUSE=$scratch/disk/lake

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# Rows with texts that do not compress.
rows() { # FROM TO
  head -c $((($2 - $1) * 600)) /dev/urandom | base64 -w 800 |
    awk -v k="$1" '{ printf "{\"k\":%d,\"v\":\"%s\"}\n", k++, $0 }'
}

echo '{"columns":[{"name":"k","type":"INT"},{"name":"v","type":"STRING"}],"primaryKeys":["k"],"options":{"bucket":"1"}}' |
  "$tidelake" create db.t - >/dev/null || fail "create"
rows 0 100 >"$scratch/small.jsonl"
"$tidelake" write db.t "$scratch/small.jsonl" >/dev/null || fail "write"
rows 100 5000 >"$scratch/large.jsonl"

"$tidelake" write db.t "$scratch/large.jsonl" 2>"$scratch/err"
[ $? -eq 1 ] || fail "a write to a full disk had another exit status than 1"
grep -q 'No space left on device' "$scratch/err" || fail "the reason was not told: $(cat "$scratch/err")"
grep -q 'free some space and run the command again' "$scratch/err" || fail "what to do was not told: $(cat "$scratch/err")"
[ "$("$tidelake" read db.t | wc -l)" -eq 100 ] || fail "rows were lost or half a write is visible"
"$tidelake" fsck db.t --all >"$scratch/fsck" || fail "fsck: $(cat "$scratch/fsck")"
[ "$(find "$TIDELAKE_WAREHOUSE" -name 'data-*' | wc -l)" -eq 1 ] || fail "files of the failed write were left: $(find "$TIDELAKE_WAREHOUSE" -type f)"

mount -o remount,ro "$scratch/disk" 2>/dev/null && {
  "$tidelake" write db.t "$scratch/small.jsonl" 2>"$scratch/err"
  [ $? -eq 1 ] || fail "a write to a read-only disk had another exit status than 1"
  grep -q 'Read-only file system' "$scratch/err" || fail "the reason was not told: $(cat "$scratch/err")"
  [ "$("$tidelake" read db.t | wc -l)" -eq 100 ] || fail "a read-only disk cannot be read"
  mount -o remount,rw "$scratch/disk"
}

mount -o remount,size=64m "$scratch/disk" || fail "the disk does not grow"
"$tidelake" write db.t "$scratch/large.jsonl" >/dev/null || fail "the write with space"
[ "$("$tidelake" read db.t | wc -l)" -eq 5000 ] || fail "rows are missing after the write with space"
"$tidelake" fsck db.t --all >/dev/null || fail "fsck after the write with space"
echo "a full disk costs nothing that was committed"
