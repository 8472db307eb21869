/* The lemmas of spec/acsl/step_means_fits.h. STAT-2, LEDG-8 */
#include "../../ref/plan/program.h"
#include "../../spec/acsl/planned_lemmas.h"

#include "../../spec/acsl/step_whole.h"

#include "../../spec/acsl/step_tail.h"

#include "../../spec/acsl/op_unique_fits.h"
#include "../../spec/acsl/step_means_lemmas.h"

#include "../../spec/acsl/step_means_fits.h"

/*@ check lemma sentinel_means_fits: \false; */
