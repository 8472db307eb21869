/* What the folds over a program's ops, and the ledgers of INIT, SAVE and LOAD, obey. */
#include "../../ref/plan/program.h"
#include "../../spec/acsl/ledger_lemmas.h"
#include "../../spec/acsl/init_save_lemmas.h"
