#!/bin/sh
# python/examples/compare.py: Engine's losses are equal on 1, 2 and 3 ranks, bit by bit, and DDP's
# and FSDP2's differ, or the comparison would see nothing. The other examples: test_wheel.sh.
# inputs: build/libzeroproof.so.* build/libzeroproof_engine.so python tests/fixtures/lib.sh
# inputs: tests/python conformance/locks @venv:torch-2.13.0 @venv:matplotlib
cd "$(dirname "$0")/../.." || exit 3
. tests/python/lib.sh
export GLOO_SOCKET_IFNAME=lo PYTHONWARNINGS=ignore

on() { # on RANKS SCRIPT ARGUMENT...: its output in $tmp/out, its errors in $tmp/err
  ranks=$1
  shift
  timeout 600 "$python" -m torch.distributed.run --nproc-per-node "$ranks" --rdzv-backend c10d \
    --rdzv-endpoint localhost:0 "$@" >"$tmp/out" 2>"$tmp/err"
}

for ranks in 1 2 3; do
  on $ranks python/examples/compare.py --steps 30 --out "$tmp/losses" || cat "$tmp/err"
done
"$python" -c 'import json, sys
one, two, three = (json.load(open(f"{sys.argv[1]}/{n}.json")) for n in (1, 2, 3))
assert len(one["Engine"]) == 30 and one["Engine"] == two["Engine"] == three["Engine"]
for method in ("DDP", "FSDP2"):
    assert one[method] != two[method] and one[method] != three[method], method
    assert max(abs(a - b) for a, b in zip(one[method], one["Engine"])) < 1e-5, method' \
  "$tmp/losses" 2>"$tmp/err"
verdict $? losses_are_equal_only_with_engine "$(tail -n 2 "$tmp/err")"
if plot=$(sh conformance/locks/venv.sh matplotlib matplotlib 2>"$tmp/err"); then
  # numpy is that of PyTorch's environment
  PYTHONPATH=$(echo "${python%/bin/python}"/lib/python*/site-packages) \
    "$plot" python/examples/draw_losses.py "$tmp/losses" "$tmp/losses.svg" 2>"$tmp/err"
  grep -q 'Engine: equal in all bits' "$tmp/losses.svg" &&
    grep -q 'DDP: other last bits' "$tmp/losses.svg"
  verdict $? the_picture_shows_it "$(tail -n 2 "$tmp/err")"
else
  echo "not run: the picture of losses ($(tail -n 1 "$tmp/err"))"
fi
exit "$bad"
