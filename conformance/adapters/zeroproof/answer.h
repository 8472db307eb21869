/* What ranks hold after a step, in the words of conformance/ADAPTER.md, "run". */
#ifndef ZP_CONFORMANCE_ANSWER_H
#define ZP_CONFORMANCE_ANSWER_H

#include <jansson.h>

#include "../../../ref/model/table.h"
#include "../../../ref/verify/backend.h"

/* table: the case. */
json_t *zp_answer_step(const zp_rank_view *view, const zp_table *table);
/* What a rank holds after it has loaded a checkpoint. */
json_t *zp_answer_loaded(const zp_rank_view *view);
json_t *zp_answer_error(const char *text);

#endif
