/* The elements of its arrays that a rank reads and writes: PART-3 … PART-7 and PART-9 as used by
 * the interpreter. Include after ref/plan/program.h and the types of ref/engine/window.h. */
#ifndef ZP_SPEC_ACSL_WINDOW_H
#define ZP_SPEC_ACSL_WINDOW_H

/* The number of elements of an array. */
/*@ // A rank's elements of a flat group: its shard; at ZeRO stage 0 all of it.
    logic integer ExtentOf{L}(zp_flat *f, integer stage) =
      stage == 0 ? PaddedNumel(f->numel, f->capacity, f->members, f->align)
                 : ShardNumel(f->numel, f->capacity, f->members, f->align);
    logic integer PaddedOf{L}(zp_flat *f) =
      PaddedNumel(f->numel, f->capacity, f->members, f->align);
    // The largest bucket is the first.
    logic integer WidestOf{L}(zp_flat *f) =
      f->numel <= 0 ? 0 : BucketPadded(f->numel, f->capacity, f->members, f->align, 0);

    predicate BucketIn(integer n, integer c, integer b) = 0 <= b && b * c < n;
    predicate HasBucket{L}(zp_flat *f, integer b) = BucketIn(f->numel, f->capacity, b);
    logic integer NumelIn{L}(zp_flat *f, integer b) = BucketNumel(f->numel, f->capacity, b);
    logic integer PaddedIn{L}(zp_flat *f, integer b) =
      BucketPadded(f->numel, f->capacity, f->members, f->align, b);
    logic integer PartIn{L}(zp_flat *f, integer b) =
      Part(f->numel, f->capacity, f->members, f->align, b);
    logic integer LocalIn{L}(zp_flat *f, integer stage, integer b) =
      stage == 0 ? PaddedIn(f, b) : PartIn(f, b);
    // In bucket b, r's shard has from `at` on the flat elements from `flat` on.
    predicate PartHome(integer n, integer c, integer d, integer a, integer b, integer r, integer at,
        integer flat) =
      \forall integer o; 0 <= o < Part(n, c, d, a, b) ==>
        ElementAt(n, c, d, a, r, at + o) == flat + o;
    predicate HomesAre{L}(zp_flat *f, integer b, integer r, zp_range p) =
      PartHome(f->numel, f->capacity, f->members, f->align, b, r, p.at, p.flat);
    predicate CutAlike{L}(zp_flat *f, zp_flat *g) = f->numel == g->numel &&
      f->capacity == g->capacity && f->members == g->members && f->align == g->align;
*/

/* A range of an array. */
/*@ predicate RangeInside(zp_range p, integer extent) =
      0 <= p.at && 0 <= p.real <= p.count && p.at + p.count <= extent;
    // It has the elements from p.flat on of a flat group of n; those from n on are padding.
    predicate RangeReal(zp_range p, integer n) =
      0 <= p.flat <= 2199023255552 && p.flat + p.count <= 2199023255552 &&
      (p.real == 0 ==> n <= p.flat) &&
      (0 < p.real ==> p.flat + p.real <= n && (p.real < p.count ==> p.flat + p.real == n));
    // The part of entry i that lies in it, and its position.
    predicate PieceInside{L}(zp_config *c, zp_layout *lay, zp_range p, zp_piece g) =
      0 <= g.in && g.in + g.count <= p.real &&
      0 <= g.offset && g.offset + g.count <= c->params[g.param].numel &&
      0 <= g.i < lay->n_params && g.param == lay->first_param + g.i;
*/

/* RED-3: op adds a run of an entry into one bucket of the entry's flat group. */
/*@ predicate AddRun(integer cap, integer start, integer numel, integer offset, integer count,
        integer b) =
      0 <= offset && 0 < count && offset + count <= numel &&
      b == FirstBucket(cap, start + offset) && b == FirstBucket(cap, start + offset + count - 1);
    predicate AddFits{L}(zp_config *c, zp_layout *lay, zp_op *op) =
      \let i = op->param - lay->first_param;
      0 <= i < lay->n_params && 0 <= op->flat < lay->n_flats && lay->spot[i].flat == op->flat &&
      AddRun(lay->flat[op->flat].capacity, lay->spot[i].start, c->params[op->param].numel,
        op->offset, op->count, op->bucket); */

/* The number of bytes of n floats, of n partial sums, and of a rank's messages about one bucket. */
/*@ logic integer FloatBytes(integer dtype, integer n) = dtype == ZP_F32 ? 4 * n : 2 * n;
    logic integer SumBytes(integer reduce, integer n) = reduce == ZP_EXACT ? 72 * n : 4 * n;
    predicate ScratchHolds{L}(zp_config *c, zp_flat *f, integer b, zp_scratch s) =
      FloatBytes(DtypeOf(f->fp32, c->precision), PartIn(f, b)) <= s.send &&
      FloatBytes(DtypeOf(f->fp32, c->precision), PaddedIn(f, b)) <= s.recv &&
      4 * PaddedIn(f, b) <= s.recv &&
      SumBytes(c->reduce, LocalIn(f, c->stage, b)) <= s.recv;
    // For the first bucket of f, if f has a bucket.
    predicate ScratchServes{L}(zp_config *c, zp_flat *f, zp_scratch s) =
      0 < f->numel ==> FloatBytes(DtypeOf(f->fp32, c->precision), PaddedIn(f, 0)) <= s.send &&
        4 * PaddedIn(f, 0) <= s.recv && SumBytes(c->reduce, LocalIn(f, c->stage, 0)) <= s.recv;
*/

#endif
