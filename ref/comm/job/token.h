/* The secret that the processes of a job on several hosts share. Not installed. */
#ifndef ZP_COMM_TOKEN_H
#define ZP_COMM_TOKEN_H

#include <stddef.h>
#include <stdint.h>

enum { ZP_TOKEN_HALF = 64, ZP_TOKEN_MIN = 32 };

/* The two halves of the text, padded with zeros: who connects shows the first, who answers the
 * second, so that neither shows the other what it could pass on. */
typedef struct zp_token {
  uint8_t half[2][ZP_TOKEN_HALF];
} zp_token;

/* Reads ZEROPROOF_TOKEN, else the file that ZEROPROOF_TOKEN_FILE names. Returns 0, or -1 with the
 * reason and what to do in why[cap]: neither is set, a length out of range, a file that others may
 * read or that is not this user's. */
int zp_token_read(zp_token *t, char *why, size_t cap);

/* 1 if both halves are equal; takes the same time wherever they differ. */
int zp_token_equal(const uint8_t a[ZP_TOKEN_HALF], const uint8_t b[ZP_TOKEN_HALF]);

#endif
