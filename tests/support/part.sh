# shellcheck shell=sh
# Which part of a campaign a script takes; see part.py. To be read by the dot command.

# Every PARTS-th of the words, from the part on that CSE_TEST_PART chooses; tells it on stderr.
part_of() { # PARTS WHAT WORD...
    part_count=$1
    part_what=$2
    shift 2
    case ${CSE_TEST_PART:-0} in
    all) echo "$*"; return 0 ;;
    *[!0-9]*)
        echo "CSE_TEST_PART=$CSE_TEST_PART: accepted is a number from 0 on, or all" >&2
        return 64
        ;;
    esac
    part_number=$((${CSE_TEST_PART:-0} % part_count))
    echo "$part_what: part $part_number of $part_count (CSE_TEST_PART=$part_number repeats it," \
        "all takes every part)" >&2
    part_index=0
    for part_word; do
        [ $((part_index % part_count)) -ne "$part_number" ] || printf '%s ' "$part_word"
        part_index=$((part_index + 1))
    done
}
