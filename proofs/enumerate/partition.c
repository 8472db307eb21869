/* Compares partition and buckets, for every case up to a bound, with definitions that only count:
 * they deal out a flat group element by element. Bounds: N <= 40, bucket <= 16, D <= 7, align <= 4;
 * stages of up to three entries of every kind; every topology up to 3 x 4 x 3 with every ep.
 * spec: PART-1 … PART-7, TOPO-1 … TOPO-4, TIE-2, LIM-0 */
#include "../../ref/plan/layout.h"
#include "enumerate.h"

enum { MAX_N = 40, MAX_BUCKET = 16, MAX_D = 7, MAX_ALIGN = 4, MAX_SHARD = 64, PAD = -1 };

/* ---- One flat group -------------------------------------------------------------------------- */

static int64_t shard_of[MAX_D][MAX_SHARD]; /* the elements of every rank's shard; PAD is padding */
static int64_t shard_bucket[MAX_SHARD];
static int64_t shard_length;
static int64_t bucket_first[MAX_SHARD + 1], bucket_length[MAX_SHARD], bucket_shard[MAX_SHARD];
static int64_t n_buckets;

/* Deals N elements out: buckets of C, each padded to a multiple of `unit`, D equal parts each. */
static void deal(int64_t n, int64_t c, int64_t members, int64_t unit)
{
  int64_t e = 0;
  shard_length = 0;
  n_buckets = 0;
  while (e < n) {
    int64_t here = 0, padded = 0;
    while (here < c && e + here < n) here++;
    while (padded < here) padded += unit;
    bucket_first[n_buckets] = e;
    bucket_length[n_buckets] = here;
    bucket_shard[n_buckets] = shard_length;
    for (int64_t x = 0; x < padded; x++) {
      const int64_t part = padded / members;
      shard_of[x / part][shard_length + x % part] = x < here ? e + x : PAD;
      shard_bucket[shard_length + x % part] = n_buckets;
    }
    shard_length += padded / members;
    e += here;
    n_buckets++;
  }
}

static void compare_buckets(const zp_flat *f)
{
  MUST(zp_buckets(f) == n_buckets);
  MUST(zp_shard(f) == shard_length);
  MUST(zp_padded(f) == shard_length * f->members);
  for (int64_t b = 0; b < n_buckets; b++) {
    const int64_t end = b + 1 < n_buckets ? bucket_shard[b + 1] : shard_length;
    MUST(zp_bucket_numel(f, b) == bucket_length[b]);
    MUST(zp_shard_offset(f, b) == bucket_shard[b]);
    MUST(zp_part(f, b) == end - bucket_shard[b]);
    MUST(zp_bucket_padded(f, b) == (end - bucket_shard[b]) * f->members);
    MUST(zp_bucket_padded(f, b) - bucket_length[b] < f->members * f->align);
  }
}

/* Every element has exactly one position, and both maps find it. */
static void compare_maps(const zp_flat *f)
{
  int seen[MAX_N] = {0};
  for (int32_t r = 0; r < f->members; r++)
    for (int64_t o = 0; o < shard_length; o++) {
      const int64_t e = shard_of[r][o];
      MUST(zp_bucket_of_shard(f, o) == shard_bucket[o]);
      if (e == PAD) {
        const int64_t x = zp_element_at(f, r, o);
        MUST(x >= f->numel);
        continue;
      }
      seen[e]++;
      MUST(zp_element_at(f, r, o) == e);
      const zp_home h = zp_home_of(f, e);
      MUST(h.owner == r && h.shard_offset == o && h.bucket == shard_bucket[o]);
      MUST(bucket_first[h.bucket] <= e && e < bucket_first[h.bucket] + bucket_length[h.bucket]);
    }
  for (int64_t e = 0; e < f->numel; e++) MUST(seen[e] == 1);
}

static void all_flats(void)
{
  for (int64_t n = 0; n <= MAX_N; n++)
    for (int64_t bucket = 1; bucket <= MAX_BUCKET; bucket++)
      for (int32_t d = 1; d <= MAX_D; d++)
        for (int64_t align = 1; align <= MAX_ALIGN; align++) {
          int64_t c = 0;
          while (c < bucket) c += d * align;
          const zp_flat f = {.group = ZP_GROUP_DP,
                             .members = d,
                             .tied = -1,
                             .numel = n,
                             .capacity = c,
                             .align = align};
          CASE("N %d, C %d, D %d, align %d", (int)n, (int)c, (int)d, (int)align);
          deal(n, c, d, d * align);
          compare_buckets(&f);
          compare_maps(&f);
        }
}

/* ---- The flat groups of a stage -------------------------------------------------------------- */

enum { ENTRIES = 3 };

/* 1 if entries i and j of the list lie in one flat group. */
static int together(const zp_param *p, int i, int j)
{
  if (p[i].frozen || p[j].frozen || p[i].stage != p[j].stage) return 0;
  if (i == j) return 1;
  return p[i].tied < 0 && p[j].tied < 0 && p[i].optgroup == p[j].optgroup &&
         p[i].expert == p[j].expert;
}

static void compare_spots(const zp_config *cfg, const zp_layout *lay)
{
  const zp_param *p = cfg->params;
  const int first = lay->first_param, last = first + lay->n_params - 1;
  int flats = 0;
  for (int j = 0; j < cfg->n_params; j++)
    MUST((p[j].stage == lay->stage) == (first <= j && j <= last));
  for (int j = last; j >= first; j--) {
    const zp_spot *at = &lay->spot[j - first];
    int64_t before = 0, total = 0;
    int fresh = 1, uses = 0;
    if (p[j].frozen) {
      MUST(at->flat == -1);
      continue;
    }
    for (int i = last; i >= first; i--) {
      if (p[j].tied >= 0 && p[i].tied == p[j].tied && i > j) uses++;
      if (!together(p, i, j)) continue;
      total += p[i].numel;
      if (i > j) before += p[i].numel;
      if (i > j) fresh = 0;
      MUST(lay->spot[i - first].flat == at->flat);
    }
    if (fresh) MUST(at->flat == flats++);
    const zp_flat *f = &lay->flat[at->flat];
    MUST(at->start == before && f->numel == total);
    MUST(f->optgroup == p[j].optgroup && f->tied == p[j].tied && f->use == uses);
    MUST(f->group == (p[j].expert ? ZP_GROUP_EDP : ZP_GROUP_DP));
    MUST(f->members == (p[j].expert ? cfg->dp / cfg->ep : cfg->dp));
    MUST(f->align == cfg->align && f->capacity >= cfg->bucket);
    MUST(f->capacity % (f->members * cfg->align) == 0);
    MUST(f->capacity - cfg->bucket < f->members * cfg->align);
    if (p[j].tied >= 0) MUST(lay->flat[f->holder].tied == f->tied && lay->flat[f->holder].use == 0);
    else MUST(f->holder == at->flat);
  }
  MUST(lay->n_flats == flats);
}

/* The x-th kind of entry: stage, numel, optimizer group, expert, frozen, tied. */
static zp_param entry(int x)
{
  zp_param p = {.stage = x % 3, .numel = x / 3 % 3, .optgroup = x / 9 % 2, .tied = -1};
  const int kind = x / 18; /* 0, 1: dense; 2, 3: expert; 4, 5: tied; odd: frozen */
  p.frozen = kind % 2;
  p.expert = kind / 2 == 1;
  if (kind / 2 == 2) p.tied = 0;
  return p;
}
enum { KINDS = 108 };

/* LIM-7 and LIM-8 for these entries, by comparing all pairs. */
static int valid(const zp_param *p, int n)
{
  for (int i = 0; i < n; i++)
    for (int j = i; j < n; j++) {
      if (p[j].stage < p[i].stage) return 0;
      if (p[i].tied < 0 || p[j].tied != p[i].tied) continue;
      if (p[i].numel != p[j].numel || p[i].optgroup != p[j].optgroup) return 0;
      if (p[i].frozen != p[j].frozen || p[i].sharded != p[j].sharded) return 0;
      if (p[i].expert || p[j].expert) return 0;
    }
  return 1;
}

/* The stages that hold key 0 are the members of its tied group. */
static void compare_tied(const zp_config *c)
{
  int32_t holders[ENTRIES], n = 0;
  for (int32_t s = 0; s < c->pp; s++) {
    int holds = 0;
    for (int j = 0; j < c->n_params; j++)
      holds |= c->params[j].stage == s && c->params[j].tied == 0;
    MUST(zp_tied_on_stage(c, 0, s) == holds);
    if (holds) holders[n++] = s;
  }
  MUST(zp_tied_first_stage(c, 0) == (n > 0 ? holders[0] : -1));
  for (int32_t s = 0; s < c->pp; s++) {
    const zp_coord at = {s, 1, 0};
    int32_t index = -1;
    for (int32_t i = 0; i < n; i++)
      if (holders[i] == s) index = i;
    MUST(zp_group_size(c, ZP_GROUP_TIED, 0, at) == (index < 0 ? 0 : n));
    MUST(zp_group_index(c, ZP_GROUP_TIED, 0, at) == index);
    for (int32_t i = 0; i < n; i++)
      MUST(zp_group_member(c, ZP_GROUP_TIED, 0, at, i) ==
           (index < 0 ? -1 : holders[i] * c->dp * c->tp + 1));
  }
}

static void all_stages(void)
{
  zp_param list[ENTRIES];
  zp_flat flat[ENTRIES];
  zp_spot spot[ENTRIES];
  zp_config cfg = {.pp = 3,
                   .dp = 4,
                   .tp = 1,
                   .ep = 2,
                   .stage = 2,
                   .optgroups = 2,
                   .tied_keys = 1,
                   .micro_batches = 1,
                   .bucket = 3,
                   .align = 1,
                   .params = list};
  int total = 1;
  for (int n = 0; n <= ENTRIES; n++, total *= KINDS)
    for (int x = 0; x < total; x++) {
      zp_refusal why;
      int y = x;
      for (int i = 0; i < n; i++, y /= KINDS) list[i] = entry(y % KINDS);
      cfg.n_params = n;
      CASE("%d entries, number %d", n, x);
      MUST((zp_config_check(&cfg, &why) == 0) == valid(list, n));
      if (!valid(list, n)) continue;
      compare_tied(&cfg);
      for (int32_t s = 0; s < cfg.pp; s++) {
        zp_layout lay = {.flat = flat, .spot = spot, .cap_flats = ENTRIES, .cap_spots = ENTRIES};
        MUST(zp_layout_build(&cfg, s, &lay) == 0);
        MUST(lay.stage == s);
        compare_spots(&cfg, &lay);
      }
    }
}

/* ---- Groups of ranks ------------------------------------------------------------------------- */

/* 1 if ranks a and b are in one group of this kind, by TOPO-2 and TOPO-3. */
static int grouped(const zp_config *c, int32_t group, int32_t a, int32_t b)
{
  const int ta = a % c->tp, tb = b % c->tp, da = a / c->tp % c->dp, db = b / c->tp % c->dp;
  const int pa = a / c->tp / c->dp, pb = b / c->tp / c->dp;
  switch (group) {
  case ZP_GROUP_WORLD: return 1;
  case ZP_GROUP_DP: return pa == pb && ta == tb;
  case ZP_GROUP_TP: return pa == pb && da == db;
  case ZP_GROUP_PP: return da == db && ta == tb;
  case ZP_GROUP_EDP: return pa == pb && ta == tb && da % c->ep == db % c->ep;
  case ZP_GROUP_EP: return pa == pb && ta == tb && da / c->ep == db / c->ep;
  default: return 0;
  }
}

static void compare_groups(const zp_config *c)
{
  const int32_t world = c->pp * c->dp * c->tp;
  MUST(zp_world(c) == world);
  for (int32_t a = 0; a < world; a++) {
    const zp_coord at = zp_coord_of(c, a);
    MUST(zp_rank_of(c, at) == a);
    for (int32_t g = ZP_GROUP_WORLD; g < ZP_GROUP_TIED; g++) {
      int32_t size = 0, index = -1, first = -1;
      for (int32_t b = 0; b < world; b++) {
        if (!grouped(c, g, a, b)) continue;
        if (first < 0) first = b;
        if (b == a) index = size;
        MUST(zp_group_member(c, g, -1, at, size) == b);
        size++;
      }
      MUST(zp_group_size(c, g, -1, at) == size);
      MUST(zp_group_index(c, g, -1, at) == index);
      MUST(zp_group_id(c, g, -1, at) == first);
    }
  }
}

static void all_topologies(void)
{
  zp_config c = {.stage = 0, .optgroups = 1, .micro_batches = 1, .bucket = 1, .align = 1};
  for (c.pp = 0; c.pp <= 3; c.pp++)
    for (c.dp = 0; c.dp <= 4; c.dp++)
      for (c.tp = 0; c.tp <= 3; c.tp++)
        for (c.ep = 0; c.ep <= 5; c.ep++) {
          zp_refusal why;
          const int good =
              c.pp > 0 && c.dp > 0 && c.tp > 0 && c.ep > 0 && c.ep <= c.dp && c.dp % c.ep == 0;
          CASE("pp %d, dp %d, tp %d, ep %d", (int)c.pp, (int)c.dp, (int)c.tp, (int)c.ep);
          MUST((zp_config_check(&c, &why) == 0) == good);
          if (good) compare_groups(&c);
        }
}

int main(void)
{
  all_flats();
  all_stages();
  all_topologies();
  return report("partition");
}
