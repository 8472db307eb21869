/* Lemmas about the ranges of window.h. Include after home_code.h and layout_good.h. */
#ifndef ZP_SPEC_ACSL_WINDOW_LEMMAS_H
#define ZP_SPEC_ACSL_WINDOW_LEMMAS_H

/*@ // Bucket b, and its parts, end within the array; no bucket is larger than the first.
    predicate RangeFacts(integer n, integer c, integer d, integer a, integer b) =
      b * c + BucketPadded(n, c, d, a, b) <= PaddedNumel(n, c, d, a) &&
      b * (c / d) + Part(n, c, d, a, b) <= ShardNumel(n, c, d, a) &&
      BucketPadded(n, c, d, a, b) <= BucketPadded(n, c, d, a, 0) &&
      Part(n, c, d, a, b) <= Part(n, c, d, a, 0) &&
      Part(n, c, d, a, b) <= BucketPadded(n, c, d, a, b) &&
      PaddedNumel(n, c, d, a) < n + d * a;
    lemma Range_Padded: \forall integer n, c, d, a, b; Cut(n, c, d, a) && 0 <= b < Buckets(n, c) ==>
      Mix(b, c, BucketPadded(n, c, d, a, b) - 1) < PaddedNumel(n, c, d, a);
    lemma Range_Shard: \forall integer n, c, d, a, b; Cut(n, c, d, a) && 0 <= b < Buckets(n, c) ==>
      Mix(b, c / d, Part(n, c, d, a, b) - 1) < ShardNumel(n, c, d, a);
    lemma Range_First: \forall integer n, c, d, a, b; Cut(n, c, d, a) && 0 <= b < Buckets(n, c) ==>
      BucketPadded(n, c, d, a, b) <= BucketPadded(n, c, d, a, 0);
    lemma Range_Part: \forall integer n, c, d, a, b; Cut(n, c, d, a) && 0 <= b < Buckets(n, c) ==>
      Part(n, c, d, a, b) <= Part(n, c, d, a, 0) &&
      Part(n, c, d, a, b) <= BucketPadded(n, c, d, a, b);
    lemma Range_Facts: \forall integer n, c, d, a, b; Cut(n, c, d, a) && 0 <= b && b * c < n ==>
      RangeFacts(n, c, d, a, b);

    // Part r lies within bucket b.
    predicate OwnedFacts(integer n, integer c, integer d, integer a, integer b, integer r) =
      0 <= r * Part(n, c, d, a, b) &&
      r * Part(n, c, d, a, b) + Part(n, c, d, a, b) <= BucketPadded(n, c, d, a, b);
    lemma Owned_Last: \forall integer n, c, d, a, b, r;
      Cut(n, c, d, a) && 0 <= b < Buckets(n, c) && 0 <= r < d ==>
      Mix(r, Part(n, c, d, a, b), Part(n, c, d, a, b) - 1) < BucketPadded(n, c, d, a, b);
    lemma Mix_Terms: \forall integer x, m, y; 0 < m ==> Mix(x, m, y) == x * m + y;
    lemma Owned_Inside: \forall integer n, c, d, a, b, r;
      Cut(n, c, d, a) && 0 <= b < Buckets(n, c) && 0 <= r < d ==>
      0 < Part(n, c, d, a, b) &&
      Mix(r, Part(n, c, d, a, b), Part(n, c, d, a, b) - 1) ==
        r * Part(n, c, d, a, b) + (Part(n, c, d, a, b) - 1) &&
      OwnedFacts(n, c, d, a, b, r);
    lemma Owned_Facts: \forall integer n, c, d, a, b, r;
      Cut(n, c, d, a) && 0 <= b && b * c < n && 0 <= r < d ==> OwnedFacts(n, c, d, a, b, r);

    // There, r's shard has the elements from b·c + r·q on.
    lemma Home_Offsets: \forall integer n, c, d, a, b, o;
      Cut(n, c, d, a) && 0 <= b < Buckets(n, c) && 0 <= o < Part(n, c, d, a, b) ==>
      0 < c / d && Mix(b, c / d, o) == b * (c / d) + o &&
      ShardBucket(c, d, Mix(b, c / d, o)) == b &&
      0 <= b * (c / d) + o < ShardNumel(n, c, d, a);
    lemma Home_Bucket: \forall integer n, c, d, a, b, o, x;
      Cut(n, c, d, a) && 0 <= b < Buckets(n, c) && 0 <= o < Part(n, c, d, a, b) &&
      x == b * (c / d) + o ==> ShardBucket(c, d, x) == b && 0 <= x < ShardNumel(n, c, d, a);
    lemma Home_Mix: \forall integer n, c, d, a, b, r, o, x;
      Cut(n, c, d, a) && 0 <= b < Buckets(n, c) && 0 <= r < d && 0 <= o < Part(n, c, d, a, b) &&
      x == Mix(b, c / d, o) ==>
      InBucket(n, c, d, a, r, x) == Mix(r, Part(n, c, d, a, b), o) &&
      ElementAt(n, c, d, a, r, x) == Mix(b, c, Mix(r, Part(n, c, d, a, b), o));
    lemma Mix_Twice: \forall integer b, c, r, q, o; 0 < c && 0 < q ==>
      Mix(b, c, Mix(r, q, o)) == b * c + r * q + o;
    lemma Home_Sum: \forall integer n, c, d, a, b, r, o;
      Cut(n, c, d, a) && 0 <= b < Buckets(n, c) && 0 <= r < d && 0 <= o < Part(n, c, d, a, b) ==>
      0 < c / d && Mix(b, c / d, o) == b * (c / d) + o &&
      Mix(b, c, Mix(r, Part(n, c, d, a, b), o)) == b * c + r * Part(n, c, d, a, b) + o;
    lemma Home_Named: \forall integer n, c, d, a, b, r, o, x;
      Cut(n, c, d, a) && 0 <= b < Buckets(n, c) && 0 <= r < d && 0 <= o < Part(n, c, d, a, b) &&
      x == b * (c / d) + o ==> x == Mix(b, c / d, o) &&
      ElementAt(n, c, d, a, r, x) == Mix(b, c, Mix(r, Part(n, c, d, a, b), o));
    lemma Home_At: \forall integer n, c, d, a, b, r, o, x, y;
      Cut(n, c, d, a) && 0 <= b < Buckets(n, c) && 0 <= r < d && 0 <= o < Part(n, c, d, a, b) &&
      x == b * (c / d) + o && y == b * c + r * Part(n, c, d, a, b) + o ==>
      ElementAt(n, c, d, a, r, x) == y;
    lemma Owned_Home: \forall integer n, c, d, a, b, r, x, y; Cut(n, c, d, a) && 0 <= b &&
      b * c < n && 0 <= r < d && x == b * (c / d) && y == b * c + r * Part(n, c, d, a, b) ==>
      PartHome(n, c, d, a, b, r, x, y);

    // The index of (p, d, t) in the reduction group of a flat group of the layout.
    lemma Index_Range{L}: \forall zp_config *c, zp_flat *f, integer k, n, p, d, t;
      Valid(c) && FlatLike(c, f, k, n) && Within(c, p, d, t) ==>
      0 <= GroupIndex(c, f->group, -1, p, d, t) < f->members;

    // A run whose ends lie in bucket b lies in it, and in the flat group.
    lemma Ends_Bucket: \forall integer x, y, c, b; 0 <= x <= y && 1 <= c &&
      b == FirstBucket(c, x) && b == FirstBucket(c, y) ==> 0 <= b && b * c <= x && y < b * c + c;
    predicate AddFacts(integer n, integer c, integer d, integer a, integer b, integer e,
        integer m) =
      0 <= b && 0 <= b * c <= e && b * c < n && e - b * c + m <= BucketNumel(n, c, b) &&
      e + m <= PaddedNumel(n, c, d, a);
    lemma Add_Inside: \forall integer n, c, d, a, b, e, m; Cut(n, c, d, a) && 0 <= b && 0 < m &&
      b * c <= e && e + m <= b * c + c && e + m <= n ==> AddFacts(n, c, d, a, b, e, m);
    lemma Add_Facts: \forall integer n, c, d, a, b, e, m; Cut(n, c, d, a) && 0 <= e && 0 < m &&
      e + m <= n && b == FirstBucket(c, e) && b == FirstBucket(c, e + m - 1) ==>
      AddFacts(n, c, d, a, b, e, m);

    // Scratch memory for the first bucket suffices for all.
    lemma Float_Grows: \forall integer dtype, x, y; x <= y ==>
      FloatBytes(dtype, x) <= FloatBytes(dtype, y);
    lemma Sum_Grows: \forall integer reduce, x, y; x <= y ==>
      SumBytes(reduce, x) <= SumBytes(reduce, y);
    lemma Bucket_First{L}: \forall zp_flat *f, integer stage, b;
      FlatCut(f) && HasBucket(f, b) ==> 0 < f->numel && PaddedIn(f, b) <= PaddedIn(f, 0) &&
      PartIn(f, b) <= PaddedIn(f, 0) && LocalIn(f, stage, b) <= LocalIn(f, stage, 0);
    lemma Scratch_Holds{L}: \forall zp_config *c, zp_flat *f, integer b, zp_scratch s;
      FlatOk(f) && FlatCut(f) && ScratchServes(c, f, s) && HasBucket(f, b) ==>
      ScratchHolds(c, f, b, s);

    // Flat groups of one tied key are cut in the same way.
    lemma Window_Tied{L}: \forall zp_config *c, integer s, zp_layout *lay, integer k, h;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= k < lay->n_flats && 0 <= h < lay->n_flats &&
      0 <= (lay->flat + k)->tied && (lay->flat + h)->tied == (lay->flat + k)->tied ==>
      CutAlike(lay->flat + k, lay->flat + h);
    lemma Alike_Local{L}: \forall zp_flat *f, zp_flat *g, integer stage, b; CutAlike(f, g) ==>
      LocalIn(f, stage, b) == LocalIn(g, stage, b);
    lemma Bucket_Same: \forall integer n, c, m, d, b; n == m && c == d && BucketIn(n, c, b) ==>
      BucketIn(m, d, b);
    lemma Alike_Bucket{L}: \forall zp_flat *f, zp_flat *g, integer b;
      CutAlike(f, g) && HasBucket(f, b) ==> HasBucket(g, b); */

#endif
