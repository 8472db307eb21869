# torchrun with gloo and the recorder on three hosts, made of namespaces: a consistent record, or
# one in which the rank that was killed is named.
# inputs: build/zeroproof build/libzeroproof.so.* ref/num/exact.h tests/fixtures/lib.sh
# inputs: tests/python/lib.sh tests/ref/comm/hosts python/zeroproof conformance/locks
# inputs: conformance/judge conformance/recorder @venv:torch-2.13.0
# alone: six ranks of PyTorch
. tests/python/lib.sh
# shellcheck disable=SC2154 # python is lib.sh's
timeout 1700 python3 -B tests/ref/comm/hosts/torch_case.py "$python" >"$tmp/cases"
code=$?
cat "$tmp/cases"
[ $code -eq 2 ] || verdict $code torchrun_on_three_hosts
finish
