/* spec: CKPT-2, CKPT-6, CKPT-11 */
#include "background.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A block holds runs of elements: a head, then its values. */
enum { BLOCK = 1 << 16 };

typedef struct head {
  int32_t param, tp, ep, what;
  int64_t offset, count;
} head;

typedef struct block {
  struct block *next;
  size_t used;
  head *last; /* the run that may still grow, or NULL */
  _Alignas(head) unsigned char data[BLOCK];
} block;

/* One rank's copy. */
typedef struct snapshot {
  zp_background *all;
  zp_store disk;
  block *first, *now; /* blocks after `now` are of an earlier, larger copy */
  int64_t bytes;
  zp_train_state state; /* optim is owned */
  zp_error err;
} snapshot;

struct zp_background {
  int32_t n;
  int32_t pending, running; /* running: the thread is to be joined */
  pthread_t thread;
  atomic_int written;
  snapshot part[];
};

zp_background *zp_background_open(int32_t n)
{
  zp_background *b = calloc(1, sizeof *b + (size_t)n * sizeof *b->part);
  if (b == NULL) return NULL;
  b->n = n;
  for (int32_t i = 0; i < n; i++) b->part[i].all = b;
  return b;
}

/* ---- The copy -------------------------------------------------------------------------------- */

static void rewind_blocks(snapshot *s)
{
  for (block *k = s->first; k != NULL; k = k->next) {
    k->used = 0;
    k->last = NULL;
  }
  s->now = s->first;
  s->bytes = 0;
}

/* A block with room for at least one value of a new run, which begins at a multiple of 8 bytes;
 * NULL without memory. */
static block *roomy(snapshot *s)
{
  block *k = s->now;
  if (k != NULL && BLOCK - k->used >= sizeof(head) + 2 * sizeof(float)) return k;
  block *next = k != NULL ? k->next : s->first;
  if (next == NULL) {
    next = calloc(1, sizeof *next);
    if (next == NULL) return NULL;
    if (k != NULL) k->next = next;
    else s->first = next;
  }
  s->now = next;
  return next;
}

static int continues(const head *h, const head *next)
{
  return h != NULL && h->param == next->param && h->tp == next->tp && h->ep == next->ep &&
         h->what == next->what && h->offset + h->count == next->offset;
}

/* Where values of the run `want` may be put, and in *n how many of them. */
static float *reserve(snapshot *s, const head *want, int64_t *n)
{
  block *k = s->now;
  if (k == NULL || !continues(k->last, want) || BLOCK - k->used < sizeof(float)) {
    k = roomy(s);
    if (k == NULL) return NULL;
    k->used = (k->used + _Alignof(head) - 1) / _Alignof(head) * _Alignof(head);
    k->last = (head *)(void *)(k->data + k->used);
    *k->last = *want;
    k->last->count = 0;
    k->used += sizeof *k->last;
  }
  const int64_t room = (int64_t)((BLOCK - k->used) / sizeof(float));
  *n = want->count < room ? want->count : room;
  float *at = (float *)(void *)(k->data + k->used);
  k->last->count += *n;
  k->used += (size_t)*n * sizeof(float);
  return at;
}

static int put(void *ctx, int32_t param, int32_t tp, int32_t ep, int32_t what, int64_t offset,
               int64_t count, const float *value, zp_error *err)
{
  snapshot *s = ctx;
  head want = {param, tp, ep, what, offset, count};
  while (want.count > 0) {
    int64_t n;
    float *at = reserve(s, &want, &n);
    if (at == NULL)
      return zp_fail(err, ZP_E_MEMORY, -1,
                     "no memory for the copy that a save in the background writes; zeroproof plan "
                     "prints its size");
    memcpy(at, value, (size_t)n * sizeof *value);
    value += n;
    want.offset += n;
    want.count -= n;
    s->bytes += n * (int64_t)sizeof *value;
  }
  return 0;
}

static int finish(void *ctx, const zp_train_state *state, zp_error *err)
{
  snapshot *s = ctx;
  zp_optim_state *optim = malloc(((size_t)state->groups + 1) * sizeof *optim);
  if (optim == NULL) return zp_fail(err, ZP_E_MEMORY, -1, "no memory for a copy of the state");
  if (state->groups) memcpy(optim, state->optim, (size_t)state->groups * sizeof *optim);
  free(s->state.optim);
  s->state = *state;
  s->state.optim = optim;
  return 0;
}

/* Nothing is on disk yet: SEAL publishes. */
static int commit_later(void *ctx, zp_error *err)
{
  (void)ctx, (void)err;
  return 0;
}

void zp_background_take(zp_background *b, int32_t i, const zp_store *disk, zp_store *to)
{
  snapshot *s = &b->part[i];
  rewind_blocks(s);
  s->disk = *disk;
  memset(&s->err, 0, sizeof s->err);
  *to = (zp_store){.ctx = s, .put = put, .finish = finish, .commit = commit_later};
}

/* ---- The thread ------------------------------------------------------------------------------ */

static int write_block(const snapshot *s, const block *k, zp_error *err)
{
  size_t at = 0;
  while (at < k->used) {
    at = (at + _Alignof(head) - 1) / _Alignof(head) * _Alignof(head);
    const head *h = (const head *)(const void *)(k->data + at);
    at += sizeof *h;
    if (s->disk.put(s->disk.ctx, h->param, h->tp, h->ep, h->what, h->offset, h->count,
                    (const float *)(const void *)(k->data + at), err))
      return err->status;
    at += (size_t)h->count * sizeof(float);
  }
  return 0;
}

static void write_part(snapshot *s)
{
  for (const block *k = s->first; k != NULL && k->used > 0; k = k->next)
    if (write_block(s, k, &s->err)) return;
  s->disk.finish(s->disk.ctx, &s->state, &s->err);
}

static void *write_all(void *ctx)
{
  zp_background *b = ctx;
  for (int32_t i = 0; i < b->n; i++) write_part(&b->part[i]);
  atomic_store(&b->written, 1);
  return NULL;
}

/* Signals are the main thread's: mpirun's SIGTERM is polled there. */
static int start_thread(zp_background *b)
{
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  const int failed = pthread_create(&b->thread, NULL, write_all, b);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return failed;
}

void zp_background_start(zp_background *b)
{
  atomic_store(&b->written, 0);
  b->pending = 1;
  const int failed = start_thread(b);
  b->running = failed == 0;
  if (failed == 0) return;
  for (int32_t i = 0; i < b->n; i++)
    zp_fail(&b->part[i].err, ZP_E_MEMORY, -1, "cannot start the thread that writes a save: %s",
            strerror(failed));
  atomic_store(&b->written, 1);
}

static void join(zp_background *b)
{
  if (b->running) pthread_join(b->thread, NULL);
  b->running = 0;
}

int zp_background_pending(const zp_background *b)
{
  return b->pending;
}

int zp_background_written(const zp_background *b)
{
  return atomic_load(&b->written);
}

/* ---- Publication ----------------------------------------------------------------------------- */

static int written(void *ctx, const zp_train_state *state, zp_error *err)
{
  snapshot *s = ctx;
  (void)state; /* of now; the copy has that of its step */
  join(s->all);
  return s->err.status != ZP_OK ? zp_fail(err, s->err.status, s->err.rank, "%s", s->err.text) : 0;
}

static int commit(void *ctx, zp_error *err)
{
  const snapshot *s = ctx;
  return s->disk.commit(s->disk.ctx, err);
}

void zp_background_seal(zp_background *b, int32_t i, zp_store *to)
{
  *to = (zp_store){.ctx = &b->part[i], .finish = written, .commit = commit};
}

void zp_background_end(zp_background *b)
{
  join(b);
  b->pending = 0;
}

int64_t zp_background_bytes(const zp_background *b, int32_t i)
{
  return b->part[i].bytes;
}

void zp_background_close(zp_background *b)
{
  if (b == NULL) return;
  zp_background_end(b);
  for (int32_t i = 0; i < b->n; i++) {
    snapshot *s = &b->part[i];
    for (block *k = s->first, *next; k != NULL; k = next) {
      next = k->next;
      free(k);
    }
    free(s->state.optim);
  }
  free(b);
}
