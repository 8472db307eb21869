/* Parameter lists of cases. */
#ifndef ZP_VERIFY_CASE_LIST_H
#define ZP_VERIFY_CASE_LIST_H

#include "case.h"

/* A trained entry, not sharded and not tied. */
zp_param zp_case_entry(int64_t numel, int32_t stage, int32_t optgroup);

/* A list with everything that the topology allows: a key tied over first and last stage, sharded
 * and replicated entries, experts, sizes that no number of ranks divides. */
void zp_case_default_list(zp_case *c);

/* The list of a case with old_pp stages, cut for c->cfg.pp stages: the first and the last stage
 * keep theirs, those between repeat the ones between (or the first, without its tied entries). */
void zp_case_recut(zp_case *c, int32_t old_pp);

#endif
