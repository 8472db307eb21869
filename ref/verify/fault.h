/* A historic bug of another implementation that a backend can inject into itself. */
#ifndef ZP_VERIFY_FAULT_H
#define ZP_VERIFY_FAULT_H

typedef struct zp_fault {
  const char *name;
  const char *source;  /* where it happened */
  const char *clause;  /* the clause that it breaks and that the verdict must name */
  const char *what;    /* one line */
  const char *example; /* a case in which it is found (case.h's text) */
} zp_fault;

#endif
