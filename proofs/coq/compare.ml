(* Compares the C planner's layouts and programs, from compare.c on stdin, with Plan.v's.

   Each op is compared in all 18 fields. Prints the first difference and exits with 1; exits with 2
   if the stream is not complete or, with the argument all, if some kind of op did not occur.
   Otherwise prints how much was compared. *)

module Big = Z (* plan.ml has a module Z of its own *)
open Plan

let integer = Big.of_int
let buffer = Bytes.create 8

(* Every number of the planner has less than 62 bits, so OCaml's int holds it. *)
let get () =
  really_input stdin buffer 0 8;
  let x = Bytes.get_int64_ne buffer 0 in
  let n = Int64.to_int x in
  if Int64.of_int n <> x then failwith "a number of more than 63 bits";
  n

let get_z () = integer (get ())
let rec times n f = if n = 0 then [] else let x = f () in x :: times (n - 1) f
let get_all n = Array.init n (fun _ -> get ())

(* ---- Fields in the order of compare.c ---- *)

let config_fields =
  [| "pp"; "dp"; "tp"; "ep"; "stage"; "reduce"; "precision"; "dynamic_shapes"; "optgroups";
     "tied_keys"; "micro_batches"; "bucket"; "align"; "n_params" |]
let param_fields =
  [| "numel"; "stage"; "optgroup"; "tied"; "sharded"; "expert"; "frozen"; "fp32" |]
let flat_fields =
  [| "group"; "members"; "optgroup"; "fp32"; "tied"; "use"; "holder"; "numel"; "capacity";
     "align" |]
let spot_fields = [| "flat"; "start" |]
let op_fields =
  [| "kind"; "what"; "group"; "key"; "dtype"; "redop"; "root"; "flat"; "param"; "slot";
     "if_stepped"; "mb"; "recv_mb"; "bucket"; "offset"; "count"; "clock_t"; "clock_i" |]

let of_flat f =
  [| f.f_group; f.f_members; f.f_optgroup; f.f_fp32; f.f_tied; f.f_use; f.f_holder; f.f_numel;
     f.f_capacity; f.f_align |]
let of_spot p = [| p.s_flat; p.s_start |]
let of_op o =
  [| o.o_kind; o.o_what; o.o_group; o.o_key; o.o_dtype; o.o_redop; o.o_root; o.o_flat; o.o_param;
     o.o_slot; o.o_if_stepped; o.o_mb; o.o_recv_mb; o.o_bucket; o.o_offset; o.o_count; o.o_clock_t;
     o.o_clock_i |]

(* ---- The comparison ---- *)

let described = ref (fun () -> "")
let differs what field c coq =
  Printf.printf "differs: %s, %s: C %s, Coq %s\n  %s\n" what field c coq (!described ());
  exit 1

(* Reads one array of a struct's fields and compares it. *)
let same what names coq =
  Array.iteri (fun i name ->
      let c = get_z () in
      if not (Big.equal c coq.(i)) then
        differs (what ()) ("field " ^ name) (Big.to_string c)
          (Big.to_string coq.(i)))
    names

let same_number what c coq =
  if c <> coq then differs what "length" (string_of_int c) (string_of_int coq)

let same_list what names coq fields =
  same_number what (get ()) (List.length coq);
  List.iteri (fun i x -> same (fun () -> Printf.sprintf "%s %d" what i) names (fields x)) coq

let show names values =
  String.concat " " (Array.to_list (Array.mapi (fun i n -> Printf.sprintf "%s %d" n values.(i))
                                      names))

let get_config () =
  let h = get_all 14 in
  let params = times h.(13) (fun () -> get_all 8) in
  described := (fun () ->
      String.concat "\n  entry: " (show config_fields h :: List.map (show param_fields) params));
  let z = Array.map integer h in
  let param p =
    let p = Array.map integer p in
    { p_numel = p.(0); p_stage = p.(1); p_optgroup = p.(2); p_tied = p.(3); p_sharded = p.(4);
      p_expert = p.(5); p_frozen = p.(6); p_fp32 = p.(7) } in
  h, { c_pp = z.(0); c_dp = z.(1); c_tp = z.(2); c_ep = z.(3); c_stage = z.(4); c_reduce = z.(5);
       c_precision = z.(6); c_dynamic_shapes = z.(7); c_optgroups = z.(8); c_tied_keys = z.(9);
       c_micro_batches = z.(10); c_bucket = z.(11); c_align = z.(12);
       c_params = List.map param params }

let compare_layout s lay =
  let what = Printf.sprintf "layout of stage %d" s in
  same (fun () -> what) [| "stage"; "first_param" |] [| lay.l_stage; lay.l_first_param |];
  same_list (what ^ ", flat group") flat_fields lay.l_flat of_flat;
  same_list (what ^ ", spot") spot_fields lay.l_spot of_spot

let phases = [ "INIT", PhaseInit; "STEP", PhaseStep; "SAVE", PhaseSave; "LOAD", PhaseLoad ]
let kinds = Array.make 64 0

(* Counts an op of the program. *)
let seen o = let k = Big.to_int o.o_kind in kinds.(k) <- kinds.(k) + 1

(* The length is -1 if C wrote the same as for the stage's first rank. Unless the phase is SAVE,
   that is also so of Plan.v: lemma same_for_all_ranks. *)
let compare_program config lay (name, phase) pp dp tp =
  let what () = Printf.sprintf "%s of rank pp %d dp %d tp %d" name pp dp tp in
  let length = get () in
  if length = -1 && phase <> PhaseSave && (dp, tp) <> (0, 0) then ()
  else begin
    let at = { a_pp = integer pp; a_dp = integer dp; a_tp = integer tp } in
    let coq = program config lay phase at in
    let n = List.length coq in
    if n <> length then same_number (what ()) length n;
    List.iteri (fun i o ->
        seen o;
        same (fun () -> Printf.sprintf "%s, op %d of %d" (what ()) i n) op_fields (of_op o))
      coq
  end

let () =
  set_binary_mode_in stdin true;
  let configs = ref 0 and programs = ref 0 in
  try
    while get () = 1 do
      let h, config = get_config () in
      let layouts = Array.init h.(0) (fun s -> layout_of config (integer s)) in
      Array.iteri compare_layout layouts;
      for pp = 0 to h.(0) - 1 do
        for dp = 0 to h.(1) - 1 do
          for tp = 0 to h.(2) - 1 do
            List.iter (fun p -> compare_program config layouts.(pp) p pp dp tp) phases;
            programs := !programs + List.length phases
          done
        done
      done;
      incr configs
    done;
    let ops = Array.fold_left ( + ) 0 kinds in
    let some = Array.fold_left (fun n k -> if k > 0 then n + 1 else n) 0 kinds in
    if Array.mem "all" Sys.argv && some <> Big.to_int zP_OPS then
      failwith (Printf.sprintf "%d kinds of ops, expected all" some);
    Printf.printf "  %d configurations, %d programs, %d ops of %d kinds: C and Coq agree\n" !configs
      !programs ops some
  with
  | End_of_file -> prerr_endline "compare: the stream of the C planner ends early"; exit 2
  | Failure why -> prerr_endline ("compare: " ^ why); exit 2
