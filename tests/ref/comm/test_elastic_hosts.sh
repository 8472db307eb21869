# zeroproof elastic on three hosts, made of namespaces: a rank, a daemon, mpirun or a link fails,
# the job restarts on the rest from its checkpoint, and ends in the bits of a run without faults.
# spec: CKPT-2, CKPT-5, CKPT-7
# inputs: build/zeroproof tests/fixtures/lib.sh tests/ref/comm/hosts LICENSE
# alone: most processes wait
. tests/fixtures/lib.sh
timeout 3500 python3 -B tests/ref/comm/hosts/elastic_case.py
code=$?
if [ $code -eq 2 ]; then finish; fi
verdict $code all_cases_end_in_the_bits_of_a_run_without_faults
finish
