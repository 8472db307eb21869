# `make MPI=0` needs no Open MPI, and the program says what it lacks.
# inputs: Makefile cuda/*.mk cuda/*/*.mk conformance/recorder/*.mk tests/lint/lint.mk
# inputs: tests/ref/*.mk tests/ref/*/*.mk
# inputs: cuda/kernels/nvcc.sh CLAIMS.md LICENSE proofs/pack.sh
# inputs: tests/fixtures/lib.sh
# inputs: ref spec conformance/cases conformance/adapters/zeroproof
. tests/fixtures/lib.sh

# The sanitizers change nothing here: the plain `make test` runs it.
[ "${SAN:-0}" = 1 ] && exit 0
no=$tmp/build

# pkg-config that has no Open MPI
mkdir "$tmp/bin"
printf '#!/bin/sh\ncase "$*" in *ompi*) exit 1 ;; esac\nexec %s "$@"\n' "$(command -v pkg-config)" \
  >"$tmp/bin/pkg-config"
chmod +x "$tmp/bin/pkg-config"
PATH="$tmp/bin:$PATH" "${MAKE:-make}" MPI=0 BUILD="$no" OPT=-O0 SAN=0 "$no/zeroproof" \
  >"$tmp/log" 2>&1
verdict $? make_without_mpi_builds_the_command "$(tail -3 "$tmp/log")"

! ldd "$no/zeroproof" | grep -q libmpi
verdict $? the_command_links_no_mpi_library "$(ldd "$no/zeroproof" 2>&1 | grep mpi)"

"$no/zeroproof" sim --dp 2 --pp 2 >"$tmp/out" 2>"$tmp/err"
verdict $? sim_runs_without_mpi "$(cat "$tmp/err")"

"$no/zeroproof" launch -n 2 train --dp 2 >"$tmp/out" 2>"$tmp/err"
[ $? -eq 3 ] && grep -q 'launch: this program was built without MPI' "$tmp/err"
verdict $? launch_says_that_mpi_is_missing "$(cat "$tmp/err")"

# as mpirun starts it
OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=2 \
  OMPI_COMM_WORLD_LOCAL_RANK=0 timeout 60 "$no/zeroproof" train --data LICENSE --dp 2 \
  >"$tmp/out" 2>"$tmp/err"
[ $? -eq 2 ] && grep -q 'was built without MPI' "$tmp/err"
verdict $? train_under_mpirun_says_that_mpi_is_missing "$(cat "$tmp/err")"

"$no/zeroproof" env >"$tmp/out" 2>"$tmp/err"
grep -q 'MPI.*none' "$tmp/out"
verdict $? env_says_that_there_is_no_mpi "$(cat "$tmp/out")"
finish
