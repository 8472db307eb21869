/* What a case is about: which clauses it can show broken, which families of historic bugs it hunts.
 * Families are those of conformance/judge/corpus.json. spec: LEDG-2, RED-2, RED-3, RED-6, RED-8,
 * STAT-2 */
#include <string.h>

#include "cases.h"

/* What a list of parameters has. */
typedef struct facts {
  int tied_stages, tied_here, frozen, expert, sharded, replicated, empty, small, uneven, large;
  int unequal_k;
} facts;

static void look_at_ties(const zp_config *c, int32_t j, facts *f)
{
  for (int32_t i = 0; i < j; i++) {
    if (c->params[j].tied < 0 || c->params[i].tied != c->params[j].tied) continue;
    if (c->params[i].stage == c->params[j].stage) f->tied_here = 1;
    else f->tied_stages = 1;
  }
}

static facts look(const zp_case *c)
{
  facts f;
  memset(&f, 0, sizeof f);
  for (int32_t j = 0; j < c->cfg.n_params; j++) {
    const zp_param *p = &c->cfg.params[j];
    look_at_ties(&c->cfg, j, &f);
    f.frozen |= p->frozen;
    f.expert |= p->expert && c->cfg.ep > 1;
    f.sharded |= p->sharded && c->cfg.tp > 1;
    f.replicated |= !p->sharded && c->cfg.tp > 1;
    f.empty |= p->numel == 0;
    f.small |= p->numel > 0 && p->numel < c->cfg.dp;
    f.uneven |= p->numel % c->cfg.dp != 0;
    f.large |= p->numel > c->cfg.bucket;
  }
  for (int32_t s = 1; s < c->cfg.pp; s++)
    f.unequal_k |= zp_case_groups(c, s) != zp_case_groups(c, 0);
  return f;
}

static void add(json_t *to, int when, const char *const *names)
{
  for (; when && *names != NULL; names++) json_array_append_new(to, json_string(*names));
}
#define ADD(to, when, ...) add(to, when, (const char *const[]){__VA_ARGS__, NULL})

void zp_conf_tags(const zp_recipe *r, json_t *clauses, json_t *hunts)
{
  const zp_case *c = &r->c;
  const facts f = look(c);
  const int world = c->cfg.pp * c->cfg.dp * c->cfg.tp > 1, unused = c->synth.unused > 0;
  const int overflow = c->synth.overflow != 0 || r->sum, clip = c->clip > 0;
  ADD(clauses, 1, "RED-2", "RED-3", "STAT-2", "STAT-4", "STEP-6", "STEP-7", "STEP-8", "OPT-4");
  ADD(clauses, world, "LEDG-2", "LEDG-6", "LEDG-7");
  ADD(clauses, c->steps > 1, "STEP-4");
  ADD(clauses, unused, "RED-6", "LEDG-3");
  ADD(clauses, f.frozen, "PART-1");
  ADD(clauses, f.uneven || f.large || f.small, "PART-6");
  ADD(clauses, f.empty, "PART-3");
  ADD(clauses, f.unequal_k, "STAT-1");
  ADD(clauses, f.tied_stages, "TIE-1");
  ADD(clauses, f.tied_here, "TIE-2");
  ADD(clauses, f.expert, "TOPO-3");
  ADD(clauses, f.replicated && c->cfg.sequence_parallel, "RED-8");
  ADD(clauses, c->cfg.pp > 1, "PIPE-2", "PIPE-3", "PIPE-6");
  ADD(clauses, c->scaler.dynamic, "SCALE-4");
  ADD(clauses, overflow, "STAT-3");
  ADD(clauses, c->synth.overflow != 0 && c->scaler.dynamic, "SCALE-3");
  ADD(clauses, clip, "OPT-2");
  ADD(clauses, r->wide > 0, "RED-5");
  ADD(hunts, 1, "R", "N");
  ADD(hunts, world, "CM");
  ADD(hunts, f.uneven || f.large || f.small || f.empty || f.expert || f.sharded, "MAP");
  ADD(hunts, c->steps > 1 || c->cfg.micro_batches > 1, "WIN");
  ADD(hunts, unused || r->late, "ST");
  ADD(hunts, f.tied_here || f.tied_stages, "TIE");
  ADD(hunts, overflow || c->scaler.dynamic, "OV");
  ADD(hunts, c->cfg.precision != ZP_F32 || r->wide > 0, "DT");
  ADD(hunts, c->cfg.pp > 1, "PS");
}
