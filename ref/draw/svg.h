/* Writes SVG: all pictures of the project are drawn with these functions. Texts are escaped. */
#ifndef ZP_DRAW_SVG_H
#define ZP_DRAW_SVG_H

#include <stdint.h>
#include <stdio.h>

typedef struct zp_svg {
  FILE *f;
  int32_t x_digits, y_digits; /* after the point, of horizontal and vertical numbers: 0 or 1 */
} zp_svg;

/* A picture of this size with a white background. style: a <style> element and definitions, which
 * are written as they are. Numbers are whole until zp_svg_digits. */
void zp_svg_begin(zp_svg *s, FILE *f, double width, double height, const char *style);
/* Ends the picture. The caller checks ferror and closes the file. */
void zp_svg_end(zp_svg *s);

void zp_svg_digits(zp_svg *s, int32_t x_digits, int32_t y_digits);
void zp_svg_newline(zp_svg *s);

/* A group whose title is shown under the pointer. */
void zp_svg_group(zp_svg *s, const char *title, ...) __attribute__((format(printf, 2, 3)));
/* A group of which only what lies right of x is visible. */
void zp_svg_clipped_group(zp_svg *s, double x, double width);
void zp_svg_end_group(zp_svg *s);

/* css: the class of the style, or NULL. radius: of the corners; 0: none. */
void zp_svg_rect(zp_svg *s, const char *css, double x, double y, double width, double height,
                 int32_t radius);
void zp_svg_line(zp_svg *s, const char *css, double x1, double y1, double x2, double y2);
void zp_svg_text(zp_svg *s, const char *css, double x, double y, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* marker: at its end, an id of the style, or NULL. format: the path's data. */
void zp_svg_path(zp_svg *s, const char *css, const char *marker, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
