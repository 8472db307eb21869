/* Functions that Frama-C's math.h has and the system's has not. */
#ifndef ZP_EACSL_LIBC_H
#define ZP_EACSL_LIBC_H

int __fc_fpclassifyf(float x);
int __fc_fpclassify(double x);

#endif
