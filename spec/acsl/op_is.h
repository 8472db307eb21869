/* An op as a predicate of all its 18 fields: what the op at a place of a program is, no field left
 * open. Two ops that satisfy IsOp with equal values are equal. LEDG-1, LEDG-3 */
#ifndef ZP_SPEC_ACSL_OP_IS_H
#define ZP_SPEC_ACSL_OP_IS_H

/*@ // Op o has these values in its 18 fields (zp_op in ref/plan/program.h).
    predicate IsOp{L}(zp_op *o, integer kind, integer what, integer group, integer key,
        integer dtype, integer redop, integer root, integer flat, integer param, integer slot,
        integer if_stepped, integer mb, integer recv_mb, integer bucket, integer offset,
        integer count, integer t, integer i) =
      o->kind == kind && o->what == what && o->group == group && o->key == key &&
      o->dtype == dtype && o->redop == redop && o->root == root && o->flat == flat &&
      o->param == param && o->slot == slot && o->if_stepped == if_stepped && o->mb == mb &&
      o->recv_mb == recv_mb && o->bucket == bucket && o->offset == offset && o->count == count &&
      o->clock_t == t && o->clock_i == i;
    // An op of this rank alone, about bucket b of flat group k.
    predicate IsLocal{L}(zp_op *o, integer kind, integer k, integer b, integer if_stepped,
        integer t, integer i) =
      IsOp(o, kind, ZP_WHAT_NONE, -1, -1, -1, ZP_RED_NONE, -1, k, -1, -1, if_stepped, -1, -1, b, 0,
        0, t, i);
    // A communication over group g, of key `key` if it is tied, about bucket b of flat group k.
    predicate IsOnBucket{L}(zp_op *o, integer kind, integer what, integer g, integer key,
        integer dtype, integer redop, integer k, integer b, integer if_stepped, integer count,
        integer t, integer i) =
      IsOp(o, kind, what, g, key, dtype, redop, -1, k, -1, -1, if_stepped, -1, -1, b, 0, count, t,
        i);
    // An agreement of the whole world on `count` integers.
    predicate IsAgreement{L}(zp_op *o, integer what, integer count, integer t, integer i) =
      IsOp(o, ZP_OP_ALL_REDUCE, what, ZP_GROUP_WORLD, -1, ZP_I64, ZP_RED_SUM, -1, -1, -1, -1, 0,
        -1, -1, -1, 0, count, t, i);
    // Two ops are equal in every field.
    predicate EqualOps{L,M}(zp_op *o, zp_op *x) =
      \at(o->kind, L) == \at(x->kind, M) && \at(o->what, L) == \at(x->what, M) &&
      \at(o->group, L) == \at(x->group, M) && \at(o->key, L) == \at(x->key, M) &&
      \at(o->dtype, L) == \at(x->dtype, M) && \at(o->redop, L) == \at(x->redop, M) &&
      \at(o->root, L) == \at(x->root, M) && \at(o->flat, L) == \at(x->flat, M) &&
      \at(o->param, L) == \at(x->param, M) && \at(o->slot, L) == \at(x->slot, M) &&
      \at(o->if_stepped, L) == \at(x->if_stepped, M) && \at(o->mb, L) == \at(x->mb, M) &&
      \at(o->recv_mb, L) == \at(x->recv_mb, M) && \at(o->bucket, L) == \at(x->bucket, M) &&
      \at(o->offset, L) == \at(x->offset, M) && \at(o->count, L) == \at(x->count, M) &&
      \at(o->clock_t, L) == \at(x->clock_t, M) && \at(o->clock_i, L) == \at(x->clock_i, M);
*/

#endif
