#include "svg.h"

#include <stdarg.h>

#include "../base/escape.h"

enum { TEXT_BYTES = 8192 };

static void number(zp_svg *s, const char *name, int32_t digits, double value)
{
  fprintf(s->f, " %s=\"%.*f\"", name, (int)digits, value);
}

static void open_element(zp_svg *s, const char *element, const char *css)
{
  fprintf(s->f, "<%s", element);
  if (css != NULL) fprintf(s->f, " class=\"%s\"", css);
}

static void put_escaped(zp_svg *s, const char *format, va_list ap)
{
  char text[TEXT_BYTES];
  zp_escape e = {{0}, 0, 0};
  vsnprintf(text, sizeof text, format, ap);
  for (const char *c = text; *c != 0; c++) {
    if (*c == '<') fputs("&lt;", s->f);
    else if (*c == '&') fputs("&amp;", s->f);
    else zp_escape_write(&e, *c == '\n' ? " " : c, 1, s->f);
  }
}

void zp_svg_begin(zp_svg *s, FILE *f, double width, double height, const char *style)
{
  s->f = f;
  s->x_digits = s->y_digits = 0;
  fprintf(f,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
          "height=\"%.0f\">\n%s<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
          width, height, width, height, style);
}

void zp_svg_end(zp_svg *s)
{
  fputs("</svg>\n", s->f);
}

void zp_svg_digits(zp_svg *s, int32_t x_digits, int32_t y_digits)
{
  s->x_digits = x_digits;
  s->y_digits = y_digits;
}

void zp_svg_newline(zp_svg *s)
{
  fputc('\n', s->f);
}

void zp_svg_group(zp_svg *s, const char *title, ...)
{
  va_list ap;
  fputs("<g><title>", s->f);
  va_start(ap, title);
  put_escaped(s, title, ap);
  va_end(ap);
  fputs("</title>", s->f);
}

void zp_svg_clipped_group(zp_svg *s, double x, double width)
{
  fprintf(s->f,
          "<clipPath id=\"c\"><rect x=\"%.0f\" y=\"0\" width=\"%.0f\" height=\"100%%\"/></clipPath>"
          "<g clip-path=\"url(#c)\">",
          x, width);
}

void zp_svg_end_group(zp_svg *s)
{
  fputs("</g>", s->f);
}

void zp_svg_rect(zp_svg *s, const char *css, double x, double y, double width, double height,
                 int32_t radius)
{
  open_element(s, "rect", css);
  number(s, "x", s->x_digits, x);
  number(s, "y", s->y_digits, y);
  number(s, "width", s->x_digits, width);
  number(s, "height", s->y_digits, height);
  if (radius > 0) fprintf(s->f, " rx=\"%d\"", (int)radius);
  fputs("/>", s->f);
}

void zp_svg_line(zp_svg *s, const char *css, double x1, double y1, double x2, double y2)
{
  open_element(s, "line", css);
  number(s, "x1", s->x_digits, x1);
  number(s, "y1", s->y_digits, y1);
  number(s, "x2", s->x_digits, x2);
  number(s, "y2", s->y_digits, y2);
  fputs("/>", s->f);
}

void zp_svg_text(zp_svg *s, const char *css, double x, double y, const char *format, ...)
{
  va_list ap;
  open_element(s, "text", css);
  number(s, "x", s->x_digits, x);
  number(s, "y", s->y_digits, y);
  fputc('>', s->f);
  va_start(ap, format);
  put_escaped(s, format, ap);
  va_end(ap);
  fputs("</text>", s->f);
}

void zp_svg_path(zp_svg *s, const char *css, const char *marker, const char *format, ...)
{
  va_list ap;
  open_element(s, "path", css);
  if (marker != NULL) fprintf(s->f, " marker-end=\"url(#%s)\"", marker);
  fputs(" d=\"", s->f);
  va_start(ap, format);
  vfprintf(s->f, format, ap);
  va_end(ap);
  fputs("\"/>", s->f);
}
