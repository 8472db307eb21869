# No two threads of a kernel of the model access the same byte: under ThreadSanitizer, with each
# thread a fiber (races.c, model_races.c). spec: ERR-1
# inputs: build/libzeroproof.a tests/fixtures/lib.sh tests/drivers/cuda/model_races.c
# inputs: tests/drivers/cuda/races.c tests/drivers/cuda/*.h cuda/gpt cuda/kernels cuda/simdev
# inputs: cuda/engine ref spec/acsl
. tests/fixtures/lib.sh

[ "${SAN:-0}" = 1 ] && exit 0
build=${ZP_BUILD:-build}
headers=${ZP_CUDA_FLAGS:-$(make -s cuda-flags)}
compiled() { # compiled NAME: of the sources in $from
  # shellcheck disable=SC2086
  gcc -std=c11 -O1 -g -w -fsanitize=thread -ffp-contract=off -fno-strict-aliasing $headers \
    -DZP_THREADS_AT_ONCE tests/drivers/cuda/model_races.c \
    cuda/kernels/kernels.c cuda/kernels/launch.c \
    "$from/layers.c" "$from/gpt.c" "$from/gpt_net.c" "$from/product.c" "$from/judge.c" \
    "$build/libzeroproof.a" \
    -o "$tmp/$1" -pthread -ljansson -lxxhash -lm
}
fixed=$(setarch -R true 2>/dev/null && echo setarch -R)
watched() { # watched COMMAND...
  TSAN_OPTIONS=halt_on_error=0:exitcode=66 timeout 300 $fixed "$@" >"$tmp/out" 2>&1
}

from=cuda/gpt
if ! compiled races 2>"$tmp/out"; then
  verdict 1 model_races_compile "$(head -3 "$tmp/out")"
  finish
fi
watched "$tmp/races"
verdict $? the_models_kernels_have_no_race "$(grep -m3 -E 'WARNING|#0' "$tmp/out" | tr '\n' ' ')"
kernels=$(grep '^zp_' "$tmp/out" | sort -u | wc -l)
[ "$kernels" -eq "$(grep -c '^ZP_KERNEL' cuda/gpt/layers_list.h)" ]
verdict $? every_kernel_of_the_model_runs "$kernels kernels"

# Two threads that write the same element are reported.
mkdir "$tmp/cuda" && cp -r cuda/gpt cuda/kernels cuda/simdev cuda/engine "$tmp/cuda"
ln -s "$PWD/ref" "$PWD/spec" "$tmp"
sed -i 's/t.blockDim\[0\] + t.threadIdx\[0\];/t.blockDim[0] + t.threadIdx[0] \/ 2;/' \
  "$tmp/cuda/gpt/items.h"
from=$tmp/cuda/gpt
compiled twice && watched "$tmp/twice"
[ $? -eq 66 ] && grep -q 'data race' "$tmp/out" &&
  grep -qE 'in zp_(product|gelu|columns)' "$tmp/out"
verdict $? an_element_written_twice_is_reported "$(tail -2 "$tmp/out" | tr '\n' ' ')"
finish
