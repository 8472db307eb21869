/* Which sources a binary was made of, so that a production build can be traced to its proofs. */
#ifndef ZP_ENGINE_BUILD_INFO_H
#define ZP_ENGINE_BUILD_INFO_H

/* Static strings, never NULL. */
typedef struct zp_build_info {
  const char *version; /* as 0.1.0 */
  const char *commit;  /* git's commit, with -dirty when sources differ from it; or "unknown" */
  const char *claims;  /* SHA-256 of CLAIMS.md, 64 hexadecimal digits; or "none" */
} zp_build_info;

/* What the library was built from. Errors: none. */
zp_build_info zp_build(void);

#endif
