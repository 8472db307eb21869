/* The writers of SVG and of Chrome traces escape every text that they are given. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../ref/base/escape.h"
#include "../../../ref/draw/chrome_trace.h"
#include "../../../ref/draw/gnuplot.h"
#include "../../../ref/draw/svg.h"

static char *text;
static size_t size;

Test(svg, markup_in_a_text_is_escaped)
{
  FILE *f = open_memstream(&text, &size);
  zp_svg s;
  zp_svg_begin(&s, f, 10, 10, "");
  zp_svg_text(&s, "t", 1, 2, "%s", "a<b & c\nd");
  zp_svg_group(&s, "%s", "<i>");
  zp_svg_end_group(&s);
  zp_svg_end(&s);
  fclose(f);
  cr_assert_not_null(strstr(text, "<text class=\"t\" x=\"1\" y=\"2\">a&lt;b &amp; c d</text>"),
                     "%s", text);
  cr_assert_not_null(strstr(text, "<g><title>&lt;i></title></g></svg>\n"), "%s", text);
  free(text);
}

Test(svg, numbers_have_the_requested_digits)
{
  FILE *f = open_memstream(&text, &size);
  zp_svg s;
  zp_svg_begin(&s, f, 10, 10, "");
  zp_svg_digits(&s, 1, 0);
  zp_svg_rect(&s, NULL, 1.25, 2, 3, 4, 0);
  fclose(f);
  cr_assert_not_null(strstr(text, "<rect x=\"1.2\" y=\"2\" width=\"3.0\" height=\"4\"/>"), "%s",
                     text);
  free(text);
}

/* Writes a trace and parses it again. */
static json_t *trace(int32_t compact)
{
  FILE *f = open_memstream(&text, &size);
  zp_chrome_trace t;
  json_t *root;
  zp_chrome_begin(&t, f, compact, "a \"title\"\\");
  zp_chrome_name(&t, 3, -1, "process_name", "line\nbreak\x01");
  zp_chrome_slice(&t, 3, 4, 1.5, 2, "F0", "work");
  zp_chrome_args(&t);
  zp_chrome_integer(&t, "position", -7);
  zp_chrome_end_args(&t);
  zp_chrome_string(&t, "cname", "terrible");
  zp_chrome_close(&t);
  zp_chrome_end(&t);
  fclose(f);
  root = json_loads(text, 0, NULL);
  cr_assert_not_null(root, "%s", text);
  free(text);
  return root;
}

Test(chrome_trace, what_was_written_is_read_back)
{
  for (int32_t compact = 0; compact < 2; compact++) {
    json_t *root = trace(compact), *events = json_object_get(root, "traceEvents");
    const json_t *name = json_array_get(events, 0), *slice = json_array_get(events, 1);
    const json_t *title = json_object_get(json_object_get(root, "otherData"), "title");
    cr_assert_eq(json_array_size(events), 2);
    cr_assert_str_eq(json_string_value(title), "a \"title\"\\");
    cr_assert_str_eq(json_string_value(json_object_get(json_object_get(name, "args"), "name")),
                     "line\nbreak\x01");
    cr_assert_null(json_object_get(name, "tid"));
    cr_assert_eq(json_integer_value(json_object_get(slice, "tid")), 4);
    cr_assert_eq(json_integer_value(json_object_get(json_object_get(slice, "args"), "position")),
                 -7);
    cr_assert_str_eq(json_string_value(json_object_get(slice, "cname")), "terrible");
    json_decref(root);
  }
}

/* What changes how other characters are shown is written as a number, whole or cut anywhere. */
Test(escape, only_hidden_characters_and_bytes_that_are_not_utf8_change)
{
  static const struct {
    const char *in, *out;
  } some[] = {{"plain\n\ttext ~", "plain\n\ttext ~"},
              {"\xc3\xbc \xe2\x89\xa5 \xf0\x9f\x98\x80", "\xc3\xbc \xe2\x89\xa5 \xf0\x9f\x98\x80"},
              {"\x1b[2J\r\x07\x7f", "\\u001b[2J\\u000d\\u0007\\u007f"},
              {"\xc2\x9b"
               "2J",
               "\\u009b2J"},
              {"\xe2\x80\xae \xe2\x81\xa6 \xd8\x9c", "\\u202e \\u2066 \\u061c"},
              {"\x9b \xff \xc0\x9b", "\\u009b \\u00ff \\u00c0\\u009b"}, /* alone, never, too long */
              {"\xe0\x80\x9b \xed\xa0\x80", "\\u00e0\\u0080\\u009b \\u00ed\\u00a0\\u0080"},
              {"\xe2\x80x \xf0\x9f\x1b", "\\u00e2\\u0080x \\u00f0\\u009f\\u001b"},
              {"\xf5\x80\x80\x80 \xf4\x90\x80\x80",
               "\\u00f5\\u0080\\u0080\\u0080 \\u00f4\\u0090\\u0080\\u0080"}};
  for (size_t i = 0; i < sizeof some / sizeof *some; i++)
    for (size_t cut = 1; cut <= strlen(some[i].in); cut++) {
      FILE *f = open_memstream(&text, &size);
      zp_escape e = {{0}, 0, 0};
      for (size_t at = 0; at < strlen(some[i].in); at += cut)
        zp_escape_write(&e, some[i].in + at, strnlen(some[i].in + at, cut), f);
      fclose(f);
      cr_assert_str_eq(text, some[i].out, "text %zu, cut every %zu", i, cut);
      free(text);
    }
}

Test(escape, texts_of_pictures_and_traces_are_escaped)
{
  FILE *f = open_memstream(&text, &size);
  zp_svg s;
  zp_chrome_trace t;
  zp_svg_begin(&s, f, 10, 10, "");
  zp_svg_text(&s, "t", 1, 2, "%s", "\x1b\xe2\x80\xae\xc3\xbc");
  zp_svg_end(&s);
  zp_chrome_begin(&t, f, 0, "\x1b\xe2\x80\xae\xc3\xbc");
  zp_chrome_end(&t);
  fclose(f);
  cr_assert_not_null(strstr(text, ">\\u001b\\u202e\xc3\xbc</text>"), "%s", text);
  cr_assert_not_null(strstr(text, "\"\\u001b\\u202e\xc3\xbc\""), "%s", text);
  free(text);
}

/* The stand-in would end after ten minutes, so the limit of one second ends it on any machine. */
Test(gnuplot, one_that_does_not_end_is_stopped_after_the_limit)
{
  char folder[] = "/tmp/zp-gnuplot-XXXXXX", program[64], file[64], path[4096];
  zp_error err = {0};
  cr_assert_not_null(mkdtemp(folder));
  snprintf(program, sizeof program, "%s/gnuplot", folder);
  snprintf(file, sizeof file, "%s/p.svg", folder);
  FILE *f = fopen(program, "w");
  cr_assert_not_null(f);
  fputs("#!/bin/sh\nsleep 600\n", f);
  fclose(f);
  cr_assert_eq(chmod(program, 0700), 0);
  snprintf(path, sizeof path, "%s:%.4000s", folder, getenv("PATH"));
  setenv("PATH", path, 1);
  cr_assert_eq(zp_gnuplot("x", 1, file, 1, &err), ZP_E_FILE);
  cr_assert_not_null(strstr(err.text, "gnuplot did not end within 1 s"), "%s", err.text);
  cr_assert_not_null(strstr(err.text, file), "%s", err.text);
  cr_assert_neq(access(file, F_OK), 0);
  unlink(program);
  rmdir(folder);
}
