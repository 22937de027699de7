#!/bin/sh
# Counts like count.py, with nothing but a shell: the signal protocol as it is.
#
#     sh examples/checkpoint/count.sh 100 0.1
#
# SIGUSR1 says that the file `hint` in CEDE_CONTROL_DIR is there. The answer is the file `done` with its number.
target=${1:-100}
step=${2:-0.1}
folder=${CEDE_CHECKPOINT_DIR:-.}
count=0
asked=1    # look once: a hint from before the trap was set sent its signal to nobody
answered=0

# First of all: by default the signal would end this script.
trap 'asked=1' USR1

# A file is written under another name first: nobody ever sees half of it.
put() { printf '%s' "$2" >"$1.new" && mv "$1.new" "$1"; }

# Sets `hint` and `leaving` from {"hint": 1, "leaving": true, "deadline": 1790000000.0}, or `hint` to 0.
look() {
    hint=0
    [ -r "${CEDE_CONTROL_DIR:-/nowhere}/hint" ] || return
    read -r told <"$CEDE_CONTROL_DIR/hint"
    hint=${told#*'"hint":'}
    hint=${hint# }
    hint=${hint%%[!0-9]*}
    case $told in *'"leaving": true'* | *'"leaving":true'*) leaving=1 ;; *) leaving=0 ;; esac
}

save() {
    if put "$folder/count" "$count"; then
        echo "saved $count" # before the answer: whoever gave it may be told to go at once
        put "$CEDE_CONTROL_DIR/done" "$hint"
    else
        put "$CEDE_CONTROL_DIR/failed" "$hint cannot write to $folder"
    fi
    answered=$hint
    if [ "$leaving" = 1 ]; then exit 0; fi
}

if [ "${CEDE_RESUME:-0}" = 1 ]; then
    read -r count <"$folder/count"
    echo "resuming from $count, attempt $CEDE_ATTEMPT"
else
    echo "starting from 0"
fi

while [ "$count" -lt "$target" ]; do
    # A shell takes signals when a command has ended, except in `wait`.
    sleep "$step" &
    wait $!
    count=$((count + 1))
    while [ "$asked" = 1 ]; do
        asked=0
        look
        [ "$hint" -gt "$answered" ] || break
        trap '' USR1 # the signal goes to the whole process group: it must not end `mv`
        save
        asked=1 # another hint may have come while nobody heard
        trap 'asked=1' USR1
    done
done

echo "counted to $count"
