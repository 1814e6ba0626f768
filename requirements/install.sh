#!/bin/sh
# Installs a lock and shows how far it is: install.sh PYTHON LOCK
# A terminal gets one line that counts; elsewhere every twentieth library has a line of its own.
python=$1 lock=$2
total=$(grep -c '^[A-Za-z0-9].*==' "$lock")
code=$(mktemp) || exit 2
trap 'rm -f "$code"' EXIT
begun=$(date +%s) count=0

show() {
    if [ -t 1 ]; then
        printf '\r  %-72.72s' "$1"
    elif [ "$2" = always ] || [ $((count % 20)) -eq 0 ]; then
        echo "  $1"
    fi
}

{
    "$python" -m pip install --disable-pip-version-check --no-input --progress-bar off \
        --require-hashes -r "$lock"
    echo $? >"$code"
} | while read -r word name _; do
    case $word in
    Collecting | Requirement)
        count=$((count + 1))
        show "library $count of $total: ${name%%[=<>;]*}"
        ;;
    Processing) # a file that is already here
        count=$((count + 1)) name=${name##*/}
        show "library $count of $total: ${name%%-*}"
        ;;
    Installing)
        show "unpacking $count libraries ..." always
        ;;
    esac
done
[ ! -t 1 ] || printf '\r%-74s\r' ''
[ "$(cat "$code")" = 0 ] || exit 1
echo "-- $total libraries: $(($(date +%s) - begun)) s"
