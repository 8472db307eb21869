# The tests of the kernels (test_kernels_*.c) find each fault that sed injects into a copy of the
# kernels' sources.
# spec: RED-4, RED-5, SUM-3, STEP-7, PART-9
# inputs: build/libzeroproof.a build/tests/cuda/kernels/test_kernels_*.o tests/fixtures/lib.sh
# inputs: cuda/kernels cuda/simdev ref spec/acsl
. tests/fixtures/lib.sh

# Not under sanitizers: this checks the tests, not the kernels.
[ "${SAN:-0}" = 1 ] && exit 0
build=${ZP_BUILD:-build}
cc=${CC:-gcc}
objects="$build/tests/cuda/kernels/test_kernels_copy.o $build/tests/cuda/kernels/test_kernels_sums.o
  $build/tests/cuda/kernels/test_kernels_step.o $build/tests/cuda/kernels/test_kernels_far.o
  $build/tests/cuda/kernels/test_kernels_window.o $build/tests/cuda/kernels/test_kernels_packed.o"
mkdir "$tmp/cuda" && cp -r cuda/kernels cuda/simdev "$tmp/cuda"
ln -s "$PWD/ref" "$PWD/spec" "$tmp"

# The linker that takes least time for 150 programs.
linker=
command -v ld.gold >/dev/null && linker=-fuse-ld=gold
compiled() { # compiled NAME...: makes $tmp/test of the copy, in which these of its sources changed
  for name; do
    "$cc" -std=c11 -O0 -w -ffp-contract=off -fno-strict-aliasing -c "$tmp/cuda/kernels/$name.c" \
      -o "$tmp/$name.o" || return 1
  done
  "$cc" $linker -o "$tmp/test" $objects "$tmp/kernels.o" "$tmp/launch.o" \
    "$build/libzeroproof.a" -pthread -lcriterion -ljansson -lxxhash -lm
}

compiled kernels launch 2>"$tmp/out" && timeout 900 "$tmp/test" >"$tmp/out" 2>&1
verdict $? kernels_without_a_fault_pass "$(tail -3 "$tmp/out")"
cp "$tmp/kernels.o" "$tmp/kernels.whole"

# The tests that are likely to find a fault in a file run first: most faults end there.
likely() { # likely NAME FILE
  case $1 in
  *_in_32_bits) echo 'kernels_far/*' && return ;;
  truncated) echo 'kernels_step/*' && return ;;
  mean_* | means_* | others_means_*) echo 'kernels_sums/squares_of_ordered_*' && return ;;
  padding_half | unused_left_out | window_not_begun | quads_* | vectors_not_watched)
    echo 'kernels_copy/an_fp32_*' && return
    ;;
  not_settled | sums_overwrite) echo 'kernels_sums/sums_*' && return ;;
  esac
  case $2 in
  element.h | gather.h | vector.h) echo 'kernels_copy/*' ;;
  means.h | parts.h | squares.h | stage.h) echo 'kernels_sums/*' ;;
  window.h) echo 'kernels_window/*' ;;
  packed.h) echo 'kernels_packed/*' ;;
  statistics.h | update.h) echo 'kernels_step/*' ;;
  *) echo 'kernels_copy/*' ;;
  esac
}

fault() { # fault NAME FILE SED: the tests must fail; sed must have changed something
  cp "cuda/kernels/$2" "$tmp/kept"
  sed "$3" "$tmp/kept" >"$tmp/cuda/kernels/$2"
  changed='kernels launch'
  if [ "$2" = launch.c ]; then
    cp "$tmp/kernels.whole" "$tmp/kernels.o"
    changed=launch
  fi
  if cmp -s "$tmp/kept" "$tmp/cuda/kernels/$2"; then
    verdict 1 "fault:$1" "sed changed nothing in $2"
  elif ! compiled $changed 2>"$tmp/out"; then
    verdict 1 "fault:$1" "does not compile: $(head -2 "$tmp/out")"
  else
    limited "$tmp/test" --fail-fast -j1 --filter "$(likely "$1" "$2")" >"$tmp/out" 2>&1 &&
      limited "$tmp/test" --fail-fast -j1 >"$tmp/out" 2>&1
    [ $? -ne 0 ]
    verdict $? "fault:$1" "the tests pass"
  fi
  cp "$tmp/kept" "$tmp/cuda/kernels/$2"
}

fault wrong_run element.h 's/first_tile <= tile/first_tile < tile/'
fault formats_mixed_up element.h 's/if (dtype == ZP_BF16) return/if (dtype == ZP_F16) return/'
fault truncated element.h 's/zp_bf16_from_f32(zp_bits_of(x))/(uint16_t)(zp_bits_of(x) >> 16)/'
fault count_overwritten element.h 's/ZP_ADD_GLOBAL(counter, counted)/*counter = counted/'
fault table_ignored element.h 's/runs->table ? runs->table : runs->here/runs->here/'

fault padding_fp32 gather.h 's/: 0u;$/: 1u;/'
fault padding_half gather.h 's/: (uint16_t)0;/: (uint16_t)1;/'
fault window_not_begun gather.h 's/if (first) window/if (0) window/'
fault unused_left_out gather.h \
  's/  else zp_add_element/  else if (run->in || p->first) zp_add_element/'
fault limbs_not_begun gather.h 's/; p->first \&\& q/; 0 \&\& q/'
fault limbs_begun_again gather.h 's/; p->first \&\& q/; q/'
fault limbs_not_fetched gather.h 's/phase == 0 \&\& !p->first/0/'
fault nonfinite_not_counted gather.h 's/bad += zp_nonfinite_f32(&bits, 1);//'
fault scatter_first_run gather.h '/zp_scatter_body/,$ s/= at.run;/= at.last;/'
fault last_vector vector.h \
  's/elements = (int32_t)(n - v.first);/elements = (int32_t)(n - v.first) - 1;/'
fault vector_too_far vector.h 's/v.whole_to = elements/v.whole_to = v.per - 1 + elements/'
fault vector_too_early vector.h 's/v.whole_from = .*/v.whole_from = 0;/'
fault one_thread_s_vectors_twice vector.h \
  's/(int32_t)t.threadIdx\[0\];/(int32_t)(t.threadIdx[0] % 255);/'
fault shift_forgotten vector.h 's/v.first = .*/v.first = tile * ZP_TILE;/'
fault walk_too_late vector.h 's/first_tile <= w->tile/first_tile < w->tile/'
fault other_alignment vector.h 's/% (uintptr_t)(ZP_QUAD \* size) != 0/\& 0/'
fault copied_one_short gather.h 's/k < ZP_AHEAD; k++) got/k < ZP_AHEAD - 1; k++) got/'
fault vectors_not_watched gather.h \
  's/\(x, field, least)\) & top) != 0/\1 \& 0)/'
fault quads_not_watched gather.h 's/bad += zp_nonfinite_quad.*/;/'
fault quads_not_begun gather.h \
  's/ \&\& !p->first ? run->out/ ? run->out/; s/  if (!p->first) {/  if (1) {/'
fault quads_begun_again gather.h \
  's/kind == ZP_GATHER_ORDERED \&\& !p->first ? run->out : NULL/NULL/'

fault slab_one_short stage.h 's/ : ZP_SLAB;/ : ZP_SLAB - 1;/'
fault last_slab_one_short stage.h 's/? n - p.first : 0)/? n - p.first - 1 : 0)/'
fault last_slab_lost stage.h 's/from + (n + ZP_SLAB - 1) \/ ZP_SLAB/from + n \/ ZP_SLAB/'
fault one_slab_a_block stage.h 's/p.end = .*/p.end = p.begin + 1;/'
fault slabs_begin_too_late stage.h 's/p.begin = all \* b/p.begin = 1 + all * b/'
fault last_word_not_staged stage.h 's/if (w + q \* step < words)/if (w + q * step < words - 1)/'
fault last_word_not_stored stage.h '/zp_stage_out/,$ s/w < words/w < words - 1/'
fault run_of_another_slab stage.h 's/runs->n, at \/ ZP_SLABS/runs->n, 0/'
fault rounds_of_the_first_run stage.h \
  's/zp_run_of_slab(runs, slabs.end - 1)/zp_run_of_slab(runs, 0)/'

fault begins_with_zero parts.h 's/float sum = .*/float sum = 0;/; s/int32_t r = 1;/int32_t r = 0;/'
fault other_order parts.h \
  's/(p->dtype, zp_part_of(p, r), i))/(p->dtype, zp_part_of(p, p->members - r), i))/'
fault own_part_from_scratch parts.h 's/return r == p->own/return r == -2/'
fault sum_overwrites parts.h 's/if (p->first) out\[i\]/if (1) out[i]/'
fault part_not_carried parts.h 's/zp_val_normalise(part + x \* ZP_VAL_LIMBS, 1);/;/'
fault sum_of_limbs_overwritten parts.h 's/if (phase == 0) zp_stage_in(sum, .*/;/'
fault sum_for_the_part parts.h 's/zp_stage_in(part, p->part/zp_stage_in(part, p->sum/'
fault sums_not_stored parts.h 's/phase == 2) zp_stage_out(sum/phase == 3) zp_stage_out(sum/'
fault not_settled parts.h 's/zp_val_normalise(stage + x/if (0) &/'
fault sums_overwrite parts.h 's/if (!p->first) sum =/if (0) sum =/'

fault packed_not_begun packed.h 's/if (p->first)$/if (0)/'
fault packed_begun_again packed.h 's/if (p->first)$/if (1)/'
fault packed_not_carried packed.h 's/zp_val_normalise(limb, 1);/;/'
fault packed_use_lost packed.h 's/zp_limbs_merge(sum, term, ZP_VAL_LIMBS);/;/'
fault packed_first_part_for_all packed.h 's/zp_part_of(p, r), i)/zp_part_of(p, 0), i)/'
fault packed_slab_twice packed.h 's/zp_slab_at(at, p->n)/zp_slab_at(slabs.begin, p->n)/'
fault packed_run_elsewhere packed.h 's/run->at + slab.first + x/slab.first + x/'
fault packed_not_staged packed.h 's/else if (back) zp_stage_in/else if (0) zp_stage_in/'
fault packed_mean_elsewhere packed.h 's/from + slab.first + x/slab.first + x/'
fault packed_mean_not_stored packed.h 's/((uint32_t \*)run->out)\[slab.first + x\] = bits;//'
fault packed_mean_not_watched packed.h \
  's/(zp_nonfinite_f32(&bits, 1)) bad++/(zp_nonfinite_f32(\&bits, 1)) bad += 0/'
fault packed_others_squared packed.h 's/else if (run->at != 0) h =/else h =/'
fault packed_squares_lost packed.h 's/^  zp_release(c, h);//'
fault packed_bins_not_cleared packed.h 's/if (phase == 0) zp_squares_clear.*//'

fault mean_in_fp32 element.h \
  's/zp_ordered_mean_f32(&mean, &x, divisor, 1);/mean = x \/ (float)divisor;/'
fault mean_not_divided squares.h 's/return divisor == 0 ? bits : .*/return bits;/'
fault means_not_divided squares.h 's/if (divisor != 0) word\[i\] = .*//'
fault others_means_not_watched squares.h 's/: zp_watch_chunk(.*);/: 0;/'
fault others_means_squared squares.h 's/divisor == 0 || at.run->at != 0/1/'
fault exact_mean_not_watched means.h \
  's/(zp_nonfinite_f32(&bits, 1)) bad++/(zp_nonfinite_f32(\&bits, 1)) bad += 0/'
fault exact_mean_not_stored means.h 's/((uint32_t \*)run->out)\[slab.first + x\] = bits;//'
fault exact_mean_elsewhere means.h 's/run->out)\[slab.first + x\]/run->out)[x]/'
fault others_exact_means_squared means.h 's/else if (run->at != 0) h =/else h =/'
fault exact_squares_lost means.h 's/^  zp_release(c, h);//'
fault exact_bins_not_cleared means.h 's/if (phase == 0) zp_squares_clear.*//'
fault exact_bins_not_added means.h 's/if (phase >= last) zp_squares_end/if (0) zp_squares_end/'
fault limbs_over_the_bins means.h 's/s->bin + 2 \* ZP_SQ_BINS \* p->lanes/s->bin/'

fault last_bin_lost squares.h 's/^  zp_release(c, h);//'
fault bin_change_lost squares.h 's/^    zp_release(c, h);//'
fault high_bins_lost squares.h 's/q < 2 \* ZP_SQ_BINS;/q < ZP_SQ_BINS;/'
fault one_lane_lost squares.h 's/j < lanes;/j < lanes - 1;/'
fault bins_not_cleared squares.h 's/s->bin\[i\] = 0;/;/'
fault limbs_not_cleared squares.h 's/s->limb\[t.threadIdx\[0\]\] = 0;/;/'
fault count_not_cleared squares.h 's/s->nonfinite = 0;/;/'
fault other_blocks_lost squares.h \
  's/ZP_ADD_GLOBAL(&p->tally->squares\[i\], s->limb\[i\])/p->tally->squares[i] = s->limb[i]/'
fault wrong_split squares.h 's/square \/ 2147483648u/square \/ 4294967296u/'
fault subnormals_lost squares.h \
  's/if (zp_nonfinite_f32(&bits, 1)) bad++;/& else if (bits << 1 < 1u << 24) ;/'

fault above_the_window window.h 's/if (filled >= 0x100000u) return 0;//'
fault below_the_window window.h 's/dtype == ZP_F32 && smallest < .*) return 0;/0) return 0;/'
fault halves_below_the_window window.h 's/(below & 0x80008000u) != 0/0/'
fault one_half_below_the_window window.h 's/below & 0x80008000u/below \& 0x80000000u/'
fault window_one_deeper window.h \
  's/-2 : dtype == ZP_BF16 ? 30 : 24/0 : dtype == ZP_BF16 ? 32 : 26/'
fault rest_runs_over window.h 's/ || rest + 0x40000u >= 0x80000u//'
fault rest_lost squares.h 's/^  zp_release_at(c, rest.*//'
fault rest_has_no_sign window.h 's/  \*high = h + .*/  *high = h;/'
fault chunk_not_taken_back window.h \
  's/  zp_window next = \*w;/  zp_window old = *w;\n#define next (*w)/'
fault window_not_emptied squares.h 's/^    zp_window_open(w, dtype, .*//'
fault upper_bins_lost squares.h 's/h.bin += 2;/h.bin += 1;/'

fault count_instead_of_flag statistics.h 's/w->nonfinite != 0;/w->nonfinite;/'
fault window_goes_on statistics.h 's/w->squares\[i\] = 0;/;/'
fault losses_go_on statistics.h 's/w->loss\[i\] = 0;/;/'
fault packed_uncarried statistics.h 's/zp_limbs_normalise(w->squares, ZP_SQ_LIMBS);/;/'
fault bad_loss_ignored statistics.h 's/p->tally->bad_loss += .*;//'
fault decided_uncarried statistics.h 's/zp_squares_settle(squares);//'
fault skipped_step_ticks statistics.h 's/!p->step->decision.skipped/1/'
fault one_optimizer_for_all statistics.h 's/g % p->optims/0/'
fault last_integer_not_written statistics.h 's/i < p->n; i += /i < p->n - 1; i += /'
fault step_not_counted statistics.h 's/p->step->step += 1;//'

fault skipped_step_updates update.h 's/p->step->decision.skipped ? 0 : p->real/p->real/'
fault padding_updated update.h 's/at < real/at <= real/'
fault sums_not_divided update.h 's/if (p->divisor == 0) return grad;/return grad;/'
fault sum_not_divided update.h 's/  if (p->divisor != 0) zp_ordered_mean_f32.*//'
fault no_momentum update.h 's/rule == ZP_RULE_MOMENTUM/0/'
fault rounded_elsewhere update.h '0,/p->dtype, run->out, i,/s//p->dtype, run->out, at,/'
fault paddings_updated update.h 's/ZP_QUAD <= real/1 <= real/'
fault no_momentum_in_quads update.h 's/if (rule != ZP_RULE_SGD) zp_store_raw(p->m, 4, at, m);//'
fault gradient_sent update.h 's/, p->master\[at\]);/, p->grad[at]);/'

fault empty_run_has_a_tile launch.c 's/(count + ZP_TILE - 1) \/ ZP_TILE/count \/ ZP_TILE + 1/'
fault first_run_is_the_widest launch.c 's/i < n; i++)$/i < 1; i++)/'
fault too_few_bin_rows squares.h 's/q += t.blockDim\[0\]/q += ZP_BLOCK_THREADS/'
fault too_many_blocks launch.c 's/? tiles : ZP_GRID_MAX/? tiles : tiles/'
fault no_shared_memory launch.c 's/offsetof(.*bin) + /&0 * /'
fault bins_without_memory launch.c 's/l.shared += zp_launch_squares(run, n).shared;//'
fault one_stage_for_two launch.c 's/(size_t)stages \*/(size_t)1 */'
fault too_few_slabs launch.c 's/(most + ZP_STAGE_ELEMENTS - 1)/(most - 1)/'
fault first_run_has_the_lanes launch.c \
  's/zp_squares_lanes(run, n);/zp_squares_lanes(run, n > 0);/'

fault vectors_in_32_bits vector.h 's/  int64_t first;/  int32_t first;/'
fault part_in_32_bits parts.h 's/+ r \* p->stride/+ (int32_t)(r * p->stride)/'
fault limbs_in_32_bits stage.h \
  's/limbs + p.first \* ZP_VAL_LIMBS/limbs + (int32_t)(p.first * ZP_VAL_LIMBS)/'
fault slabs_in_32_bits stage.h 's/p.first = at/p.first = (int32_t)at/'
fault updated_in_32_bits update.h \
  's/const int64_t at = run->at + i/const int32_t at = (int32_t)(run->at + i)/'
fault scattered_in_32_bits gather.h \
  's/void \*in, void \*out, int64_t i)/void *in, void *out, int32_t i)/'
fault tiles_in_32_bits launch.c 's/tiles_of(int64_t count)/tiles_of(int32_t count)/'
finish
