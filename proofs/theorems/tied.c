/* Family 3, tied keys: two stages that hold a key write the same sums for it. The contract is the
 * theorem; the body is empty. TIE-1, LEDG-2, LEDG-6 */
#include "../../ref/plan/step_internal.h"
#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/topology_lemmas.h"

#include "../../spec/acsl/step_tied.h"

//@ check lemma sentinel_tied: \false;

/* one and two are the layouts of stages s and z of the valid configuration cfg; key >= 0. */
/*@ requires cfg: Valid(cfg);
    requires layouts: LayoutOf(cfg, s, one) && LayoutOf(cfg, z, two);
    requires key: 0 <= key;
    terminates \true; exits \false;
    assigns \nothing;
    ensures equal: On(cfg, key, s) == 1 && On(cfg, key, z) == 1 ==>
        \forall trace tr, integer t;
          LayKeyTrace(tr, cfg, one, key, t) == LayKeyTrace(tr, cfg, two, key, t);
    ensures nothing: On(cfg, key, s) != 1 ==>
        \forall trace tr, integer t; LayKeyTrace(tr, cfg, one, key, t) == tr;
    ensures counted: HeldTied(one->flat, one->n_flats) ==
        KeysLen(one->flat, one->n_flats, cfg->tied_keys);
    check ensures control: \forall trace tr, integer t;
        LayKeyTrace(tr, cfg, one, key, t) == LayKeyTrace(tr, cfg, two, key, t); */
void same_sums(const zp_config *cfg, int32_t s, int32_t z, const zp_layout *one,
               const zp_layout *two, int32_t key)
{
  (void)cfg, (void)s, (void)z, (void)one, (void)two, (void)key;
}
