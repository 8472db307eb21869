# Mistakes that sed puts into a copy of the CUDA engine are found by `zeroproof fuzz --engine cuda`,
# most of them although every result has the right bits.
# spec: STRM-1, STRM-7
# inputs: build/cuda/cli/simdev_main.o build/libzpcuda_verify.a build/libzphappens_before.a
# inputs: build/libzpcuda.a build/libsimdev.a build/libzpcli.a build/libzeroproof.a
# inputs: tests/fixtures/lib.sh cuda ref spec/acsl
. tests/fixtures/lib.sh

# Not under sanitizers: this checks the tests.
[ "${SAN:-0}" = 1 ] && exit 0
build=${ZP_BUILD:-build}
headers=${ZP_CUDA_FLAGS:-$(make -s cuda-flags)}
flags="-std=c11 -O1 -w -ffp-contract=off -fno-strict-aliasing -pthread $headers"
libs="$build/libzpcuda_verify.a $build/libzpcuda.a $build/libzphappens_before.a
  $build/libsimdev.a $build/libzpcli.a $build/libzeroproof.a"
mkdir "$tmp/tree"
cp -r cuda "$tmp/tree"
ln -s "$PWD/ref" "$PWD/spec" "$tmp/tree"
zp=$tmp/zeroproof

linked() { # linked [OBJECT]: $zp, with the object in place of the library's
  gcc -o "$zp" "$@" "$build/cuda/cli/simdev_main.o" $libs -pthread -fopenmp \
    $(pkg-config --libs jansson libxxhash) $(pkg-config --libs ompi-c 2>/dev/null) -lm 2>"$tmp/out"
}
planted() { # planted NAME FILE SED CASE PATTERN: fuzz reports the pattern, and nothing without it
  sed "$3" "cuda/$2" >"$tmp/tree/cuda/$2"
  if cmp -s "cuda/$2" "$tmp/tree/cuda/$2"; then
    verdict 1 "planted:$1" "sed changed nothing in $2"
  elif ! linked; then
    verdict 1 "planted:$1" "not linked: $(head -2 "$tmp/out")"
  else
    expect 0 '^clean' "without:$1" fuzz --engine cuda --schedules 20 --replay "$4"
    if ! gcc $flags -c "$tmp/tree/cuda/$2" -o "$tmp/o.o" 2>"$tmp/out" || ! linked "$tmp/o.o"; then
      verdict 1 "planted:$1" "does not compile: $(head -2 "$tmp/out")"
    else
      expect 1 "$5" "planted:$1" fuzz --engine cuda --schedules 20 --replay "$4"
    fi
  fi
  cp "cuda/$2" "$tmp/tree/cuda/$2"
}

many="dp=2,stage=2,reduce=ordered,precision=bf16,M=12,bucket=16,steps=2,schedule=4"
many="$many,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0"
kept='/^int zp_cuda_wait_for_producers/,/^}/ s/  s->producers = 0;//'
planted a_list_of_producers_is_not_emptied engine/executor/buckets.c "$kept" "$many" \
  'at the end of a step [0-9]* streams are listed for a bucket'
unseen='s/if (b->flat\[k\].producers > 0)/if (0)/'
planted a_list_of_producers_is_full engine/executor/buckets.c "$kept; $unseen" "$many" \
  'more than 16 streams fill one bucket'
moment='if (!r->progress.host.step) { void *x; cudaMalloc(\&x, 8); cudaFree(x); }'
planted memory_is_allocated_in_a_step engine/executor/step.c \
  "/^int zp_cuda_begin_step/,/^}/ s/  zp_cuda_rank \*r = .*/&\n$moment/" \
  "$many" 'STRM-7'

large="dp=2,M=1,steps=1,bucket=300000,stage=2,reduce=ordered,precision=bf16,schedule=2"
planted registered_pages_are_not_unregistered engine/device/memory.c \
  's/else if (cudaHostUnregister(mine->p) == cudaSuccess) /else /' \
  "$large,list=600000@0.0+500001@0.0" 'registered memory made by call'

# What is wrong is read from coded gradients: which contribution, and where.
coded="dp=2,pp=1,reduce=ordered,precision=fp32,bucket=16,steps=1,mode=coded,schedule=4"
of_rank='static int is(const zp_cuda_gradients *g, const zp_op *op) {
  return g->ops->r->opt.rank == 1 \&\& op->mb == 1; }'
for change in "twice:&\\n  if (is(g, op)) &:holds 2 times" "never:  if (!is(g, op)) &:lacks"; do
  text=${change#*:}
  planted "a_contribution_is_added_${change%%:*}" engine/executor/gradients.c \
    "s/^  ZP_TRY(launch_add(g, op));/${text%:*}/
     s/^static int add(const/$(echo "$of_rank" | tr '\n' ' ')\\n&/" \
    "$coded,stage=1,M=3,list=40@0.0" \
    "parameter 0 element .* ${text##*:} the contribution of rank 1 (.*), micro-batch 1"
done
finish
