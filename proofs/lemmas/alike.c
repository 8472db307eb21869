/* Two members of a group have equal ledgers: the logic of it. */
#include "../../ref/plan/program.h"
#include "../../spec/acsl/layout_good.h"
#include "../../spec/acsl/init_lemmas.h"
#include "../../spec/acsl/kept_lemmas.h"
#include "../../spec/acsl/save_lemmas.h"
#include "../../spec/acsl/alike_lemmas.h"
