/* Messages about refused options, and about what does not fit this machine. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/memory_free.h"
#include "../base/output.h"
#include "../verify/memory_need.h"
#include "options.h"

int zp_refuse(const zp_options *o, const char *format, ...)
{
  va_list ap;
  char *text = NULL;
  va_start(ap, format);
  const int n = vasprintf(&text, format, ap);
  va_end(ap);
  if (n < 0) return zp_cli_refuse(o->command, "no memory");
  if (o->config_file == NULL) zp_cli_refuse(o->command, "%s", text);
  else zp_cli_refuse(o->command, "(with --config %s) %s", o->config_file, text);
  free(text);
  return ZP_EXIT_REFUSED;
}

int zp_options_report(const zp_options *o, const zp_error *err)
{
  if (err->status == ZP_E_REFUSED) return zp_refuse(o, "%s", err->text);
  fprintf(stderr, "%s: %s\n", o->command, err->text);
  return zp_exit_of(err->status);
}

int zp_options_spare(const zp_options *o, const char *trace, const char *svg)
{
  const char *const inputs[] = {o->config_file, NULL};
  zp_error err = {0};
  zp_output_spares("--trace", trace, inputs, &err);
  zp_output_spares("--svg", svg, inputs, &err);
  zp_output_distinct("--trace", trace, "--svg", svg, &err);
  return err.status == 0 ? 0 : zp_refuse(o, "%s.", err.text);
}

int zp_memory_fits(const zp_options *o, double bytes)
{
  const zp_memory_free m = zp_memory_free_now("");
  if (bytes < 0.95 * m.bytes) return 0;
  return zp_refuse(o,
                   "this needs up to %.0f MiB of memory and %s %.0f MiB. Use fewer "
                   "ranks, fewer micro-batches, larger buckets or a smaller model.",
                   bytes / 0x1p20, m.what, m.bytes / 0x1p20);
}

int zp_plan_fits(const zp_options *o, const zp_config *cfg, double others, double per_element)
{
  zp_error err = {0};
  double bytes = 0x1p24 + others; /* measured: the program and its libraries take 10 MiB */
  if (zp_simulation_need(cfg, &o->hyper, per_element, &bytes, &err) != 0)
    return zp_options_report(o, &err);
  return zp_memory_fits(o, bytes);
}

const char *zp_gradients_text(const zp_hyper *hyper)
{
  return hyper->fp32_gradients ? " with fp32 gradients" : "";
}

const char *zp_replicas_text(int32_t replicas, char text[32])
{
  text[0] = 0;
  if (replicas > 1) snprintf(text, 32, ", %d replicas", (int)replicas);
  return text;
}
