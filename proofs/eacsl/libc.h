/* Functions that exist in Frama-C's math.h but not in the system's. */
#ifndef ZP_EACSL_LIBC_H
#define ZP_EACSL_LIBC_H

int __fc_fpclassifyf(float x);
int __fc_fpclassify(double x);

#endif
