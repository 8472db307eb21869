#define _GNU_SOURCE
#include "train_text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "regular_file.h"

/* Far more than the model can make use of; keeps a mistaken file name from filling memory. */
#define TEXT_MAX ((int64_t)1 << 30)

static int append_file(const char *name, zp_text *text, zp_error *err)
{
  int regular;
  FILE *f = zp_open_regular(name, &regular);
  int64_t room = 0;
  if (!regular)
    return zp_fail(err, ZP_E_REFUSED, -1,
                   "--data %s: not a regular file but a directory, pipe or device. Name a "
                   "readable file; every rank reads it.",
                   name);
  if (f == NULL) goto unreadable;
  for (;;) {
    size_t got;
    if (room == 0) {
      uint8_t *more;
      room = text->n < 65536 ? 65536 : text->n; /* doubles */
      if (text->n + room > TEXT_MAX) {
        fclose(f);
        return zp_fail(err, ZP_E_REFUSED, -1,
                       "--data %s: the text would exceed %lld bytes; give less.", name,
                       (long long)TEXT_MAX);
      }
      more = realloc(text->bytes, (size_t)(text->n + room));
      if (more == NULL) goto unreadable;
      text->bytes = more;
    }
    got = fread(text->bytes + text->n, 1, (size_t)room, f);
    if (got == 0) break;
    text->n += (int64_t)got;
    room -= (int64_t)got;
  }
  if (ferror(f)) goto unreadable;
  fclose(f);
  text->files++;
  return 0;
unreadable:
  zp_fail(err, ZP_E_REFUSED, -1, "--data %s: %s. Name a readable file.", name, strerror(errno));
  if (f != NULL) fclose(f);
  return ZP_E_REFUSED;
}

static int is_clause_file(const struct dirent *d)
{
  const size_t n = strlen(d->d_name);
  return n > 3 && strcmp(d->d_name + n - 3, ".md") == 0;
}

/* All *.md of a directory in the order of their names; 0, 1 when it contains no such
 * file, or a negative status. */
static int append_directory(const char *dir, zp_text *text, zp_error *err)
{
  struct dirent **list = NULL;
  const int n = scandir(dir, &list, is_clause_file, alphasort);
  int code = n > 0 ? 0 : 1;
  for (int i = 0; i < n; i++) {
    char name[4096 + 300];
    snprintf(name, sizeof name, "%s/%s", dir, list[i]->d_name);
    if (code == 0) code = append_file(name, text, err);
    free(list[i]);
  }
  free(list);
  return code;
}

/* The spec beside the command: in the checkout (build/zeroproof) or installed (bin/zeroproof). */
static int default_text(zp_text *text, zp_error *err)
{
  static const char *const places[] = {"../spec", "../share/zeroproof/spec"};
  char exe[2048];
  const ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (n > 0) {
    exe[n] = 0;
    *strrchr(exe, '/') = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
      char dir[4096];
      int code;
      snprintf(dir, sizeof dir, "%s/%s", exe, places[i]);
      code = append_directory(dir, text, err);
      if (code <= 0) return code;
    }
  }
  return zp_fail(err, ZP_E_REFUSED, -1,
                 "the project's spec text was not found beside the command; name a text "
                 "with --data FILE.");
}

int zp_text_read(const char *const *files, int32_t n_files, int32_t context, zp_text *text,
                 zp_error *err)
{
  int code = 0;
  memset(text, 0, sizeof *text);
  for (int32_t i = 0; i < n_files && code == 0; i++) code = append_file(files[i], text, err);
  if (n_files == 0) code = default_text(text, err);
  if (code == 0 && text->n <= context)
    code = zp_fail(err, ZP_E_REFUSED, -1,
                   "--data: %lld bytes are too few for --context %d; at least %d are "
                   "needed.",
                   (long long)text->n, (int)context, (int)context + 1);
  if (n_files == 0)
    snprintf(text->what, sizeof text->what, "the project's spec (%d files)", (int)text->files);
  else
    snprintf(text->what, sizeof text->what, "%.200s%s", files[0], n_files > 1 ? " and others" : "");
  return code;
}
