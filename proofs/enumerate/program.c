/* Writes all four programs of all ranks, for every configuration up to a bound, and executes them
 * together under rendezvous: a communication happens only when all its members have reached it, as
 * in proofs/coq/NoDeadlock.v. The expected members of groups, additions and values are computed
 * here from all ranks and all elements, one by one. Bounds: see main().
 * spec: TOPO-2 … TOPO-4, RED-3, STAT-1, STEP-2, LEDG-1 … LEDG-8, PIPE-3, PIPE-5, CKPT-1 */
#include <string.h>

#include "../../ref/plan/program.h"
#include "enumerate.h"

enum { MAX_RANKS = 18, MAX_OPS = 400, MAX_ENTRIES = 3, MAX_M = 2, MAX_NUMEL = 5, MAX_BUCKETS = 15 };

static zp_op ops[MAX_RANKS][MAX_OPS];
static int64_t length[MAX_RANKS], at[MAX_RANKS];
static zp_layout layout[3];
static zp_flat flats[3][MAX_ENTRIES];
static zp_spot spots[3][MAX_ENTRIES];
static int value[MAX_RANKS][MAX_ENTRIES]; /* the rank whose first values a rank has for an entry */

/* ---- Members of communications
 * ------------------------------------------------------------------------ */

static int stage_holds(const zp_config *c, int32_t stage, int32_t key)
{
  for (int32_t j = 0; j < c->n_params; j++)
    if (c->params[j].stage == stage && c->params[j].tied == key) return 1;
  return 0;
}

/* 1 if ranks a and b are in one group of the kind and key of this op, issued by rank a. */
static int member(const zp_config *c, const zp_op *op, int32_t a, int32_t b)
{
  const int ta = a % c->tp, tb = b % c->tp, da = a / c->tp % c->dp, db = b / c->tp % c->dp;
  const int pa = a / c->tp / c->dp, pb = b / c->tp / c->dp;
  switch (op->group) {
  case ZP_GROUP_WORLD: return 1;
  case ZP_GROUP_DP: return pa == pb && ta == tb;
  case ZP_GROUP_TP: return pa == pb && da == db;
  case ZP_GROUP_PP: return da == db && ta == tb && (pb == pa || pb == op->root);
  case ZP_GROUP_EDP: return pa == pb && ta == tb && da % c->ep == db % c->ep;
  case ZP_GROUP_EP: return pa == pb && ta == tb && da / c->ep == db / c->ep;
  case ZP_GROUP_TIED:
    return da == db && ta == tb && stage_holds(c, pa, op->key) && stage_holds(c, pb, op->key);
  default: return 0;
  }
}

/* 1 if the ops of two members belong to one communication. */
static int fits(const zp_config *c, const zp_op *x, int32_t a, const zp_op *y, int32_t b)
{
  if (x->kind != y->kind || x->group != y->group || x->key != y->key) return 0;
  if (x->dtype != y->dtype || x->redop != y->redop || x->count != y->count) return 0;
  if (x->clock_t != y->clock_t || x->clock_i != y->clock_i) return 0;
  if (x->group != ZP_GROUP_PP) return x->what == y->what && x->root == y->root;
  if (a == b) return 1;
  return x->root == b / c->tp / c->dp && y->root == a / c->tp / c->dp && x->what != y->what &&
         x->mb == y->recv_mb && x->recv_mb == y->mb;
}

/* ---- Execution of all programs --------------------------------------------------------------- */

static const zp_op *head(int32_t r)
{
  return at[r] < length[r] ? &ops[r][at[r]] : NULL;
}

static void first_values(const zp_config *c, const zp_op *op, int32_t r)
{
  int32_t root = 0;
  while (!member(c, op, r, root)) root++; /* the group's first member is its index 0 */
  for (int32_t q = MAX_RANKS - 1; q >= 0; q--)
    if (q < c->pp * c->dp * c->tp && member(c, op, r, q))
      value[q][head(q)->param] = value[root][head(root)->param];
}

/* Runs rank r until it blocks. */
static int64_t advance(const zp_config *c, int32_t r, int stepped)
{
  const int32_t world = c->pp * c->dp * c->tp;
  int64_t done = 0;
  for (const zp_op *op = head(r); op != NULL; op = head(r)) {
    if ((op->if_stepped && !stepped) || op->kind < ZP_OP_FIRST_COMM) {
      at[r]++;
      done++;
      continue;
    }
    MUST(member(c, op, r, r));
    int ready = 1;
    for (int32_t q = 0; q < world && ready; q++)
      if (member(c, op, r, q)) ready = head(q) != NULL && fits(c, op, r, head(q), q);
    if (!ready) return done;
    if (op->kind == ZP_OP_BROADCAST) first_values(c, op, r);
    for (int32_t q = 0; q < world; q++)
      if (q != r && member(c, op, r, q)) at[q]++;
    at[r]++;
    done++;
  }
  return done;
}

static void carry_out(const zp_config *c, int stepped)
{
  const int32_t world = c->pp * c->dp * c->tp;
  int64_t more = 1;
  memset(at, 0, sizeof at);
  while (more > 0) {
    more = 0;
    for (int32_t r = 0; r < world; r++) more += advance(c, r, stepped);
  }
  for (int32_t r = 0; r < world; r++) MUST(at[r] == length[r]); /* else: a deadlock */
}

/* ---- Required contents of a program
 * --------------------------------------------------------------- */

/* 1 if each field is in its range. It reads all of them: under MemorySanitizer (run.sh memory) each
 * must have been written. */
static int in_range(const zp_config *c, const zp_layout *lay, const zp_op *op)
{
  return 0 <= op->kind && ZP_WHAT_NONE <= op->what && -1 <= op->group &&
         op->group <= ZP_GROUP_TIED && -1 <= op->key && op->key < c->tied_keys && -1 <= op->dtype &&
         ZP_RED_NONE <= op->redop && -1 <= op->root && -1 <= op->flat && op->flat < lay->n_flats &&
         -1 <= op->param && op->param < c->n_params && -1 <= op->slot && 0 <= op->if_stepped &&
         op->if_stepped <= 1 && -1 <= op->mb && op->mb < c->micro_batches && -1 <= op->recv_mb &&
         op->recv_mb < c->micro_batches && -1 <= op->bucket && 0 <= op->offset && 0 <= op->count;
}

/* Length, refusal if the capacity is too small, clock, decision before the ops that depend on
 * it. */
static void write_program(const zp_config *c, int32_t phase, int32_t r)
{
  static zp_op none[MAX_OPS];
  const zp_coord me = zp_coord_of(c, r);
  const zp_layout *lay = &layout[me.pp];
  const int64_t need = zp_program_need(c, lay, phase, me);
  int decided = 0;
  MUST(0 < need && need <= MAX_OPS);
  memset(ops[r], 0x5a, sizeof ops[r]);
  if (none[0].kind == 0) memset(none, 0x5a, sizeof none);
  MUST(zp_program_write(c, lay, phase, me, ops[r], need - 1) == -1);
  MUST(memcmp(ops[r], none, sizeof none) == 0);
  MUST(zp_program_write(c, lay, phase, me, ops[r], need) == need);
  if (need < MAX_OPS) MUST(memcmp(&ops[r][need], none, sizeof none[0]) == 0);
  length[r] = need;
  for (int64_t i = 0; i < need; i++) {
    const zp_op *op = &ops[r][i];
    MUST(in_range(c, lay, op));
    if (op->kind == ZP_OP_DECIDE) decided = 1;
    MUST(decided || !op->if_stepped);
    if (i == 0) continue;
    MUST(op->clock_t > op[-1].clock_t ||
         (op->clock_t == op[-1].clock_t && op->clock_i > op[-1].clock_i));
  }
}

/* Two members of a group have issued the same ops, for either decision. */
static void compare_ledgers(const zp_config *c, int32_t a, int32_t b, int32_t group, int32_t key)
{
  const zp_op name = {.group = group, .key = key};
  int64_t i = 0, j = 0;
  if (a == b || !member(c, &name, a, b)) return;
  for (;;) {
    while (i < length[a] && (ops[a][i].group != group || ops[a][i].key != key)) i++;
    while (j < length[b] && (ops[b][j].group != group || ops[b][j].key != key)) j++;
    MUST((i < length[a]) == (j < length[b]));
    if (i == length[a]) return;
    MUST(fits(c, &ops[a][i], a, &ops[b][j], b));
    MUST(ops[a][i].if_stepped == ops[b][j].if_stepped);
    i++;
    j++;
  }
}

static void ledgers(const zp_config *c)
{
  const int32_t world = c->pp * c->dp * c->tp;
  for (int32_t a = 0; a < world; a++)
    for (int32_t b = 0; b < a; b++) {
      compare_ledgers(c, a, b, ZP_GROUP_WORLD, -1);
      for (int32_t key = 0; key < c->tied_keys; key++) compare_ledgers(c, a, b, ZP_GROUP_TIED, key);
      for (int32_t g = ZP_GROUP_DP; g < ZP_GROUP_TIED; g++)
        if (g != ZP_GROUP_PP) compare_ledgers(c, a, b, g, -1);
    }
}

/* The bucket fills of one rank while its program runs. */
typedef struct fills {
  int added[MAX_ENTRIES][MAX_M][MAX_NUMEL];
  int64_t open_mb[MAX_ENTRIES][2], open_bucket[MAX_ENTRIES][2]; /* ZeRO stage 2: the contents of a
                                                                 * slot */
  int64_t reduced[MAX_ENTRIES][MAX_BUCKETS];                    /* by flat group and bucket */
  int mean[MAX_ENTRIES][MAX_BUCKETS], updated[MAX_ENTRIES][MAX_BUCKETS];
  int gathered[MAX_ENTRIES][MAX_BUCKETS], tied[MAX_ENTRIES][MAX_BUCKETS];
  int statistics;
} fills;

static void on_add(const zp_config *c, const zp_layout *lay, fills *x, const zp_op *op)
{
  const int32_t j = op->param;
  MUST(lay->first_param <= j && j < lay->first_param + lay->n_params);
  const zp_spot *spot = &lay->spot[j - lay->first_param];
  MUST(spot->flat == op->flat && op->flat >= 0 && 0 <= op->mb && op->mb < c->micro_batches);
  MUST(op->count > 0 && op->offset >= 0 && op->offset + op->count <= c->params[j].numel);
  for (int64_t e = op->offset; e < op->offset + op->count; e++) {
    x->added[j][op->mb][e]++;
    MUST((spot->start + e) / lay->flat[op->flat].capacity == op->bucket);
  }
  MUST(x->reduced[op->flat][op->bucket] == (c->stage == 2 ? op->mb : 0));
  if (c->stage != 2) return;
  MUST(op->slot == 0 || op->slot == 1);
  int64_t *mb = &x->open_mb[op->flat][op->slot], *b = &x->open_bucket[op->flat][op->slot];
  MUST(*mb == -1 || (*mb == op->mb && *b == op->bucket)); /* the slot is free or holds this
                                                           * bucket */
  *mb = op->mb;
  *b = op->bucket;
}

/* All elements of bucket b of flat group k have been added in micro-batch mb. */
static int all_added(const zp_config *c, const zp_layout *lay, const fills *x, int32_t k, int64_t b,
                     int64_t mb)
{
  for (int32_t i = 0; i < lay->n_params; i++) {
    const int32_t j = lay->first_param + i;
    for (int64_t e = 0; lay->spot[i].flat == k && e < c->params[j].numel; e++)
      if ((lay->spot[i].start + e) / lay->flat[k].capacity == b && x->added[j][mb][e] != 1)
        return 0;
  }
  return 1;
}

static void on_reduce(const zp_config *c, const zp_layout *lay, fills *x, const zp_op *op)
{
  const int64_t before = x->reduced[op->flat][op->bucket]++;
  MUST(op->group == lay->flat[op->flat].group);
  if (c->stage == 2) {
    MUST(op->mb == before && all_added(c, lay, x, op->flat, op->bucket, op->mb));
    MUST(x->open_mb[op->flat][op->slot] == op->mb);
    MUST(x->open_bucket[op->flat][op->slot] == op->bucket);
    x->open_mb[op->flat][op->slot] = -1;
    return;
  }
  MUST(before == 0);
  for (int64_t mb = 0; mb < c->micro_batches; mb++)
    MUST(all_added(c, lay, x, op->flat, op->bucket, mb));
}

static void on_op(const zp_config *c, const zp_layout *lay, fills *x, const zp_op *op)
{
  const int64_t reductions = c->stage == 2 ? c->micro_batches : 1;
  const int32_t k = op->flat;
  const int64_t b = op->bucket;
  const int has_key = k >= 0 && lay->flat[k].tied >= 0;
  if (op->kind == ZP_OP_ADD) on_add(c, lay, x, op);
  if (op->what == ZP_WHAT_GRADIENT) on_reduce(c, lay, x, op);
  if (op->what == ZP_WHAT_STATISTICS) x->statistics++;
  if (op->what == ZP_WHAT_TIED) {
    MUST(has_key && x->reduced[k][b] == reductions && !x->mean[k][b]);
    x->tied[k][b]++;
  }
  if (op->kind == ZP_OP_MEAN) {
    MUST(x->reduced[k][b] == reductions && x->tied[k][b] == has_key && !x->statistics);
    x->mean[k][b]++;
  }
  if (op->kind == ZP_OP_UPDATE) {
    MUST(x->mean[k][b] == 1 && op->if_stepped && x->statistics == 1);
    x->updated[k][b]++;
  }
  if (op->kind == ZP_OP_ALL_GATHER) {
    MUST(x->updated[k][b] == 1 && op->if_stepped);
    x->gathered[k][b]++;
  }
}

/* Exactly once: elements into buckets, buckets into reductions, means, updates and gathers. */
static void exactly_once(const zp_config *c, int32_t r)
{
  static fills x;
  const zp_layout *lay = &layout[r / c->tp / c->dp];
  memset(&x, 0, sizeof x);
  memset(x.open_mb, -1, sizeof x.open_mb);
  for (int64_t i = 0; i < length[r]; i++) on_op(c, lay, &x, &ops[r][i]);
  MUST(x.statistics == 1);
  for (int32_t i = 0; i < lay->n_params; i++) {
    const int32_t j = lay->first_param + i;
    for (int64_t mb = 0; mb < c->micro_batches; mb++)
      for (int64_t e = 0; e < c->params[j].numel; e++)
        MUST(x.added[j][mb][e] == !c->params[j].frozen);
  }
  for (int32_t k = 0; k < lay->n_flats; k++)
    for (int64_t b = 0; b < zp_buckets(&lay->flat[k]); b++) {
      const int held = lay->flat[k].use == 0;
      MUST(x.reduced[k][b] == (c->stage == 2 ? c->micro_batches : 1));
      MUST(x.mean[k][b] == held && x.updated[k][b] == held);
      MUST(x.gathered[k][b] == (held && c->stage > 0));
      MUST(c->stage != 2 || (x.open_mb[k][0] == -1 && x.open_mb[k][1] == -1));
    }
}

/* After INIT all copies of an entry have one rank's values. */
static void copies_agree(const zp_config *c)
{
  const int32_t world = c->pp * c->dp * c->tp;
  for (int32_t a = 0; a < world; a++)
    for (int32_t b = 0; b < a; b++)
      for (int32_t i = 0; i < c->n_params; i++)
        for (int32_t j = 0; j < c->n_params; j++) {
          const zp_param *p = &c->params[i], *q = &c->params[j];
          const int32_t da = a / c->tp % c->dp, db = b / c->tp % c->dp;
          if (p->stage != a / c->tp / c->dp || q->stage != b / c->tp / c->dp) continue;
          if (i != j && (p->tied < 0 || p->tied != q->tied)) continue;
          if (p->sharded && a % c->tp != b % c->tp) continue;
          if (p->expert && da % c->ep != db % c->ep) continue;
          if (!zp_param_holds(c, i) || !zp_param_holds(c, j)) continue;
          MUST(value[a][i] == value[b][j]);
        }
}

/* Exactly one rank of a bucket's reduction group, on one stage, writes each of its states. */
static void saved_once(const zp_config *c, int32_t what)
{
  const int32_t world = c->pp * c->dp * c->tp;
  for (int32_t r = 0; r < world; r++) {
    const zp_layout *lay = &layout[r / c->tp / c->dp];
    for (int32_t k = 0; k < lay->n_flats; k++)
      for (int64_t b = 0; b < zp_buckets(&lay->flat[k]); b++) {
        const zp_op name = {.group = lay->flat[k].group};
        int64_t writers = 0, lower = 0;
        for (int32_t q = 0; q < world; q++)
          for (int64_t i = 0; member(c, &name, r, q) && i < length[q]; i++)
            writers += ops[q][i].kind == ZP_OP_WRITE && ops[q][i].what == what &&
                       ops[q][i].flat == k && ops[q][i].bucket == b;
        for (int32_t s = 0; s < lay->stage && lay->flat[k].tied >= 0; s++)
          lower += stage_holds(c, s, lay->flat[k].tied);
        MUST(writers == (lower == 0 && lay->flat[k].use == 0));
      }
  }
}

/* ---- All configurations ---------------------------------------------------------------------- */

static void look_at(const zp_config *c)
{
  const int32_t world = c->pp * c->dp * c->tp;
  for (int32_t s = 0; s < c->pp; s++) {
    layout[s] = (zp_layout){
        .flat = flats[s], .spot = spots[s], .cap_flats = MAX_ENTRIES, .cap_spots = MAX_ENTRIES};
    MUST(zp_layout_build(c, s, &layout[s]) == 0);
  }
  for (int32_t phase = 0; phase < ZP_PHASES; phase++) {
    for (int32_t r = 0; r < world; r++) write_program(c, phase, r);
    ledgers(c);
    for (int32_t r = 0; r < world; r++)
      for (int32_t j = 0; j < MAX_ENTRIES; j++) value[r][j] = r * MAX_ENTRIES + j;
    carry_out(c, 1);
    if (phase == ZP_PHASE_INIT) copies_agree(c);
    if (phase == ZP_PHASE_SAVE)
      for (int32_t what = ZP_WHAT_MASTER; what <= ZP_WHAT_MOMENT2; what++) saved_once(c, what);
    if (phase != ZP_PHASE_STEP) continue;
    carry_out(c, 0);
    for (int32_t r = 0; r < world; r++) exactly_once(c, r);
  }
}

/* The x-th kind of entry on a stage: plain, sharded, expert, sharded expert, frozen, of another
 * optimizer group, tied, tied and sharded, frozen expert. */
enum { KINDS = 9 };
static const int all_kinds[KINDS] = {0, 1, 2, 3, 4, 5, 6, 7, 8}, some_kinds[4] = {0, 2, 5, 6};
static zp_param entry(int32_t stage, int64_t numel, int x)
{
  const zp_param p = {.numel = numel,
                      .stage = stage,
                      .optgroup = x == 5,
                      .tied = x == 6 || x == 7 ? x - 6 : -1,
                      .sharded = x == 1 || x == 3 || x == 7,
                      .expert = x == 2 || x == 3 || x == 8,
                      .frozen = x == 4 || x == 8};
  return p;
}

static void all_reductions(zp_config *c, int list)
{
  for (c->stage = 0; c->stage <= 2; c->stage++)
    for (c->reduce = 0; c->reduce <= 1; c->reduce++) {
      zp_refusal why;
      c->dynamic_shapes = c->reduce;
      CASE("pp %d dp %d tp %d ep %d, stage %d, reduce %d, M %d, bucket %d, list %d", (int)c->pp,
           (int)c->dp, (int)c->tp, (int)c->ep, (int)c->stage, (int)c->reduce, (int)c->micro_batches,
           (int)c->bucket, list);
      if (zp_config_check(c, &why) != 0) {
        cases--;
        return;
      }
      look_at(c);
    }
}

/* One set of configurations: topologies up to pp, dp, tp; lists of n entries, each of one of these
 * lengths and kinds; M 1 and 2; buckets of 1 and 3. */
typedef struct bounds {
  int pp, dp, tp, entries, numels, kinds;
  const int64_t *numel;
  const int *kind;
} bounds;

static void all_lists(zp_config *c, zp_param *p, const bounds *x)
{
  const int per = c->pp * x->numels * x->kinds;
  int total = 1;
  for (int i = 0; i < x->entries; i++) total *= per;
  for (int list = 0; list < total; list++) {
    int y = list, sorted = 1;
    for (int i = 0; i < x->entries; i++, y /= per) {
      const int64_t numel = x->numel[y / c->pp % x->numels];
      p[i] = entry(y % c->pp, numel, x->kind[y / c->pp / x->numels % x->kinds]);
      if (i > 0 && p[i].stage < p[i - 1].stage) sorted = 0;
    }
    c->n_params = x->entries;
    if (sorted) all_reductions(c, list);
  }
}

static void all_within(const bounds *x)
{
  zp_param list[MAX_ENTRIES];
  zp_config c = {.optgroups = 2, .tied_keys = 2, .precision = ZP_BF16, .align = 1, .params = list};
  for (c.pp = 1; c.pp <= x->pp; c.pp++)
    for (c.dp = 1; c.dp <= x->dp; c.dp++)
      for (c.tp = 1; c.tp <= x->tp; c.tp++)
        for (c.ep = 1; c.ep <= c.dp; c.ep++)
          for (c.micro_batches = 1; c.micro_batches <= 2 && c.dp % c.ep == 0; c.micro_batches++)
            for (c.bucket = 1; c.bucket <= 3; c.bucket += 2) all_lists(&c, list, x);
}

int main(void)
{
  static const int64_t numels[3] = {3, 0, 1}, five[1] = {5};
  const bounds one = {3, 3, 2, 1, 3, KINDS, numels, all_kinds};
  const bounds two = {2, 2, 2, 2, 2, KINDS, numels, all_kinds};
  const bounds three = {3, 2, 1, 3, 1, 4, five, some_kinds};
  all_within(&one);
  all_within(&two);
  all_within(&three);
  return report("program");
}
