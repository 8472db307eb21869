/* Announcements: staged when they arrive, in any order and from any thread, and passed to the
 * interpreter in their micro-batch's backward. spec: STEP-3, RED-3, RED-6 */
#include <stdio.h>
#include <string.h>

#include "../base/invariant.h"
#include "engine_state.h"

int zp_engine_invariant(zp_engine *e)
{
  const int64_t micro_batches = e->o.config->micro_batches;
  ZP_INVARIANT(&e->err, e->o.rank, e->rank != NULL && e->rank->rank == e->o.rank);
  ZP_INVARIANT(&e->err, e->o.rank, e->rows == (e->o.backward || e->o.gradual ? 1 : micro_batches));
  ZP_INVARIANT(&e->err, e->o.rank, e->mb >= -1 && e->mb <= micro_batches);
  ZP_INVARIANT(&e->err, e->o.rank, e->left >= 0 && e->left <= e->trained && e->row_bytes >= 0);
  ZP_INVARIANT(&e->err, e->o.rank, e->rank->step >= 0);
  ZP_INVARIANT(&e->err, e->o.rank, e->backward >= -1 && e->backward <= e->forward);
  ZP_INVARIANT(&e->err, e->o.rank, e->forward < micro_batches);
  return ZP_OK;
}

/* "rank 1 (stage 0, dp 1, tp 0), step 3". */
static void put_position(const zp_engine *e, char *text, size_t cap)
{
  const zp_rank *r = e->rank;
  snprintf(text, cap, "rank %d (stage %d, dp %d, tp %d), step %lld", (int)r->rank, (int)r->at.pp,
           (int)r->at.dp, (int)r->at.tp, (long long)r->step);
}

/* What is wrong with an announcement of entry `param`. */
static int wrong(zp_engine *e, int32_t param, int64_t mb, const char *what)
{
  char position[96], name[ZP_CKPT_NAME];
  put_position(e, position, sizeof position);
  zp_engine_name(&e->o, param, name, sizeof name);
  return zp_fail(&e->err, ZP_E_ARRIVAL, e->rank->rank,
                 "%s: entry %d (%s) was announced for micro-batch %lld: %s (STEP-3)", position,
                 (int)param, name, (long long)mb, what);
}

/* Is a gradient or a loss of micro-batch mb awaited now? Without callbacks none while a program
 * runs: one that `issued` announced while a checkpoint is saved belongs to no step. Where nothing
 * is trained, losses come in any order. */
static int is_turn(const zp_engine *e, int64_t mb)
{
  if (e->trained == 0 && !e->o.backward)
    return mb >= 0 && mb < e->o.config->micro_batches && !e->inside;
  return mb >= 0 && mb == e->mb && mb < e->o.config->micro_batches &&
         (!e->inside || e->o.backward != NULL);
}

/* Of the stage's entry i: its row is the micro-batch's, or the only one. */
static int64_t row_of(const zp_engine *e, int64_t mb)
{
  return e->rows == 1 ? 0 : mb;
}
static uint8_t *arrival_of(const zp_engine *e, int64_t mb, int32_t i)
{
  return &e->arrival[row_of(e, mb) * e->rank->lay.n_params + i];
}
static void *kept_at(const zp_engine *e, int64_t mb, int32_t i)
{
  return e->kept + row_of(e, mb) * e->row_bytes + e->at[i];
}

/* Why micro-batch mb's turn is not now. */
static void put_turn(const zp_engine *e, int64_t mb, char *text, size_t cap)
{
  const zp_layout *lay = &e->rank->lay;
  char name[ZP_CKPT_NAME];
  int32_t i = 0;
  if (e->mb < 0)
    snprintf(text, cap,
             "no backward is running; announce from within it; an entry may be declared unused "
             "from its forward on");
  else if (e->inside && !e->o.backward)
    snprintf(text, cap, "a callback announced it; without backward, announce between the steps");
  else if (e->trained == 0)
    snprintf(text, cap, "micro-batches are 0 to %lld", (long long)e->o.config->micro_batches - 1);
  else if (e->mb == e->o.config->micro_batches)
    snprintf(text, cap, "all micro-batches are complete; zp_engine_step comes first");
  else if (mb != e->mb + 1 || e->o.backward)
    snprintf(text, cap, "expected micro-batch %lld", (long long)e->mb);
  else {
    while (e->o.config->params[lay->first_param + i].frozen || *arrival_of(e, e->mb, i) > ZP_LENT)
      i++;
    zp_engine_name(&e->o, lay->first_param + i, name, sizeof name);
    snprintf(text, cap,
             "micro-batch %lld lacks %d of %d gradients, entry %d's (%s) among them; "
             "call zp_engine_grad_unused for an entry without a gradient",
             (long long)e->mb, (int)e->left, (int)e->trained, (int)(lay->first_param + i), name);
  }
}

/* Is `param` a trained entry of this stage? 0, or a negative status. */
static int check_entry(zp_engine *e, int32_t param, int64_t mb)
{
  const zp_config *c = e->o.config;
  const zp_layout *lay = &e->rank->lay;
  const int32_t i = param - lay->first_param;
  if (param < 0 || param >= c->n_params) return wrong(e, param, mb, "there is no such entry");
  if (i < 0 || i >= lay->n_params) return wrong(e, param, mb, "it is another stage's");
  return c->params[param].frozen ? wrong(e, param, mb, "it is frozen") : ZP_OK;
}

/* Is the gradient of entry `param` in micro-batch mb awaited? 0, or a negative status. */
static int check_awaited(zp_engine *e, int32_t param, int64_t mb)
{
  char turn[200];
  if (check_entry(e, param, mb)) return e->err.status;
  if (!is_turn(e, mb)) {
    put_turn(e, mb, turn, sizeof turn);
    return wrong(e, param, mb, turn);
  }
  if (*arrival_of(e, mb, param - e->rank->lay.first_param) <= ZP_LENT) return ZP_OK;
  return wrong(e, param, mb, "that had been done before");
}

/* With callbacks, whether the stage's entry i was declared unused before micro-batch mb's
 * backward. */
static uint8_t *unused(const zp_engine *e, int64_t mb, int32_t i)
{
  return &e->unused[zp_act_place(e->rank->act_slots, mb) * e->rank->lay.n_params + i];
}

/* Between the micro-batch's forward and its backward. */
static int declare_unused(zp_engine *e, int32_t param, int64_t mb)
{
  uint8_t *known;
  if (check_entry(e, param, mb)) return e->err.status;
  known = unused(e, mb, param - e->rank->lay.first_param);
  if (*known) return wrong(e, param, mb, "that had been done before");
  *known = 1;
  return ZP_OK;
}

static int announce(zp_engine *e, int32_t param, int64_t mb, zp_arrival arrival, const void *grad)
{
  const zp_config *c = e->o.config;
  const int32_t i = param - e->rank->lay.first_param;
  if (check_awaited(e, param, mb)) return e->err.status;
  if (*arrival_of(e, mb, i) == ZP_LENT && grad != kept_at(e, mb, i))
    return wrong(e, param, mb,
                 "from elsewhere or as unused, after memory for its gradient was lent, which may "
                 "have been written: announce it from there");
  *arrival_of(e, mb, i) = (uint8_t)arrival;
  e->begun = 1;
  if (arrival == ZP_READY && grad && grad != kept_at(e, mb, i))
    memcpy(kept_at(e, mb, i), grad,
           (size_t)(c->params[param].numel *
                    zp_dtype_bytes(zp_gradient_dtype(c, &e->o.hyper, param))));
  if (--e->left == 0 && !e->o.backward) {
    e->mb++;
    e->left = e->trained;
  }
  return ZP_OK;
}

/* After an announcement, without the lock: is a micro-batch complete that is not the last one? */
static int proceed(zp_engine *e, int complete)
{
  if (!complete || !e->o.gradual || e->mb == e->o.config->micro_batches) return ZP_OK;
  return zp_engine_proceed(e);
}

/* Is this the gradient that entry `param` has? 0, or a negative status. Numbers of no entry are
 * refused later. */
static int check_gradient(zp_engine *e, int32_t param, int64_t mb, const void *grad, int64_t count,
                          int32_t dtype)
{
  const zp_config *c = e->o.config;
  char what[160];
  if (param < 0 || param >= c->n_params) return ZP_OK;
  const int32_t expected = zp_gradient_dtype(c, &e->o.hyper, param);
  if (dtype != expected) {
    snprintf(what, sizeof what, "the gradient is %s, and %s is %s", zp_dtype_name(dtype),
             e->o.hyper.fp32_gradients ? "hyper.fp32_gradients is 1, so that the expected dtype"
                                       : "the entry's dtype",
             zp_dtype_name(expected));
    return wrong(e, param, mb, what);
  }
  if (count != c->params[param].numel) {
    snprintf(what, sizeof what, "got a count of %lld, expected %lld, the entry's elements",
             (long long)count, (long long)c->params[param].numel);
    return wrong(e, param, mb, what);
  }
  return grad || count == 0 ? ZP_OK : wrong(e, param, mb, "the gradient's address is NULL");
}

int zp_engine_grad_ready(zp_engine *e, int32_t param, int64_t mb, const void *grad, int64_t count,
                         int32_t dtype, void *stream)
{
  int64_t before;
  int status, complete;
  (void)stream;
  if (!e) return ZP_E_REFUSED;
  pthread_mutex_lock(&e->lock);
  before = e->mb;
  status = e->err.status ? e->err.status : zp_engine_invariant(e);
  if (status == ZP_OK) status = check_gradient(e, param, mb, grad, count, dtype);
  if (status == ZP_OK) status = announce(e, param, mb, ZP_READY, grad);
  if (status == ZP_OK) status = zp_engine_invariant(e);
  complete = e->mb != before;
  pthread_mutex_unlock(&e->lock);
  return status == ZP_OK ? proceed(e, complete) : status;
}

void *zp_engine_grad_buffer(zp_engine *e, int32_t param, int64_t mb, void *stream)
{
  void *buffer = NULL;
  int status;
  (void)stream;
  if (!e) return NULL;
  pthread_mutex_lock(&e->lock);
  status = e->err.status ? e->err.status : zp_engine_invariant(e);
  if (status == ZP_OK) status = check_awaited(e, param, mb);
  if (status == ZP_OK) e->begun = 1;
  if (status == ZP_OK && (mb == 0 || e->o.config->stage == 2)) {
    buffer = kept_at(e, mb, param - e->rank->lay.first_param);
    *arrival_of(e, mb, param - e->rank->lay.first_param) = ZP_LENT;
  }
  pthread_mutex_unlock(&e->lock);
  return buffer;
}

int zp_engine_grad_unused(zp_engine *e, int32_t param, int64_t mb)
{
  int64_t before;
  int status, complete;
  if (!e) return ZP_E_REFUSED;
  pthread_mutex_lock(&e->lock);
  before = e->mb;
  status = e->err.status ? e->err.status : zp_engine_invariant(e);
  if (status == ZP_OK)
    status = e->o.backward && mb > e->backward && mb <= e->forward
                 ? declare_unused(e, param, mb)
                 : announce(e, param, mb, ZP_UNUSED, NULL);
  if (status == ZP_OK) status = zp_engine_invariant(e);
  complete = e->mb != before;
  pthread_mutex_unlock(&e->lock);
  return status == ZP_OK ? proceed(e, complete) : status;
}

int zp_engine_loss(zp_engine *e, int64_t mb, const float *loss, void *stream)
{
  char position[96], turn[200];
  int status;
  (void)stream;
  if (!e) return ZP_E_REFUSED;
  pthread_mutex_lock(&e->lock);
  if (e->err.status == ZP_OK) (void)zp_engine_invariant(e);
  if (e->err.status == ZP_OK && (!loss || e->o.forward || !is_turn(e, mb))) {
    put_position(e, position, sizeof position);
    put_turn(e, mb, turn, sizeof turn);
    zp_fail(&e->err, ZP_E_REFUSED, e->rank->rank, "%s: a loss was given for micro-batch %lld: %s",
            position, (long long)mb,
            !loss          ? "its address is NULL"
            : e->o.forward ? "with callbacks, forward gives it"
                           : turn);
  } else if (e->err.status == ZP_OK) {
    e->loss[mb] = *loss;
    e->begun = 1;
    (void)zp_engine_invariant(e);
  }
  status = e->err.status;
  pthread_mutex_unlock(&e->lock);
  return status;
}

/* ---- Parameters ------------------------------------------------------------------------------ */

/* They are ready: what is checked is that the caller would wait on a device. */
static int await_entry(zp_engine *e, int32_t param)
{
  const zp_layout *lay = &e->rank->lay;
  const int32_t i = param - lay->first_param;
  char position[96];
  if (i >= 0 && i < lay->n_params) {
    e->awaited[zp_storage_of(e->o.config, lay, i)] = 1;
    return ZP_OK;
  }
  put_position(e, position, sizeof position);
  return zp_fail(&e->err, ZP_E_REFUSED, e->rank->rank,
                 "%s: zp_engine_wait_param: entry %d; this rank's stage has entries %d to %d",
                 position, (int)param, (int)lay->first_param,
                 (int)(lay->first_param + lay->n_params - 1));
}

int zp_engine_wait_params(zp_engine *e, const int32_t *params, int32_t n, void *stream)
{
  const int all = n == -1;
  int status;
  (void)stream;
  if (!e) return ZP_E_REFUSED;
  pthread_mutex_lock(&e->lock);
  status = e->err.status ? e->err.status : zp_engine_invariant(e);
  if (status == ZP_OK && (n < -1 || (n > 0 && !params)))
    status = zp_fail(&e->err, ZP_E_REFUSED, e->rank->rank,
                     "rank %d: zp_engine_wait_params: %d entries of %s list; n is the number of "
                     "entries, or -1 for all of the stage",
                     (int)e->rank->rank, (int)n, params ? "a" : "no");
  if (all && status == ZP_OK) n = e->rank->lay.n_params;
  for (int32_t k = 0; k < n && status == ZP_OK; k++)
    status = await_entry(e, all ? e->rank->lay.first_param + k : params[k]);
  pthread_mutex_unlock(&e->lock);
  return status;
}

int zp_engine_wait_param(zp_engine *e, int32_t param, void *stream)
{
  return zp_engine_wait_params(e, &param, 1, stream);
}

int zp_engine_check_awaited(zp_engine *e)
{
  const zp_config *c = e->o.config;
  const zp_layout *lay = &e->rank->lay;
  char position[96], name[ZP_CKPT_NAME];
  for (int32_t i = 0; e->o.partial_gather && i < lay->n_params; i++) {
    const int32_t param = lay->first_param + i;
    if (c->params[param].frozen || c->params[param].numel == 0 || e->awaited[i] ||
        zp_storage_of(c, lay, i) != i)
      continue;
    put_position(e, position, sizeof position);
    zp_engine_name(&e->o, param, name, sizeof name);
    return zp_fail(&e->err, ZP_E_REFUSED, e->rank->rank,
                   "%s: nothing waited for entry %d (%s) in this step: with partial_gather the "
                   "engine does not make streams wait for the parameters. Before work that reads "
                   "an entry is queued, and once a step for each trained entry, call "
                   "zp_engine_wait_param, or zp_engine_wait_params for several",
                   position, (int)param, name);
  }
  return ZP_OK;
}

void zp_engine_begin(zp_engine *e)
{
  memset(e->awaited, 0, (size_t)e->rank->lay.n_params);
  e->begun = e->midway = 0;
  e->forward = e->backward = -1;
  e->mb = e->o.backward ? -1 : e->trained > 0 ? 0 : e->o.config->micro_batches;
  e->left = e->trained;
  memset(e->arrival, ZP_AWAITED, (size_t)(e->rows * e->rank->lay.n_params));
  memset(e->loss, 0, (size_t)e->o.config->micro_batches * sizeof *e->loss);
}

/* ---- What the interpreter asks --------------------------------------------------------------- */

static int callback_failed(zp_engine *e, zp_mb at, const char *which, int code)
{
  char position[96];
  put_position(e, position, sizeof position);
  zp_fail(&e->err, ZP_E_WORKLOAD, e->rank->rank,
          "%s: the %s callback of micro-batch %lld failed (it returned %d)", position, which,
          (long long)at.mb, code);
  return -1;
}

static int open_work(void *ctx, const zp_config *cfg, zp_place_of where, const void *const *params,
                     void **inst)
{
  (void)cfg, (void)where, (void)params;
  *inst = ctx;
  return 0;
}

static void close_work(void *inst)
{
  (void)inst;
}

static void first_values(void *ctx, const zp_config *cfg, int32_t param, int32_t tp, int32_t ep,
                         float *value)
{
  const zp_engine *e = ctx;
  const int64_t n = cfg->params[param].numel;
  (void)tp, (void)ep;
  if (e->o.first && e->o.first[param])
    zp_widen_from(zp_entry_dtype(cfg, param), e->o.first[param], 0, n, value);
  else memset(value, 0, (size_t)n * sizeof *value);
}

/* Until its announcement says otherwise. */
static int is_used(void *ctx, const zp_config *cfg, int32_t param, int32_t dp, int32_t tp, zp_mb at)
{
  (void)ctx, (void)cfg, (void)param, (void)dp, (void)tp, (void)at;
  return 1;
}

static void shape_of(void *ctx, const zp_config *cfg, int32_t s, int32_t dp, zp_mb at,
                     zp_message *out)
{
  zp_engine *e = ctx;
  const int mine = s == zp_coord_of(cfg, e->o.rank).pp;
  int failed;
  (void)dp;
  if (!cfg->dynamic_shapes) {
    *out = mine ? e->o.out : e->o.in;
    return;
  }
  memset(out, 0, sizeof *out);
  if (!mine) { /* as it came */
    *out = e->rank->act_in[zp_act_place(e->rank->act_slots, at.mb)];
    return;
  }
  failed = e->o.shape(e->o.ctx, at.step, at.mb, out);
  if (failed) callback_failed(e, at, "shape", failed);
  if (failed || zp_engine_message(&e->o, out, "shape's message", &e->err))
    memset(out, 0, sizeof *out); /* the interpreter ends before it would be sent */
}

/* The micro-batch's entries may be declared unused from here on. */
static void begin_forward(zp_engine *e, int64_t mb)
{
  pthread_mutex_lock(&e->lock);
  e->forward = mb;
  memset(unused(e, mb, 0), 0, (size_t)e->rank->lay.n_params);
  pthread_mutex_unlock(&e->lock);
}

static int run_forward(void *inst, zp_mb at, int32_t slot, const zp_message *in,
                       const zp_message *out, float *loss)
{
  zp_engine *e = inst;
  const zp_engine_call call = {at.step, at.mb, slot, NULL, in, out, loss};
  int failed;
  *loss = e->loss[at.mb];
  if (e->err.status) return -1;
  if (!e->o.forward) return 0;
  begin_forward(e, at.mb);
  failed = e->o.forward(e->o.ctx, &call);
  if (e->err.status) return -1; /* of a call that the callback made */
  return failed ? callback_failed(e, at, "forward", failed) : 0;
}

/* Threads may announce too early or too late: that is an error. */
static void begin_backward(zp_engine *e, int64_t mb)
{
  const int32_t n = e->rank->lay.n_params;
  pthread_mutex_lock(&e->lock);
  e->mb = e->backward = mb;
  e->left = e->trained;
  for (int32_t i = 0; i < n; i++) {
    e->arrival[i] = *unused(e, mb, i) ? ZP_UNUSED : ZP_AWAITED;
    e->left -= e->arrival[i] == ZP_UNUSED;
  }
  pthread_mutex_unlock(&e->lock);
}

static int call_backward(zp_engine *e, zp_mb at, int32_t slot, const zp_message *dout,
                         const zp_message *din)
{
  const zp_engine_call call = {at.step, at.mb, slot, NULL, dout, din, NULL};
  int failed;
  begin_backward(e, at.mb);
  failed = e->o.backward(e->o.ctx, &call);
  pthread_mutex_lock(&e->lock);
  e->mb = -1;
  pthread_mutex_unlock(&e->lock);
  if (e->err.status) return -1;
  if (failed) return callback_failed(e, at, "backward", failed);
  return at.mb == e->o.config->micro_batches - 1 && zp_engine_check_awaited(e) ? -1 : 0;
}

static int run_backward(void *inst, zp_mb at, int32_t slot, const zp_message *dout,
                        const zp_message *din, zp_sink sink)
{
  zp_engine *e = inst;
  zp_rank *r = e->rank;
  if (e->o.backward && call_backward(e, at, slot, dout, din)) return -1;
  for (int32_t i = r->lay.n_params - 1; i >= 0; i--) {
    const uint8_t arrival = *arrival_of(e, at.mb, i);
    if (arrival == ZP_UNUSED) r->used[i] = 0;
    if (arrival == ZP_READY) sink.arrive(sink.ctx, r->lay.first_param + i, kept_at(e, at.mb, i));
  }
  return 0;
}

static void name_of(void *ctx, const zp_config *cfg, int32_t param, char *text, int64_t cap)
{
  const zp_engine *e = ctx;
  (void)cfg;
  zp_engine_name(&e->o, param, text, cap);
}

zp_workload zp_engine_workload(zp_engine *e)
{
  return (zp_workload){.ctx = e,
                       .open = open_work,
                       .close = close_work,
                       .init = first_values,
                       .used = is_used,
                       .shape = shape_of,
                       .forward = run_forward,
                       .backward = run_backward,
                       .name = name_of};
}
