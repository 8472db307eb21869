/* DIR/LATEST: four lines, the last one the checksum of the others. spec: CKPT-2, CKPT-4 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint_format.h"

#define FIRST_LINE "zeroproof-latest 1\n"
enum { LONGEST = 1024 };

char *zp_ckpt_latest_text(const zp_ckpt_latest *l)
{
  char hex[ZP_CKPT_HEX];
  char *body = NULL, *text = NULL;
  if (asprintf(&body, FIRST_LINE "current %s %s\nprevious %s\n", l->current, l->checksum,
               l->previous[0] ? l->previous : "-") < 0)
    return NULL;
  zp_ckpt_hash(body, strlen(body), hex);
  if (asprintf(&text, "%sxxh3_128 %s\n", body, hex) < 0) text = NULL;
  free(body);
  return text;
}

int zp_ckpt_is_folder(const char *name)
{
  const char *dot = strchr(name, '.');
  char base[64];
  if (!dot) return zp_ckpt_numbered(name, "step-", "");
  if (dot - name >= (ptrdiff_t)sizeof base) return 0;
  memcpy(base, name, (size_t)(dot - name));
  base[dot - name] = 0;
  return zp_ckpt_numbered(base, "step-", "") && zp_ckpt_numbered(dot, ".", "");
}

/* Parses and checks by writing the same again: there is one text for one meaning. */
static int parse(const char *text, zp_ckpt_latest *l)
{
  char hex[ZP_CKPT_HEX];
  memset(l, 0, sizeof *l);
  if (sscanf(text, FIRST_LINE "current %63s %32s\nprevious %63s\nxxh3_128 %32s", l->current,
             l->checksum, l->previous, hex) != 4)
    return -1;
  if (strcmp(l->previous, "-") == 0) l->previous[0] = 0;
  else if (!zp_ckpt_is_folder(l->previous)) return -1;
  if (!zp_ckpt_is_folder(l->current)) return -1;
  char *again = zp_ckpt_latest_text(l);
  const int same = again && strcmp(again, text) == 0;
  free(again);
  return same ? 0 : -1;
}

int zp_ckpt_latest_read(const zp_ckpt_dir *dir, zp_ckpt_latest *l, zp_error *err)
{
  int64_t n;
  if (faccessat(dir->fd, "LATEST", F_OK, AT_SYMLINK_NOFOLLOW) && errno == ENOENT) return 0;
  char *text = zp_ckpt_read_file(dir, "LATEST", LONGEST, &n, err);
  if (!text) return err->status;
  const int bad = strlen(text) != (size_t)n || parse(text, l);
  free(text);
  if (!bad) return 1;
  return zp_fail(err, ZP_E_FILE, -1,
                 "%s/LATEST is damaged or not zeroproof's; the checkpoints beside it may be whole: "
                 "name one of them itself, such as %s/step-N (CKPT-4)",
                 dir->path, dir->path);
}
