/* Reading a machine's file. */
#include "machine.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SHARE "1"

const zp_figure_info zp_figures[ZP_FIGS] = {
    {"flops", "flop/s"},       {"memory", "B/s"},          {"kernel", "s"},
    {"link", "B/s"},           {"network", "B/s"},         {"start", "s"},
    {"link_hop", "s"},         {"network_hop", "s"},       {"ll128_start", "s"},
    {"ll128_link_hop", "s"},   {"ll128_network_hop", "s"}, {"ll128_share", SHARE},
    {"comm_compute", SHARE},   {"comm_memory", "B/B"},     {"kernel_compute", SHARE},
    {"compute_memory", SHARE}, {"host_link", "B/s"},       {"host_update", "B/s"},
};

/* The file that is built in. */
__asm__(".section .rodata\n"
        "zp_machine_built_in: .incbin \"cuda/cost/machines/h200-cluster.json\"\n"
        ".byte 0\n"
        ".previous\n");
extern const char zp_machine_built_in[];

static int refuse(const char *file, const char *field, const char *expected, zp_error *err)
{
  return zp_fail(err, ZP_E_REFUSED, -1, "--machine: %s: %s: expected %s", file, field, expected);
}

static int read_text(const char *file, const char *field, const json_t *value, char *to,
                     zp_error *err)
{
  const char *text = json_string_value(value);
  int plain = text && *text && strlen(text) < ZP_MACHINE_TEXT;
  for (int32_t i = 0; plain && text[i]; i++)
    plain = (unsigned char)text[i] >= ' ' && text[i] != 127;
  if (!plain) return refuse(file, field, "a text of 1 to 319 bytes, on one line", err);
  memcpy(to, text, strlen(text) + 1);
  return 0;
}

static int read_count(const char *file, const char *field, const json_t *value, int32_t *to,
                      zp_error *err)
{
  const json_int_t n = json_integer_value(value);
  if (!json_is_integer(value) || n < 1 || n > 1 << 20)
    return refuse(file, field, "an integer from 1 to 1048576", err);
  *to = (int32_t)n;
  return 0;
}

/* No object has fields of other names: a misspelt one would be ignored. */
static int check_keys(const char *file, const char *field, json_t *object, const char *const *keys,
                      zp_error *err)
{
  const char *key;
  json_t *value;
  char text[ZP_MACHINE_TEXT];
  json_object_foreach(object, key, value)
  {
    const char *const *k = keys;
    while (*k && strcmp(*k, key) != 0) k++;
    if (*k) continue;
    snprintf(text, sizeof text, "%s%.100s", field, key);
    return refuse(file, text, "no field of this name", err);
  }
  return 0;
}

static int read_figure(const char *file, int32_t i, const json_t *figures, zp_machine *m,
                       zp_error *err)
{
  static const char *const keys[] = {"value", "unit", "source", NULL};
  const zp_figure_info *info = &zp_figures[i];
  json_t *figure = json_object_get(figures, info->key);
  const json_t *value = json_object_get(figure, "value");
  const char *unit = json_string_value(json_object_get(figure, "unit"));
  char field[64], expected[96];
  snprintf(field, sizeof field, "figures.%s", info->key);
  if (!json_is_object(figure))
    return refuse(file, field, "an object with value, unit and source", err);
  snprintf(field, sizeof field, "figures.%s.", info->key);
  if (check_keys(file, field, figure, keys, err)) return err->status;
  snprintf(field, sizeof field, "figures.%s.unit", info->key);
  snprintf(expected, sizeof expected, "\"%s\"", info->unit);
  if (!unit || strcmp(unit, info->unit) != 0) return refuse(file, field, expected, err);
  snprintf(field, sizeof field, "figures.%s.value", info->key);
  m->figure[i] = json_number_value(value);
  const int share = strcmp(unit, SHARE) == 0, rate = strcmp(unit, "s") != 0 && !share;
  const double least = rate ? 1e-3 : 1e-12, most = share ? 1 : rate ? 1e20 : 1e3;
  snprintf(expected, sizeof expected, "a number from %g to %g", least, most);
  if (!json_is_number(value) || !(m->figure[i] >= least && m->figure[i] <= most))
    return refuse(file, field, expected, err);
  snprintf(field, sizeof field, "figures.%s.source", info->key);
  return read_text(file, field, json_object_get(figure, "source"), m->source[i], err);
}

static int read_all(const char *file, json_t *root, zp_machine *m, zp_error *err)
{
  static const char *const keys[] = {"name",     "ranks_per_node", "nodes",
                                     "capacity", "figures",        NULL};
  const char *names[ZP_FIGS + 1] = {NULL};
  json_t *figures = json_object_get(root, "figures");
  if (!json_is_object(root)) return refuse(file, "the document", "an object", err);
  if (!json_is_object(figures)) return refuse(file, "figures", "an object", err);
  for (int32_t i = 0; i < ZP_FIGS; i++) names[i] = zp_figures[i].key;
  if (check_keys(file, "", root, keys, err) || check_keys(file, "figures.", figures, names, err) ||
      read_text(file, "name", json_object_get(root, "name"), m->name, err) ||
      read_count(file, "ranks_per_node", json_object_get(root, "ranks_per_node"),
                 &m->ranks_per_node, err) ||
      read_count(file, "nodes", json_object_get(root, "nodes"), &m->nodes, err))
    return err->status;
  m->capacity = json_number_value(json_object_get(root, "capacity"));
  if (!(m->capacity >= 1 && m->capacity <= 1e18))
    return refuse(file, "capacity", "a number from 1 to 1e18, in bytes", err);
  for (int32_t i = 0; i < ZP_FIGS; i++)
    if (read_figure(file, i, figures, m, err)) return err->status;
  return 0;
}

int zp_machine_read(const char *file, zp_machine *m, zp_error *err)
{
  json_error_t why;
  json_t *root;
  int status;
  memset(m, 0, sizeof *m);
  if (!file) root = json_loads(zp_machine_built_in, JSON_REJECT_DUPLICATES, &why);
  else {
    FILE *f = fopen(file, "re");
    if (!f) return zp_fail(err, ZP_E_REFUSED, -1, "--machine: %s: %s", file, strerror(errno));
    root = json_loadf(f, JSON_REJECT_DUPLICATES, &why);
    fclose(f);
  }
  if (!file) file = "built in";
  if (!root)
    return zp_fail(err, ZP_E_REFUSED, -1, "--machine: %s:%d: %s", file, why.line, why.text);
  status = read_all(file, root, m, err);
  json_decref(root);
  return status;
}
