/* A rank's count of non-finite contributions is 0 iff everything that its program adds is finite.
 * STAT-3 */
#include "../../ref/plan/program.h"

#include "../../spec/acsl/flag.h"

/*@ check lemma SentinelFlag: \false; */
/*@ // Only added elements count: other non-finite values need not set the flag.
    check lemma Control_FlagAnywhere{L}: \forall zp_op *ops, integer n, p, mb, e; 0 <= n &&
      BadAt(p, mb, e) != 0 ==> 1 <= RunFlag(ops, n); */
