# Random kills of ranks and of mpirun in one training under zeroproof elastic. `make elastic-kills`
# has 50.
# spec: CKPT-2, CKPT-5, CKPT-11
# inputs: build/zeroproof tests/ref/cli/elastic_kills.py
# alone: processes are killed
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS:-}" # Open MPI's own, at exit
exec python3 -B tests/ref/cli/elastic_kills.py "${ZEROPROOF:-build/zeroproof}" 5 1
