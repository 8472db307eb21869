/* Sums from which ranks know whether all of them hold the same number: STAT-6. */
#ifndef ZP_SPEC_ACSL_AGREE_H
#define ZP_SPEC_ACSL_AGREE_H

/* Word k of a 64-bit number, its least significant 16 bits first. */
/*@ logic integer Word16(integer x, integer k) =
      k == 0 ? x % 65536 : k == 1 ? x / 65536 % 65536 :
      k == 2 ? x / 4294967296 % 65536 : x / 281474976710656 % 65536;
    logic integer WordSquare(integer x) = x * x;
    logic integer PerRank(integer n, integer x) = n * x;
    // What the test reads: the sum of a word over the ranks, of its square, and the word of rank 0.
    predicate SameWords(integer n, integer sum, integer squares, integer first) =
      0 <= first < 65536 && sum == PerRank(n, first) && squares == PerRank(n, WordSquare(first));
*/

/* The word of each rank is uninterpreted. Over the first n ranks: its sum, the sum of its squares,
 * of its products with x >= 0, and of the squares of its distances from x. Repeated: x, n times. */
/*@ axiomatic Words { logic integer WordOf(integer r); }
    logic integer WordSum(integer n) = n <= 0 ? 0 : WordSum(n - 1) + WordOf(n - 1);
    logic integer WordSquares(integer n) =
      n <= 0 ? 0 : WordSquares(n - 1) + WordSquare(WordOf(n - 1));
    logic integer Repeated(integer n, integer x) = n <= 0 ? 0 : Repeated(n - 1, x) + x;
    logic integer Products(integer n, integer x) =
      n <= 0 ? 0 : Products(n - 1, x) + Repeated(x, WordOf(n - 1));
    logic integer Distances(integer n, integer x) =
      n <= 0 ? 0 : Distances(n - 1, x) + WordSquare(WordOf(n - 1) - x);
*/

/*@ lemma Square_Range: \forall integer x; 0 <= WordSquare(x);
    lemma Square_Positive: \forall integer x; x != 0 ==> 1 <= WordSquare(x);
    lemma Repeated_Times: \forall integer n; 0 <= n ==> \forall integer x;
      Repeated(n, x) == PerRank(n, x);
    lemma Repeated_Sum: \forall integer n; 0 <= n ==> \forall integer a, b, c; c == a + b ==>
      Repeated(n, c) == Repeated(n, a) + Repeated(n, b);
    lemma Repeated_Add: \forall integer n; 0 <= n ==> \forall integer a, b;
      Repeated(n, a + b) == Repeated(n, a) + Repeated(n, b);
    lemma Repeated_Step: \forall integer n, x; 0 < n ==> Repeated(n, x) == Repeated(n - 1, x) + x;
    lemma Repeated_Zero: \forall integer n; 0 <= n ==> Repeated(n, 0) == 0;
    lemma Repeated_Square: \forall integer x; 0 <= x ==> Repeated(x, x) == WordSquare(x);
    lemma Repeated_Next: \forall integer n, x, y, q; 0 < n && 0 <= x &&
      y == Repeated(n - 1, x) && q == Repeated(x, x) && Repeated(x, y) == Repeated(n - 1, q) ==>
      Repeated(x, y + x) == Repeated(n, q);
    lemma Repeated_Both: \forall integer n; 0 <= n ==> \forall integer x, q; 0 <= x &&
      q == Repeated(x, x) ==> Repeated(x, Repeated(n, x)) == Repeated(n, q);
    lemma Repeated_Twice: \forall integer n; 0 <= n ==> \forall integer x; 0 <= x ==>
      Repeated(x, Repeated(n, x)) == Repeated(n, WordSquare(x));
    lemma Square_Distance: \forall integer w, x; 0 <= x ==>
      WordSquare(w - x) == WordSquare(w) - 2 * Repeated(x, w) + WordSquare(x);
    lemma Products_Sum: \forall integer n; 0 <= n ==> \forall integer x; 0 <= x ==>
      Products(n, x) == Repeated(x, WordSum(n));
    lemma Distances_Range: \forall integer n; 0 <= n ==> \forall integer x; 0 <= Distances(n, x);
    lemma Distances_Some: \forall integer n; 0 <= n ==> \forall integer x, r;
      0 <= r < n && WordOf(r) != x ==> 1 <= Distances(n, x);
    lemma Distances_Sums: \forall integer n; 0 <= n ==> \forall integer x; 0 <= x ==>
      Distances(n, x) == WordSquares(n) - 2 * Products(n, x) + Repeated(n, WordSquare(x));
    lemma Distances_None: \forall integer n, x; 0 <= n && 0 <= x &&
      WordSum(n) == Repeated(n, x) && WordSquares(n) == Repeated(n, WordSquare(x)) ==>
      Distances(n, x) == 0;
    lemma Same_Sum: \forall integer n; 0 <= n ==> \forall integer x;
      (\forall integer r; 0 <= r < n ==> WordOf(r) == x) ==> WordSum(n) == Repeated(n, x);
    lemma Same_Squares: \forall integer n; 0 <= n ==> \forall integer x;
      (\forall integer r; 0 <= r < n ==> WordOf(r) == x) ==>
      WordSquares(n) == Repeated(n, WordSquare(x));
    lemma Same_Distance: \forall integer n, x; 0 <= n &&
      SameWords(n, WordSum(n), WordSquares(n), x) ==> Distances(n, x) == 0;
    // The test holds exactly if every rank has the word of rank 0.
    lemma Same_Found: \forall integer n, r; 0 <= r < n &&
      SameWords(n, WordSum(n), WordSquares(n), WordOf(0)) ==> WordOf(r) == WordOf(0);
    lemma Same_Passes: \forall integer n; 1 <= n && 0 <= WordOf(0) < 65536 &&
      (\forall integer r; 0 <= r < n ==> WordOf(r) == WordOf(0)) ==>
      SameWords(n, WordSum(n), WordSquares(n), WordOf(0));
*/

#endif
