/* ncclCommSplit. */
#include "nccl_parts.h"

static sd_split *split_at(simdev *s, sd_clique *c, int64_t k)
{
  while (c->split_n <= k) {
    sd_split *sp = sd_arena_alloc(&s->arena, sizeof *sp);
    if (!sp ||
        sd_arena_grow(&s->arena, (void **)&c->split, c->split_n, &c->split_cap, sizeof(sd_split *)))
      return NULL;
    sp->color = sd_arena_alloc(&s->arena, (size_t)c->n * sizeof *sp->color);
    sp->key = sd_arena_alloc(&s->arena, (size_t)c->n * sizeof *sp->key);
    sp->comm = sd_arena_alloc(&s->arena, (size_t)c->n * sizeof(sd_comm *));
    sp->job = sd_arena_alloc(&s->arena, (size_t)c->n * sizeof(sd_job *));
    if (!sp->color || !sp->key || !sp->comm || !sp->job) return NULL;
    c->split[c->split_n++] = sp;
  }
  return c->split[k];
}

/* The index of member i among those of its color: by key, then by the parent's order. */
static int32_t index_in_color(const sd_clique *c, const sd_split *sp, int32_t i, int32_t *of)
{
  int32_t at = 0, n = 0;
  for (int32_t j = 0; j < c->n; j++) {
    if (sp->color[j] != sp->color[i]) continue;
    n++;
    at += sp->key[j] < sp->key[i] || (sp->key[j] == sp->key[i] && j < i);
  }
  *of = n;
  return at;
}

static int carry_out_split(simdev *s, const sd_clique *c, const sd_split *sp)
{
  for (int32_t i = 0; i < c->n; i++) {
    sd_clique *made = NULL;
    int32_t at, n = 0;
    if (sp->color[i] == NCCL_SPLIT_NOCOLOR) {
      sd_job_ready(s, sp->job[i]);
      continue;
    }
    at = index_in_color(c, sp, i, &n);
    for (int32_t j = 0; j < i && !made; j++)
      if (sp->color[j] == sp->color[i]) made = sp->comm[j]->clique;
    if (!made) made = sd_clique_make(s, n);
    if (!made || sd_clique_join(s, made, sp->comm[i], at, sp->job[i])) return -1;
  }
  return 0;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *newcomm,
                           ncclConfig_t *config)
{
  simdev *s = sd_now;
  sd_host *h;
  sd_split *sp;
  sd_job *job;
  ncclResult_t e = sd_nccl_call_enter(&h, "ncclCommSplit", SD_PC);
  if (!e) e = sd_comm_check(h, comm, 1);
  if (e) return e;
  if (!newcomm || color < NCCL_SPLIT_NOCOLOR) return ncclInvalidArgument;
  if (comm->outstanding > 0) {
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank,
            "rank %d, call %d (ncclCommSplit): %d operations of the parent are outstanding on the "
            "device, which may deadlock: synchronize with them first",
            h->agent.rank, h->call, comm->outstanding);
    return ncclInvalidUsage;
  }
  sp = split_at(s, comm->clique, comm->splits++);
  *newcomm = color == NCCL_SPLIT_NOCOLOR ? NULL : sd_comm_make(h, config, comm);
  job = sd_job_make(h, SD_JOB_INIT, *newcomm ? *newcomm : comm);
  if (!sp || !job || (color != NCCL_SPLIT_NOCOLOR && !*newcomm)) return ncclSystemError;
  job->parent = comm;
  if (!comm->blocking) comm->state = ncclInProgress;
  sp->color[comm->index] = color;
  sp->key[comm->index] = key;
  sp->comm[comm->index] = *newcomm;
  sp->job[comm->index] = job;
  if (++sp->joined == comm->clique->n && carry_out_split(s, comm->clique, sp))
    return ncclSystemError;
  return sd_job_after(h, job, comm->blocking);
}
