/* Lemmas about the folds over a program's ops, and about the ledgers of INIT, SAVE and LOAD. */
#include "../../ref/plan/program.h"

#include "../../spec/acsl/apart_lemmas.h"

#include "../../spec/acsl/config_lemmas.h"

#include "../../spec/acsl/topology_lemmas.h"

#include "../../spec/acsl/kept_lemmas.h"

#include "../../spec/acsl/holder_lemmas.h"

#include "../../spec/acsl/init_lemmas.h"

#include "../../spec/acsl/ledger_lemmas.h"

#include "../../spec/acsl/save_lemmas.h"

/*@ check lemma SentinelLedger: \false; */
