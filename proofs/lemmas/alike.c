/* Lemmas: two members of a group have equal ledgers of INIT, SAVE and LOAD. LEDG-2 */
#include "../../ref/plan/program.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/init_lemmas.h"

#include "../../spec/acsl/kept_lemmas.h"

#include "../../spec/acsl/save_lemmas.h"

#include "../../spec/acsl/alike_lemmas.h"

/*@ check lemma SentinelAlike: \false; */
