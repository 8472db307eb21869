/* Curves by gnuplot. */
#ifndef ZP_DRAW_GNUPLOT_H
#define ZP_DRAW_GNUPLOT_H

#include <stddef.h>

#include "../base/error.h"

/* Runs gnuplot with a script of n bytes, which must print a picture in SVG, and writes that to
 * file. gnuplot reads the script from its standard input and never learns the file's name; no shell
 * and no start-up file of gnuplot takes part. After seconds_max it is stopped. 0, or ZP_E_FILE:
 * "PATH: reason", or gnuplot failed, took too long or is not installed. */
int zp_gnuplot(const char *script, size_t n, const char *file, unsigned seconds_max, zp_error *err);

#endif
