/* Builds the layout of a stage: places the entries one by one, in backward order.
 * spec: PART-1, PART-2, TIE-2 */
#include "../../spec/acsl/bounds.h"
#include "layout_internal.h"

#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_frame.h"

#include "../../spec/acsl/layout_steps.h"

/* 1 if entry p belongs to flat group f, which an earlier entry in backward order opened. PART-2 */
/*@ requires valid: \valid_read(f) && \valid_read(p);
    terminates \true; exits \false;
    assigns \nothing;
    ensures takes: \result == 1 <==> Takes(f, p);
    ensures bit: \result == 0 || \result == 1; */
static int32_t belongs(const zp_flat *f, const zp_param *p)
{
  const int32_t group = p->expert ? ZP_GROUP_EDP : ZP_GROUP_DP;
  return f->tied < 0 && f->optgroup == p->optgroup && f->fp32 == p->fp32 && f->group == group;
}

/* The flat group that entry p joins, or n_flats if it opens a new one. PART-2 */
/*@ requires valid: \valid_read(lay) && \valid_read(p) && 0 <= lay->n_flats &&
      \valid_read(lay->flat + (0 .. lay->n_flats - 1));
    terminates \true; exits \false;
    assigns \nothing;
    ensures range: 0 <= \result <= lay->n_flats;
    ensures found: \result < lay->n_flats ==> p->tied < 0 && Takes(lay->flat + \result, p);
    ensures none: \result == lay->n_flats ==> 0 <= p->tied ||
      \forall integer k; 0 <= k < lay->n_flats ==> !Takes(lay->flat + k, p); */
static int32_t find_flat(const zp_layout *lay, const zp_param *p)
{
  if (p->tied >= 0) return lay->n_flats;
  /*@ loop invariant range: 0 <= i <= lay->n_flats;
      loop invariant none: \forall integer k; 0 <= k < i ==> !Takes(lay->flat + k, p);
      loop assigns i;
      loop variant lay->n_flats - i; */
  for (int32_t i = 0; i < lay->n_flats; i++)
    if (belongs(&lay->flat[i], p)) return i;
  return lay->n_flats;
}

/* Earlier uses, in backward order, of an entry's tied key. TIE-2 */
typedef struct zp_uses {
  int32_t n;    /* their number */
  int32_t head; /* the first of them, or the entry itself */
} zp_uses;

/* Uses of the key of entry j among the entries j+1 … end-1. TIE-2 */
/*@ requires valid: \valid_read(cfg) && \valid_read(cfg->params + (j .. end - 1));
    requires range: 0 <= j < end <= ZP_LIMIT_ENTRIES;
    requires tied: IsTied(cfg, j);
    terminates \true; exits \false;
    assigns \nothing;
    ensures uses: \result.n == UseOf(cfg, end, j);
    ensures head: \result.head == HeadOf(cfg, end, j);
    ensures range: j <= \result.head < end; */
static zp_uses count_uses(const zp_config *cfg, int32_t j, int32_t end)
{
  const int32_t key = cfg->params[j].tied;
  zp_uses u = {0, j};
  /*@ loop invariant range: j + 1 <= i <= end;
      loop invariant uses: u.n == UsesBefore(cfg, ClassOf(cfg, j), j, i - j);
      loop invariant head: u.head == Leader(cfg, ClassOf(cfg, j), j, i - j);
      loop invariant bounds: 0 <= u.n <= i - j && j <= u.head < i;
      loop assigns i, u;
      loop variant end - i; */
  for (int32_t i = j + 1; i < end; i++) {
    /*@ assert class: (ClassOf(cfg, i) == ClassOf(cfg, j)) <==>
          (IsTied(cfg, i) && cfg->params[i].tied == key); */
    if (cfg->params[i].frozen || cfg->params[i].tied != key) continue;
    u.n++;
    u.head = i;
  }
  return u;
}

/* The empty flat group of entry p, D members. PART-2, PART-3, TIE-2 */
/*@ requires valid: \valid_read(cfg) && \valid_read(p);
    requires limits: 1 <= cfg->ep <= cfg->dp <= ZP_LIMIT_RANKS &&
        1 <= cfg->align <= ZP_LIMIT_ALIGN &&
      1 <= cfg->bucket <= ZP_LIMIT_ELEMENTS;
    terminates \true; exits \false;
    assigns \nothing;
    ensures group: \result.group == (p->expert != 0 ? ZP_GROUP_EDP : ZP_GROUP_DP);
    ensures members: \result.members == (p->expert != 0 ? cfg->dp / cfg->ep : cfg->dp);
    ensures entry: \result.optgroup == p->optgroup && \result.fp32 == p->fp32 &&
      \result.tied == p->tied;
    ensures use: \result.use == use && \result.holder == holder;
    ensures empty: \result.numel == 0;
    ensures align: \result.align == cfg->align;
    ensures capacity: \result.capacity ==
      Capacity(cfg->bucket, p->expert != 0 ? cfg->dp / cfg->ep : cfg->dp, cfg->align); */
static zp_flat new_flat(const zp_config *cfg, const zp_param *p, int32_t use, int32_t holder)
{
  const int32_t members = p->expert ? cfg->dp / cfg->ep : cfg->dp;
  zp_flat f = {0};
  //@ assert members: 1 <= members <= ZP_LIMIT_RANKS;
  //@ assert unit: 1 <= members * cfg->align <= 4294967296;
  f.group = p->expert ? ZP_GROUP_EDP : ZP_GROUP_DP;
  f.members = members;
  f.optgroup = p->optgroup;
  f.fp32 = p->fp32;
  f.tied = p->tied;
  f.use = use;
  f.holder = holder;
  f.numel = 0;
  f.capacity = zp_round_up(cfg->bucket, members * cfg->align);
  f.align = cfg->align;
  return f;
}

/* The flat group of trained entry j, after the entries that follow it in the list are placed: one
 * of lay's, or n_flats if it opens a new one. PART-2 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires range: 0 <= j < EndOf(lay) <= cfg->n_params;
    requires trained: cfg->params[j].frozen == 0;
    requires lay: \valid_read(lay) && 0 <= lay->n_flats &&
      \valid_read(lay->flat + (0 .. lay->n_flats - 1));
    requires placed: FlatsFrom{Here,Here}(cfg, EndOf(lay), j + 1, lay);
    terminates \true; exits \false;
    assigns \nothing;
    ensures flat: \result == FlatOf(cfg, EndOf(lay), j);
    ensures range: 0 <= \result <= lay->n_flats;
    ensures opens: \result == lay->n_flats <==> Opens(cfg, EndOf(lay), j) == 1; */
static int32_t flat_of(const zp_config *cfg, const zp_layout *lay, int32_t j)
{
  const int32_t k = find_flat(lay, &cfg->params[j]);
  /*@ assert join: k < lay->n_flats ==>
        FlatFrom{Here,Here}(cfg, EndOf(lay), j + 1, k, lay->flat + k) &&
        SameGroup(cfg, OpenerFrom(cfg, EndOf(lay), j + 1, k), j); */
  /*@ assert class: k < lay->n_flats ==>
        ClassOf(cfg, OpenerFrom(cfg, EndOf(lay), j + 1, k)) == ClassOf(cfg, j); */
  /*@ assert other: k == lay->n_flats && IsUntied(cfg, j) && Opens(cfg, EndOf(lay), j) == 0 ==>
        FlatFrom{Here,Here}(cfg, EndOf(lay), j + 1, FlatOf(cfg, EndOf(lay), j),
          lay->flat + FlatOf(cfg, EndOf(lay), j)) &&
        SameGroup(cfg, OpenerFrom(cfg, EndOf(lay), j + 1, FlatOf(cfg, EndOf(lay), j)), j); */
  //@ assert open: k == lay->n_flats ==> Opens(cfg, EndOf(lay), j) == 1;
  return k;
}

/* The flat group that entry j opens, still empty, after the entries that follow it in the list are
 * placed. */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires range: 0 <= lay->first_param <= j < end <= cfg->n_params;
    requires opens: Opens(cfg, end, j) == 1;
    requires lay: \valid_read(lay) && \valid_read(lay->spot + (0 .. end - lay->first_param - 1));
    requires flats: lay->n_flats == CountFrom(cfg, end, j + 1);
    requires placed: SpotsFrom{Here,Here}(cfg, end, j + 1, lay);
    terminates \true; exits \false;
    assigns \nothing;
    ensures group: \result.group == GroupOf(cfg, j) && \result.members == MembersOf(cfg, j);
    ensures entry: \result.optgroup == cfg->params[j].optgroup &&
      \result.fp32 == cfg->params[j].fp32 && \result.tied == cfg->params[j].tied;
    ensures use: \result.use == UseOf(cfg, end, j);
    ensures holder: \result.holder == FlatAt(cfg, end, HeadOf(cfg, end, j));
    ensures empty: \result.numel == 0;
    ensures align: \result.align == cfg->align;
    ensures capacity: \result.capacity == Capacity(cfg->bucket, MembersOf(cfg, j), cfg->align); */
static zp_flat opened_by(const zp_config *cfg, const zp_layout *lay, int32_t j, int32_t end)
{
  zp_uses u = {0, j};
  int32_t holder = lay->n_flats;
  if (cfg->params[j].tied >= 0) u = count_uses(cfg, j, end);
  //@ assert uses: u.n == UseOf(cfg, end, j) && u.head == HeadOf(cfg, end, j);
  //@ assert tied: u.head != j ==> IsTied(cfg, u.head);
  //@ assert spot: u.head != j ==> PlacedAt{Here,Here}(cfg, end, u.head, lay);
  if (u.head != j) holder = lay->spot[u.head - lay->first_param].flat;
  return new_flat(cfg, &cfg->params[j], u.n, holder);
}

/* Flat group k before its next entry, trained entry j, is added, after the entries that follow j in
 * the list are placed. */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires range: 0 <= lay->first_param <= j < end <= cfg->n_params;
    requires trained: cfg->params[j].frozen == 0;
    requires lay: \valid_read(lay) && \valid_read(lay->flat + (0 .. lay->n_flats - 1)) &&
      \valid_read(lay->spot + (0 .. end - lay->first_param - 1));
    requires flats: FlatsFrom{Here,Here}(cfg, end, j + 1, lay);
    requires spots: SpotsFrom{Here,Here}(cfg, end, j + 1, lay);
    requires flat: k == FlatOf(cfg, end, j) && 0 <= k <= lay->n_flats;
    requires opens: k == lay->n_flats <==> Opens(cfg, end, j) == 1;
    terminates \true; exits \false;
    assigns \nothing;
    ensures group: \result.group == GroupOf(cfg, OpenerFrom(cfg, end, j, k)) &&
      \result.members == MembersOf(cfg, OpenerFrom(cfg, end, j, k));
    ensures entry: \result.optgroup == cfg->params[OpenerFrom(cfg, end, j, k)].optgroup &&
      \result.fp32 == cfg->params[OpenerFrom(cfg, end, j, k)].fp32 &&
      \result.tied == cfg->params[OpenerFrom(cfg, end, j, k)].tied;
    ensures use: \result.use == UseOf(cfg, end, OpenerFrom(cfg, end, j, k));
    ensures holder:
      \result.holder == FlatAt(cfg, end, HeadOf(cfg, end, OpenerFrom(cfg, end, j, k)));
    ensures numel: \result.numel == NumelFrom(cfg, end, j + 1, k);
    ensures align: \result.align == cfg->align;
    ensures capacity: \result.capacity == Capacity(cfg->bucket,
      MembersOf(cfg, OpenerFrom(cfg, end, j, k)), cfg->align); */
static zp_flat flat_before(const zp_config *cfg, const zp_layout *lay, int32_t j, int32_t k,
                           int32_t end)
{
  /*@ assert old: k < lay->n_flats ==>
        FlatFrom{Here,Here}(cfg, end, j + 1, k, lay->flat + k) &&
        OpenerFrom(cfg, end, j, k) == OpenerFrom(cfg, end, j + 1, k); */
  /*@ assert new: k == lay->n_flats ==> OpenerFrom(cfg, end, j, k) == j &&
        NumelFrom(cfg, end, j + 1, k) == 0; */
  if (k < lay->n_flats) return lay->flat[k];
  return opened_by(cfg, lay, j, end);
}

/* Adds entry j to flat group k, which was f before. k is a new flat group if it equals n_flats.
 * PART-2 */
/*@ requires cfg: Readable(cfg);
    requires lay: WritableLayout(cfg, lay);
    requires entry: 0 <= lay->first_param <= j < lay->first_param + lay->cap_spots &&
      j < cfg->n_params;
    requires flat: 0 <= k <= lay->n_flats && k < lay->cap_flats;
    requires numel: 0 <= f.numel <= ZP_LIMIT_ELEMENTS &&
        0 <= cfg->params[j].numel <= ZP_LIMIT_ELEMENTS;
    terminates \true; exits \false;
    assigns lay->n_flats, lay->flat[k], lay->spot[j - lay->first_param];
    ensures spot: lay->spot[j - lay->first_param].flat == k &&
      lay->spot[j - lay->first_param].start == f.numel;
    ensures group: lay->flat[k].group == f.group && lay->flat[k].members == f.members;
    ensures entry: lay->flat[k].optgroup == f.optgroup && lay->flat[k].fp32 == f.fp32 &&
      lay->flat[k].tied == f.tied;
    ensures use: lay->flat[k].use == f.use && lay->flat[k].holder == f.holder;
    ensures numel: lay->flat[k].numel == f.numel + \old(cfg->params[j].numel);
    ensures capacity: lay->flat[k].capacity == f.capacity && lay->flat[k].align == f.align;
    ensures config: SameConfig{Pre,Post}(cfg);
    ensures readable: Readable(cfg);
    ensures stage: StillStage{Pre,Post}(lay);
    ensures room: StillRoom{Pre,Post}(lay);
    ensures lay: WritableLayout(cfg, lay);
    ensures old: k < \old(lay->n_flats) ==> lay->n_flats == \old(lay->n_flats);
    ensures new: k == \old(lay->n_flats) ==> lay->n_flats == k + 1;
    ensures flats: \forall integer m; 0 <= m < lay->cap_flats && m != k ==>
      StillFlat{Pre,Post}(lay->flat + m);
    ensures spots: \forall integer m; 0 <= m < lay->cap_spots && m != j - lay->first_param ==>
      StillSpot{Pre,Post}(lay->spot + m); */
static void put(const zp_config *cfg, zp_layout *lay, int32_t j, int32_t k, zp_flat f)
{
  const int64_t start = f.numel;
  const int32_t n = k < lay->n_flats ? lay->n_flats : k + 1;
  f.numel += cfg->params[j].numel;
  zp_layout_flat(cfg, lay, k, f);
  zp_layout_spot(cfg, lay, j, k, start);
  zp_layout_count(cfg, lay, n);
}

/* Places trained entry j, after the entries that follow it in the list are placed. Returns 0, or -1
 * if its flat group does not fit. PART-2, TIE-2 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires range: 0 <= lay->first_param <= j < end <= cfg->n_params;
    requires end: end == EndOf(lay);
    requires trained: cfg->params[j].frozen == 0;
    requires lay: WritableLayout(cfg, lay) && 0 <= lay->n_flats <= lay->cap_flats &&
      end - lay->first_param <= lay->cap_spots;
    requires flats: FlatsFrom{Here,Here}(cfg, end, j + 1, lay);
    requires spots: SpotsFrom{Here,Here}(cfg, end, j + 1, lay);
    terminates \true; exits \false;
    assigns lay->n_flats, lay->flat[0 .. lay->cap_flats - 1],
      lay->spot[0 .. lay->cap_spots - 1];
    ensures verdict: \result == 0 || \result == -1;
    ensures room: \result == -1 <==> lay->cap_flats < \old(CountFrom(cfg, end, j));
    ensures flats: \result == 0 ==> FlatsFrom{Pre,Post}(cfg, end, j, lay);
    ensures spots: \result == 0 ==> SpotsFrom{Pre,Post}(cfg, end, j, lay);
    ensures range: 0 <= lay->n_flats <= lay->cap_flats;
    ensures config: SameConfig{Pre,Post}(cfg);
    ensures readable: Readable(cfg);
    ensures stage: StillStage{Pre,Post}(lay);
    ensures still: StillRoom{Pre,Post}(lay);
    ensures lay: WritableLayout(cfg, lay); */
static int add_trained(const zp_config *cfg, zp_layout *lay, int32_t j, int32_t end)
{
  const int32_t k = flat_of(cfg, lay, j);
  //@ assert count: CountFrom(cfg, end, j) == lay->n_flats + Opens(cfg, end, j);
  //@ assert bit: Opens(cfg, end, j) == 0 || Opens(cfg, end, j) == 1;
  if (k >= lay->cap_flats) return -1;
  /*@ assert numel: NumelFrom(cfg, end, j, k) ==
        NumelFrom(cfg, end, j + 1, k) + cfg->params[j].numel; */
  put(cfg, lay, j, k, flat_before(cfg, lay, j, k, end));
  //@ assert others: OthersStill{Pre,Here}(lay, CountFrom{Pre}(cfg, end, j + 1), k);
  /*@ assert mine: FlatIs{Pre,Here}(cfg, end, OpenerFrom{Pre}(cfg, end, j, k),
        NumelFrom{Pre}(cfg, end, j, k), \at(lay->flat, Pre) + k); */
  //@ assert grown: FlatFrom{Pre,Here}(cfg, end, j, k, \at(lay->flat, Pre) + k);
  //@ assert spot: PlacedAt{Pre,Here}(cfg, end, j, lay);
  //@ assert spots: \forall integer m; j < m < end ==> PlacedAt{Pre,Here}(cfg, end, m, lay);
  return 0;
}

/* Adds frozen entry j, after the entries that follow it in the list. Returns 0. PART-1 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires range: 0 <= lay->first_param <= j < end <= cfg->n_params;
    requires end: end == EndOf(lay);
    requires trained: cfg->params[j].frozen != 0;
    requires lay: WritableLayout(cfg, lay) && 0 <= lay->n_flats <= lay->cap_flats &&
      end - lay->first_param <= lay->cap_spots;
    requires flats: FlatsFrom{Here,Here}(cfg, end, j + 1, lay);
    requires spots: SpotsFrom{Here,Here}(cfg, end, j + 1, lay);
    terminates \true; exits \false;
    assigns lay->spot[j - lay->first_param];
    ensures verdict: \result == 0;
    ensures room: \old(CountFrom(cfg, end, j)) <= lay->cap_flats;
    ensures flats: FlatsFrom{Pre,Post}(cfg, end, j, lay);
    ensures spots: SpotsFrom{Pre,Post}(cfg, end, j, lay);
    ensures range: 0 <= lay->n_flats <= lay->cap_flats;
    ensures config: SameConfig{Pre,Post}(cfg);
    ensures readable: Readable(cfg);
    ensures stage: StillStage{Pre,Post}(lay);
    ensures still: StillRoom{Pre,Post}(lay);
    ensures lay: WritableLayout(cfg, lay); */
static int add_frozen(const zp_config *cfg, zp_layout *lay, int32_t j, int32_t end)
{
  (void)end;
  //@ assert count: CountFrom(cfg, end, j) == lay->n_flats;
  zp_layout_spot(cfg, lay, j, -1, 0);
  //@ assert others: OthersStill{Pre,Here}(lay, CountFrom{Pre}(cfg, end, j + 1), -1);
  //@ assert spot: PlacedAt{Pre,Here}(cfg, end, j, lay);
  //@ assert spots: \forall integer m; j < m < end ==> PlacedAt{Pre,Here}(cfg, end, m, lay);
  return 0;
}

/* Adds entry j, after the entries that follow it in the list. Returns 0, or -1 if its
 * flat group does not fit. PART-2, TIE-2 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires range: 0 <= lay->first_param <= j < end <= cfg->n_params;
    requires end: end == EndOf(lay);
    requires lay: WritableLayout(cfg, lay) && 0 <= lay->n_flats <= lay->cap_flats &&
      end - lay->first_param <= lay->cap_spots;
    requires flats: FlatsFrom{Here,Here}(cfg, end, j + 1, lay);
    requires spots: SpotsFrom{Here,Here}(cfg, end, j + 1, lay);
    terminates \true; exits \false;
    assigns lay->n_flats, lay->flat[0 .. lay->cap_flats - 1],
      lay->spot[0 .. lay->cap_spots - 1];
    ensures verdict: \result == 0 || \result == -1;
    ensures room: \result == -1 <==> lay->cap_flats < \old(CountFrom(cfg, end, j));
    ensures flats: \result == 0 ==> FlatsFrom{Post,Post}(cfg, end, j, lay);
    ensures spots: \result == 0 ==> SpotsFrom{Post,Post}(cfg, end, j, lay);
    ensures range: 0 <= lay->n_flats <= lay->cap_flats;
    ensures config: SameConfig{Pre,Post}(cfg);
    ensures readable: Readable(cfg);
    ensures stage: StillStage{Pre,Post}(lay);
    ensures still: StillRoom{Pre,Post}(lay);
    ensures lay: WritableLayout(cfg, lay); */
static int add_entry(const zp_config *cfg, zp_layout *lay, int32_t j, int32_t end)
{
  const int result =
      cfg->params[j].frozen ? add_frozen(cfg, lay, j, end) : add_trained(cfg, lay, j, end);
  //@ assert input: SameInput{Pre,Here}(cfg);
  return result;
}

/* Adds the stage's entries, which have enough spots. Returns 0, or -1 if their flat groups do not
 * fit. PART-2 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires range: 0 <= lay->first_param <= EndOf(lay) <= cfg->n_params;
    requires lay: WritableLayout(cfg, lay) && lay->n_params <= lay->cap_spots;
    requires empty: lay->n_flats == 0;
    terminates \true; exits \false;
    assigns lay->n_flats, lay->flat[0 .. lay->cap_flats - 1],
      lay->spot[0 .. lay->cap_spots - 1];
    ensures verdict: \result == 0 || \result == -1;
    ensures room: \result == 0 <==>
      \old(CountFrom(cfg, EndOf(lay), lay->first_param)) <= lay->cap_flats;
    ensures flats: \result == 0 ==> FlatsFrom{Post,Post}(cfg, EndOf(lay), lay->first_param, lay);
    ensures spots: \result == 0 ==> SpotsFrom{Post,Post}(cfg, EndOf(lay), lay->first_param, lay);
    ensures config: SameConfig{Pre,Post}(cfg);
    ensures valid: Readable(cfg) && Valid(cfg);
    ensures stage: StillStage{Pre,Post}(lay);
    ensures still: StillRoom{Pre,Post}(lay); */
static int add_entries(const zp_config *cfg, zp_layout *lay)
{
  const int32_t first = lay->first_param, end = first + lay->n_params;
  int32_t j = end;
  //@ assert here: first == lay->first_param && end == EndOf(lay);
  /*@ loop invariant range: first <= j <= end;
      loop invariant room: 0 <= lay->n_flats <= lay->cap_flats;
      loop invariant flats: FlatsFrom{Here,Here}(cfg, end, j, lay);
      loop invariant spots: SpotsFrom{Here,Here}(cfg, end, j, lay);
      loop invariant config: SameConfig{Pre,Here}(cfg);
      loop invariant valid: Readable(cfg) && Valid(cfg);
      loop invariant stage: StillStage{Pre,Here}(lay);
      loop invariant still: StillRoom{Pre,Here}(lay);
      loop invariant lay: WritableLayout(cfg, lay);
      loop assigns j, lay->n_flats, lay->flat[0 .. \at(lay->cap_flats, Pre) - 1],
        lay->spot[0 .. \at(lay->cap_spots, Pre) - 1];
      loop variant j; */
  for (; j > first; j--) {
    //@ assert count: CountFrom(cfg, end, j - 1) == CountFrom{Pre}(cfg, end, j - 1);
    //@ assert more: CountFrom{Pre}(cfg, end, j - 1) <= CountFrom{Pre}(cfg, end, first);
    if (add_entry(cfg, lay, j - 1, end)) {
      //@ assert full: lay->cap_flats < CountFrom{Pre}(cfg, end, first);
      /*@ assert room: \at(lay->cap_flats, Pre) <
            \at(CountFrom(cfg, EndOf(lay), lay->first_param), Pre); */
      return -1;
    }
  }
  //@ assert done: j == first && lay->first_param == first && EndOf(lay) == end;
  //@ assert input: SameInput{Pre,Here}(cfg);
  //@ assert fits: CountFrom{Pre}(cfg, end, first) <= lay->cap_flats;
  /*@ assert room: \at(CountFrom(cfg, EndOf(lay), lay->first_param), Pre) <=
        \at(lay->cap_flats, Pre); */
  return 0;
}

int zp_layout_build(const zp_config *cfg, int32_t stage, zp_layout *lay)
{
  const zp_span own = zp_stage_span(cfg, stage);
  int result = 0;
  /*@ assert own: own.count == StageCount(cfg, stage) &&
        own.first + own.count == StageEnd(cfg, stage); */
  zp_layout_name(cfg, lay, stage, own);
  //@ assert input: SameInput{Pre,Here}(cfg);
  //@ assert valid: Valid(cfg);
  //@ assert end: EndOf(lay) == own.first + own.count;
  /*@ assert same: FlatCount(cfg, own.first + own.count, own.count) ==
        FlatCount{Pre}(cfg, own.first + own.count, own.count); */
  /*@ assert count: CountFrom(cfg, EndOf(lay), lay->first_param) ==
        FlatCount{Pre}(cfg, own.first + own.count, own.count); */
  if (own.count > lay->cap_spots) return -1;
  result = add_entries(cfg, lay);
  /*@ assert need: result == 0 <==>
        FlatCount{Pre}(cfg, StageEnd{Pre}(cfg, stage), StageCount{Pre}(cfg, stage)) <=
          lay->cap_flats; */
  //@ assert room: own.count <= lay->cap_spots && StageCount{Pre}(cfg, stage) == own.count;
  //@ assert config: SameConfig{Pre,Here}(cfg);
  //@ assert still: SameInput{Pre,Here}(cfg);
  //@ assert named: StageNamed(cfg, stage, lay);
  //@ assert layout: result == 0 ==> LayoutOf(cfg, stage, lay);
  return result;
}
