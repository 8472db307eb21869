/* Messages about refused options, and about what does not fit this machine. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "../base/output.h"
#include "../engine/rank_plan.h"
#include "options.h"

int zp_refuse(const zp_options *o, const char *format, ...)
{
  va_list ap;
  if (!zp_cli_speaks()) return ZP_EXIT_REFUSED;
  va_start(ap, format);
  fprintf(stderr, "%s: ", o->command);
  if (o->config_file != NULL) fprintf(stderr, "(with --config %s) ", o->config_file);
  vfprintf(stderr, format, ap);
  fputc('\n', stderr);
  va_end(ap);
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
  return err.status == 0 ? 0 : zp_refuse(o, "%s.", err.text);
}

int zp_plan_fits(const zp_options *o, const zp_config *cfg, double others)
{
  const double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  double bytes = others;
  for (int32_t s = 0; s < cfg->pp; s++) {
    zp_rank_plan p;
    zp_error err = {0};
    const int status = zp_rank_plan_open(&p, cfg, zp_rank_of(cfg, (zp_coord){s, 0, 0}), &err);
    bytes += (double)p.total * cfg->dp * cfg->tp;
    zp_rank_plan_close(&p);
    if (status != 0) return zp_options_report(o, &err);
  }
  if (bytes < 0.9 * memory) return 0;
  return zp_refuse(o,
                   "this needs about %.1f GiB of memory and the machine has %.1f GiB. Use fewer "
                   "ranks, fewer micro-batches, larger buckets or a smaller model.",
                   bytes / 0x1p30, memory / 0x1p30);
}
