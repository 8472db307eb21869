# The peak memory of each command that repeats work (steps, cases, records) is that of a tenth of
# the work, plus what the command keeps by design.
# inputs: build/zeroproof build/zeroproof-simdev build/libzptrace_nccl.so build/libsimdev.so*
# inputs: build/tests/drivers tests/ref/cli/memory_flat.py conformance LICENSE
if [ "${SAN:-0}" = 1 ]; then
  echo "not run: sanitizers keep freed memory"
  exit 0
fi
exec python3 -B tests/ref/cli/memory_flat.py
