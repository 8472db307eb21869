# Jobs on three hosts, made of namespaces, with faults of ranks, daemons and links: each ends in the
# bits of one host or in errors that name rank and host. spec: LEDG-7, RED-4, RED-5
# inputs: build/zeroproof tests/fixtures/lib.sh tests/ref/comm/hosts LICENSE
# alone: some deadlines are 30 s, and most processes wait
. tests/fixtures/lib.sh
run() { timeout 1700 python3 -B tests/ref/comm/hosts/run.py "$@" 2>"$tmp/err"; }

run --wrong >"$tmp/out"
code=$?
cat "$tmp/out"
if [ $code -eq 2 ]; then finish; fi
verdict $code wrong_expectations_are_reported "$(head -c 2000 "$tmp/err")"
run --cases 30 --seed 1 --jobs 4
verdict $? thirty_jobs_end_as_they_must "$(head -c 6000 "$tmp/err")"
finish
