/* The lemmas about single ops of INIT. LEDG-4, LEDG-5 */
#include "../../ref/plan/program_internal.h"
#include "../../spec/acsl/init_lemmas.h"
#include "../../spec/acsl/kept_lemmas.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_init_lemmas.h"

/*@ check lemma SentinelOpInit: \false; */
