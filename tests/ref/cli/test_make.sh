# What make makes: a program is whole whenever it is called, and nothing is made twice.
# inputs: Makefile cuda/*.mk cuda/*/*.mk conformance/recorder/*.mk tests/lint/lint.mk
# inputs: tests/ref/*.mk tests/ref/*/*.mk
# inputs: cuda/kernels/nvcc.sh CLAIMS.md proofs/pack.sh tests/fixtures/lib.sh ref spec
# inputs: cuda/host_optimizer cuda/kernels cuda/simdev tests/bench/bench_adamw.c
. tests/fixtures/lib.sh

make="${MAKE:-make} --no-print-directory BUILD=$tmp/b"

# A linker that takes its time, called by two makes at once, of a program that others call.
mkdir "$tmp/b"
cat >"$tmp/slow.sh" <<'X'
shift # -o
printf '#!/bin/sh\n' >"$1"
chmod +x "$1"
sleep 1
echo 'echo whole' >>"$1"
X
cat >"$tmp/mk" <<'X'
include Makefile
$(BUILD)/called: $(BUILD)/new
	$(call link,sh $(BUILD)/../slow.sh,)
X
touch "$tmp/b/new"
$make -f "$tmp/mk" "$tmp/b/called" >"$tmp/out" 2>&1
verdict $? a_program_is_linked "$(tail -3 "$tmp/out")"
touch -d '+1 minute' "$tmp/b/new"
for i in 1 2; do $make -f "$tmp/mk" "$tmp/b/called" >"$tmp/out.$i" 2>&1 & done
calls=0
while [ $calls -lt 15 ] && [ "$("$tmp/b/called" 2>&1)" = whole ]; do
  calls=$((calls + 1))
  sleep 0.1
done
wait
[ $calls -eq 15 ]
verdict $? a_program_is_whole_while_it_is_linked_again "after $calls calls"
[ "$(ls "$tmp/b")" = "$(printf 'called\nnew')" ]
verdict $? and_nothing_is_left_beside_it "$(ls "$tmp/b")"
$make -nB "$tmp/b/zeroproof" 2>/dev/null | tail -1 | grep -q " && mv -f .* $tmp/b/zeroproof\$"
verdict $? the_command_is_linked_so

# The optimizer on the host is compiled with flags of its own: they are no one else's.
for o in cuda/host_optimizer/update tests/bench/bench_adamw; do
  $make "$tmp/b/ref/num/value.o" "$tmp/b/$o.o" >"$tmp/out" 2>&1
  $make "$tmp/b/$o.o" "$tmp/b/ref/num/value.o" >"$tmp/again" 2>&1
  grep -q "CC .*$(basename "$o")" "$tmp/out" && ! grep -q CC "$tmp/again"
  verdict $? "nothing_is_compiled_again_behind_$(basename "$o")" "$(cat "$tmp/out" "$tmp/again")"
done

# The versions of the packages stand in the evidence, whether it passes or not.
mkdir "$tmp/bin"
cat >"$tmp/bin/dpkg-query" <<'X'
#!/bin/sh
shift 2
for p; do [ $p = z3 ] || echo "$p 1.0-$p installed"; done
X
cat >"$tmp/bin/fake-make" <<'X'
#!/bin/sh
echo "$ZP_VERDICTS $*" >>"${0%/*}/calls"
[ "$2" = packages ]
X
chmod +x "$tmp/bin/dpkg-query" "$tmp/bin/fake-make"
PATH="$tmp/bin:$PATH" $make packages >"$tmp/out" 2>&1
grep -q 'not installed: z3$' "$tmp/out"
verdict $? a_package_that_is_not_installed_is_named "$(tail -3 "$tmp/out")"
lacks=$(for p in libjansson-dev libjansson4 libxxhash0 openmpi-bin libcriterion-dev frama-c-base \
  shellcheck python3-venv; do grep -qx "$p 1.0-$p" "$tmp/b/packages.txt" || echo "$p"; done)
[ -z "$lacks" ]
verdict $? versions_of_all_packages_are_recorded "$lacks"
$make evidence MAKE="$tmp/bin/fake-make" >"$tmp/out" 2>&1
code=$?
printf 'compare --no-print-directory test\n --no-print-directory packages\n' >"$tmp/expected"
[ $code -ne 0 ] && cmp -s "$tmp/bin/calls" "$tmp/expected" &&
  grep -qx 'libjansson4 1.0-libjansson4' "$tmp/out"
verdict $? a_failed_evidence_lists_the_versions "$(cat "$tmp/bin/calls" "$tmp/out")"
finish
