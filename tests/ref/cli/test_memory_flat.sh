# The peak memory of each command that repeats work (steps, cases, records) is that of a tenth of
# the work, plus what the command keeps by design.
# inputs: build/zeroproof build/zeroproof-simdev build/libzptrace_nccl.so build/libsimdev.so*
# inputs: build/tests/drivers tests/ref/cli/memory_flat.py conformance LICENSE
case ${ZP_BUILD:-build} in
*san*)
  echo "not run: sanitizers keep freed memory"
  exit 0
  ;;
esac
exec python3 -B tests/ref/cli/memory_flat.py
