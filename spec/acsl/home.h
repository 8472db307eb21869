/* The logic of PART-5 and PART-6: positions of flat elements. Quantities as in partition.h, e a
 * flat element (padding included: elements N … Padded-1), r an owner, o an offset in a shard. The
 * sum of a product and a remainder is written Mix, as for ranks. Include after topology.h. */
#ifndef ZP_SPEC_ACSL_HOME_H
#define ZP_SPEC_ACSL_HOME_H

/*@ // n, c, d, a as in the layout of a valid configuration
    predicate Cut(integer n, integer c, integer d, integer a) =
      0 <= n && 1 <= c && 1 <= d && 1 <= a && WholeUnits(c, d, a);

    predicate FlatCut{L}(zp_flat *f) = Cut(f->numel, f->capacity, f->members, f->align);

    logic integer PaddedNumel(integer n, integer c, integer d, integer a) =
      n <= 0 ? 0 : Mix(Buckets(n, c) - 1, c, BucketPadded(n, c, d, a, Buckets(n, c) - 1));
    logic integer ShardNumel(integer n, integer c, integer d, integer a) =
      n <= 0 ? 0 : Mix(Buckets(n, c) - 1, c / d, Part(n, c, d, a, Buckets(n, c) - 1));

    logic integer Owner(integer n, integer c, integer d, integer a, integer e) =
      (e % c) / Part(n, c, d, a, e / c);
    logic integer ShardOffset(integer n, integer c, integer d, integer a, integer e) =
      Mix(e / c, c / d, (e % c) % Part(n, c, d, a, e / c));

    logic integer ShardBucket(integer c, integer d, integer o) = o / (c / d);
    // The position in its bucket, and in the flat group, of the element at offset o of r's shard.
    logic integer InBucket(integer n, integer c, integer d, integer a, integer r, integer o) =
      Mix(r, Part(n, c, d, a, ShardBucket(c, d, o)), o % (c / d));
    logic integer ElementAt(integer n, integer c, integer d, integer a, integer r, integer o) =
      Mix(ShardBucket(c, d, o), c, InBucket(n, c, d, a, r, o)); */

#endif
