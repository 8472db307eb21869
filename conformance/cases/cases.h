/* Conformance cases: a table of gradients with all that a trainer needs to know, as JSON
 * (conformance/SPEC.md, conformance/schema/case.json), made from a recipe; and what serial training
 * makes of it.
 *
 * A recipe is a case of `zeroproof fuzz` as text (fuzz_case.h) behind up to three fields of its
 * own:
 *   wide=B   gradients of micro-batch m are 2^(B·m) times larger: sums need more bits than the
 *            precision has, and are exact only in fp32 (accumulate, in JSON)
 *   comm=fp32  sums over ranks, too
 *   first=E  first values are 2^E larger, as gradients are with unit=E
 *   sum=1    in the last step an element overflows only where ranks are added up
 *   rates=1  learning rates are doubled in steps 0, 2, …
 *   late=1   the optimizer gets its last group after some steps
 * Its optimizers are others than fuzz's: every constant is a power of two. */
#ifndef ZP_CONFORMANCE_CASES_CASES_H
#define ZP_CONFORMANCE_CASES_CASES_H

#include <jansson.h>
#include <stdint.h>

#include "../../ref/engine/serial.h"
#include "../../ref/model/table.h"
#include "../../ref/verify/case.h"

enum { ZP_CONF_TEXT = ZP_CASE_TEXT + 64, ZP_CONF_WHY = 512 };

typedef struct zp_recipe {
  zp_case c;
  int32_t wide;             /* bits between the micro-batches; 0: none */
  int32_t comm_fp32;        /* 1: sums over ranks may need fp32 */
  int32_t first;            /* log2 of what first values are multiplied by */
  int32_t sum, rates, late; /* 1: see above */
  int32_t scaler;           /* 1: the text has a loss scale, which may be one */
} zp_recipe;

/* Reads a recipe; 0, or -1 with the reason. */
int zp_recipe_parse(zp_recipe *r, const char *text, char *why, int64_t cap);

/* The tables of a recipe; NULL with the reason (no memory, or a configuration that is refused). */
zp_table *zp_conf_make(const zp_recipe *r, char *why, int64_t cap);

/* Refuses a case whose tables, simulation or answer would be too large: products of numbers of
 * which each is in range. 0, or -1 with the product and its limit. */
int zp_conf_check_size(const zp_config *c, int32_t steps, char *why, int64_t cap);

/* Proves by going through every element and step that no correct implementation rounds: every sum
 * of contributions in any order and split, divided before or after, is exact in the formats that
 * the case names, and so is every operation of SGD on fp32 masters when clipping does not bind.
 * 0, or -1 with what is not. spec: RED-2, RED-3 */
int zp_conf_prove(const zp_recipe *r, zp_table *table, char *why, int64_t cap);

/* The element (of an entry that is the first of its tied key) of which a sum overflows although all
 * contributions are finite; log2_scale: of the step. 0: the step has none. */
int zp_conf_sum_overflows(const zp_table *table, int64_t step, int32_t log2_scale, int32_t *entry,
                          int64_t *element);

/* The case as JSON; text is its recipe. */
json_t *zp_conf_json(const zp_recipe *r, const zp_table *table, const char *text);

/* The proven case of a recipe as JSON, or {"recipe", "refused"}. */
json_t *zp_conf_case(const char *recipe);

/* The i-th recipe of a seed: a case that fuzz would try, with coded gradients and one kind of
 * optimizer. Not all of them make a case. */
void zp_conf_random_recipe(uint64_t seed, uint64_t i, char *text, int64_t cap);

/* Reads a case; NULL with what is wrong with it. */
zp_table *zp_conf_read(const json_t *from, char *why, int64_t cap);

/* Before a step: gives the table's optimizers the learning rates of this step. lr: those of the
 * case, by group. */
void zp_conf_set_rates(zp_table *table, const double lr[ZP_HYPER_GROUPS], int64_t step);
void zp_conf_get_rates(const zp_table *table, double lr[ZP_HYPER_GROUPS]);

/* The serial oracle of a case; NULL after filling *err. */
zp_serial *zp_conf_serial(const zp_table *table, const zp_workload *work, zp_error *err);

/* What serial training makes of it, step by step, with the bound of SPEC.md where an operation
 * rounds; NULL with the reason. */
json_t *zp_conf_oracle(zp_table *table, char *why, int64_t cap);

/* The same of a case in JSON, with its id; or {"refused"}. */
json_t *zp_conf_expected(const json_t *from);

/* How far right implementations may be from serial in one element (conformance/SPEC.md, "Bounds").
 * All zero while everything is exact. */
typedef struct zp_slack {
  double master, moment1, moment2;
} zp_slack;

/* One update of one element: w, m, v before it (serial's), g the reduced gradient without its
 * scale, factor the clip factor, elements the number that the norm runs over. decay etc. as in
 * optim.h. */
void zp_slack_step(zp_slack *s, const zp_optim *o, const zp_optim_state *t, double factor,
                   int64_t elements, double w, double m, double v, double g);

/* Clauses and bug families that a case is about: two arrays of strings. */
void zp_conf_tags(const zp_recipe *r, json_t *clauses, json_t *hunts);

/* A number as the suite writes it: "0x1.8p+1", "inf", "-inf", "nan". */
json_t *zp_conf_hex(double x);

#endif
