# make install into a temporary place, and a program built against what is there.
# inputs: @make @venv:torch-2.13.0
. tests/fixtures/lib.sh

build=${ZP_BUILD:-build}
san=${SAN:-0}
make=${MAKE:-make}
$make --no-print-directory install SAN="$san" BUILD="$build" CC="${CC:-gcc}" PREFIX="$tmp/usr" \
  >"$tmp/out" 2>&1
verdict $? install "$(tail -3 "$tmp/out")"
"$tmp/usr/bin/zeroproof" --version >"$tmp/out" 2>&1
verdict $? installed_command_runs "$(cat "$tmp/out")"
cat >"$tmp/p.c" <<'X'
#include <stdio.h>
#include <stdlib.h>
#include <zeroproof.h>
int main(void)
{
  const zp_param p[1] = {{10, 0, 0, -1, 0, 0, 0, 0}};
  zp_config cfg = {.pp = 1, .dp = 2, .tp = 1, .ep = 1, .stage = 2, .reduce = ZP_EXACT,
                   .precision = ZP_BF16, .optgroups = 1, .n_params = 1, .micro_batches = 3,
                   .bucket = 4, .align = 1, .params = p};
  zp_refusal why;
  if (zp_config_check(&cfg, &why) != 0) return 1;
  printf("%d ranks\n", (int)zp_world(&cfg));
  zp_error *err = calloc(1, sizeof *err); /* checkpoints need jansson and xxhash */
  int64_t step = 0;
  char *words = NULL;
  if (err == NULL || zp_ckpt_peek("/nowhere", &step, &words, err) != ZP_E_FILE) return 1;
  free(err);
  return zp_world(&cfg) == 2 ? 0 : 1;
}
X
flags=
[ "$san" = 1 ] && flags="-fsanitize=address,undefined"
export PKG_CONFIG_PATH="$tmp/usr/lib/pkgconfig"
${CC:-gcc} -std=c11 -Wall -Wextra -Werror $flags "$tmp/p.c" -o "$tmp/shared" \
  $(pkg-config --cflags --libs zeroproof) >"$tmp/out" 2>&1 &&
  LD_LIBRARY_PATH="$tmp/usr/lib" "$tmp/shared" >>"$tmp/out" 2>&1
verdict $? program_with_shared_library "$(head -5 "$tmp/out")"
# -Bstatic for ours alone: its own libraries must come from the .pc file
${CC:-gcc} -std=c11 $flags "$tmp/p.c" -o "$tmp/static" $(pkg-config --static --cflags --libs \
  zeroproof | sed 's/-lzeroproof/-Wl,-Bstatic -lzeroproof -Wl,-Bdynamic/') >"$tmp/out" 2>&1 &&
  "$tmp/static" >>"$tmp/out" 2>&1
verdict $? program_with_static_library "$(head -5 "$tmp/out")"
[ -z "$(find "$tmp/usr/include" -name '*_internal.h')" ]
verdict $? internal_headers_stay_home
[ -s "$tmp/usr/share/man/man1/zeroproof.1" ] && [ -n "$(ls "$tmp/usr/share/zeroproof/spec")" ]
verdict $? man_page_and_spec
sed 's/\\-/-/g; s/\.\.\./…/g' "$tmp/usr/share/man/man1/zeroproof.1" >"$tmp/man"
for c in train plan counters sim fuzz env launch elastic trace; do
  "$tmp/usr/bin/zeroproof" $c --help | grep -oE '^ +(-., )?--[a-z-]+' |
    sed 's/.*--/--/' >"$tmp/opts"
  awk -v c="$c" '/^\.S[HS]/ { on = $0 == ".SS " c || /^\.SH COMMON/ } on' "$tmp/man" >"$tmp/section"
  lacks=$(while read -r f; do grep -qE -e "$f([^a-z-]|\$)" "$tmp/section" || echo "$f"; done \
    <"$tmp/opts")
  if grep -q '^$' "$tmp/man"; then lacks="$lacks (an empty line)"; fi
  # --help and --usage are listed once
  [ "$(wc -l <"$tmp/opts")" -gt 2 ] && [ -z "$lacks" ]
  verdict $? "man_page_lists_all_options_of_$c" "$lacks"
done
for f in lib/libnccl-profiler-zeroproof.so share/zeroproof/conformance/recorder/pyproject.toml \
  share/zeroproof/conformance/recorder/zeroproof_trace.py share/zeroproof/conformance/TRACE.md; do
  [ -s "$tmp/usr/$f" ] || break
done
verdict $([ -s "$tmp/usr/$f" ]; echo $?) recorders_are_installed "no $f"
[ ! -e "$build/libzptrace_nccl.so" ] || [ -s "$tmp/usr/lib/libzptrace_nccl.so" ]
verdict $? what_is_preloaded_is_installed_where_it_was_built
grep -q 'missing, truncated, damaged or foreign' "$tmp/man"
verdict $? man_page_states_the_rule_of_exit_codes
cd "$tmp" && "$tmp/usr/bin/zeroproof" train --layers 1 --d-model 8 --heads 1 --context 8 --batch 1 \
  --steps 1 --sample 0 >"$tmp/out" 2>&1
verdict $? installed_command_finds_its_text "$(head -3 "$tmp/out")"
cd - >/dev/null || exit 3
share=$tmp/usr/share/zeroproof/conformance
# what an adapter imports beside its subject, and reads, must be there
lacks=$(for f in "$share"/adapters/*.py "$share"/recorder/*.py; do
  sed -nE 's/^(from|import) (zeroproof_[a-z]+|[a-z_]+_adapter)[ ,]?.*/\2/p' "$f"
done | sort -u | while read -r m; do
  [ -e "$share/adapters/$m.py" ] || [ -e "$share/recorder/$m.py" ] || echo "$m"
done)
[ -z "$lacks" ] && [ -x "$share/subject.sh" ] && [ -x "$share/locks/venv.sh" ] &&
  [ -s "$share/locks/torch-2.13.0.txt" ]
verdict $? installed_adapters_have_what_they_import "$lacks"
if command -v python3 >/dev/null; then
  "$tmp/usr/bin/zeroproof" check --adapter "$tmp/usr/bin/zeroproof adapter" --cases 2 --brief \
    >"$tmp/out" 2>&1
  verdict $? installed_check_judges "$(tail -3 "$tmp/out")"
fi
venv=$HOME/.cache/zeroproof/venv/torch-2.13.0/bin/python
if [ -x "$venv" ]; then
  "$tmp/usr/bin/zeroproof" check --adapter "$venv -B $share/adapters/ddp_adapter.py" --cases 1 \
    --jobs 1 --brief >"$tmp/out" 2>&1
  verdict $? installed_adapter_of_torch_starts "$(tail -3 "$tmp/out")"
else
  echo "not run: installed_adapter_of_torch_starts (no environment: make conformance makes it)"
fi
$make --no-print-directory install SAN="$san" BUILD="$build" CC="${CC:-gcc}" DESTDIR="$tmp/stage" \
  PREFIX=/opt/zp >"$tmp/out" 2>&1 && [ -x "$tmp/stage/opt/zp/bin/zeroproof" ] &&
  grep -q '^prefix=/opt/zp$' "$tmp/stage/opt/zp/lib/pkgconfig/zeroproof.pc"
verdict $? destdir "$(tail -3 "$tmp/out")"
$make --no-print-directory uninstall PREFIX="$tmp/usr" >"$tmp/out" 2>&1
[ -z "$(find "$tmp/usr" -type f -o -type l)" ]
verdict $? uninstall_leaves_no_file "$(find "$tmp/usr" -type f | head -3)"
finish
