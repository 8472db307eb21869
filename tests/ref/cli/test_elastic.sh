# zeroproof elastic: a job that lost a rank, or stands still, is ended and restarted from its last
# checkpoint on the slots that are left, and ends in the bits of a run without faults; what it says
# and returns when it cannot.
# spec: CKPT-2, CKPT-5
# inputs: build/zeroproof tests/ref/cli/elastic_kills.py tests/ref/cli/elastic_test.py LICENSE
# alone: processes are killed
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS:-}" # Open MPI's own, at exit
exec python3 -B tests/ref/cli/elastic_test.py "${ZEROPROOF:-build/zeroproof}"
