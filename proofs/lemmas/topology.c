/* The lemmas of spec/acsl/topology_lemmas.h. TOPO-1, TOPO-4 */
#include "../../ref/plan/topology.h"

#include "../../spec/acsl/topology_lemmas.h"

/*@ check lemma sentinel_topology: \false; */
