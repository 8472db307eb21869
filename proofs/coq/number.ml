(* Division that truncates, from zarith, for Extract.v: plan.ml has a module Z of its own. *)
let quot = Z.div
let rem = Z.rem
