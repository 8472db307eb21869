/* Two sums show whether all ranks have rank 0's word. STAT-6 */
#include "../../spec/acsl/agree.h"

/*@ check lemma SentinelAgree: \false; */
/*@ // The sum alone does not show it.
    check lemma Control_SumAlone: \forall integer n, r; 0 <= r < n &&
      WordSum(n) == PerRank(n, WordOf(0)) ==> WordOf(r) == WordOf(0); */
