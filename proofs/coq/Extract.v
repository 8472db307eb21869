(* Extracts Plan.v to OCaml for compare.sh, with Z as zarith's integers.

   Trusted here: Coq's extraction and its library for zarith, and the lines below. They replace
   functions that extraction would compute bit by bit: Z.quot and Z.rem (with Coq's results for a
   zero divisor), and conversions to and from nat, which stays unary. *)

Require Import List ZArith Extraction.
Require Import ExtrOcamlBasic ExtrOcamlZBigInt.
Require Import ZP.Op ZP.OpOf ZP.Plan.

Extract Constant Z.quot =>
 "(fun a b -> if Big_int_Z.sign_big_int b = 0 then b else Number.quot a b)".
Extract Constant Z.rem =>
 "(fun a b -> if Big_int_Z.sign_big_int b = 0 then a else Number.rem a b)".
Extract Constant Z.leb => "Big_int_Z.le_big_int".
Extract Constant Z.ltb => "Big_int_Z.lt_big_int".
Extraction Inline if_ops.

Extraction "plan.ml" layout_of program ZP_OPS.
