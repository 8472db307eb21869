/* The lemmas about single ops of SAVE. CKPT-1 */
#include "../../ref/plan/program_internal.h"
#include "../../spec/acsl/kept_lemmas.h"
#include "../../spec/acsl/save_lemmas.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_save_lemmas.h"

/*@ check lemma SentinelOpSave: \false; */
