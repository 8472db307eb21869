/* Compares the fingerprints of values: results of the members of a group, inputs with results, and
 * tensors of which each rank has a replica. conformance/TRACE.md, "Values" */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "values.h"

/* Comparisons that wait for members. If there are more, the oldest one ends with those it has. */
enum { OPEN = 1 << 16, BUCKETS = 1 << 12, TENSORS = 1 << 16 };

static int equal(const zp_trace_print *a, const zp_trace_print *b)
{
  return a->lane[0] == b->lane[0] && a->lane[1] == b->lane[1] && a->bytes == b->bytes;
}

/* The number of a tensor's name in the run, or -1 if there are too many. */
static int64_t tensor_of(judge *j, const char *name)
{
  values *v = j->values;
  const uint64_t hash = XXH3_64bits_withSeed(name, strlen(name), j->seed);
  int32_t *at = &v->named[hash % BUCKETS];
  while (*at != 0 && strcmp(v->tensor[*at - 1].name, name) != 0) at = &v->tensor[*at - 1].next;
  if (*at != 0) return *at - 1;
  if (v->tensors == TENSORS) return -1;
  if (v->tensors == v->tensors_cap) {
    const int32_t n = v->tensors_cap ? 2 * v->tensors_cap : 64;
    tensor *more =
        zp_trace_grow(&j->failure, v->tensor, (size_t)v->tensors_cap, (size_t)n, sizeof *v->tensor);
    at = NULL; /* it may have moved */
    v->tensor = more;
    v->tensors_cap = n;
  }
  tensor *t = &v->tensor[v->tensors];
  t->name = zp_trace_grow(&j->failure, NULL, 0, strlen(name) + 1, 1);
  strcpy(t->name, name);
  t->next = v->named[hash % BUCKETS]; /* the new one comes first */
  v->named[hash % BUCKETS] = ++v->tensors;
  return v->tensors - 1;
}

static seen **bucket_of(judge *j, const seen *s)
{
  const int64_t key[] = {s->g->index, s->id, s->when.step, s->when.nth, s->when.turn, s->of_tensor};
  return &j->values->bucket[XXH3_64bits_withSeed(key, sizeof key, j->seed) % BUCKETS];
}

/* < 0: a is earlier; 0: it is the same moment */
static int moment_order(const moment *a, const moment *b)
{
  if (a->turn != b->turn) return a->turn < b->turn ? -1 : 1;
  if (a->step != b->step) return a->step < b->step ? -1 : 1;
  return a->nth < b->nth ? -1 : a->nth > b->nth;
}

static int is(const seen *a, const seen *b)
{
  return a->g == b->g && a->id == b->id && a->of_tensor == b->of_tensor &&
         (!a->of_tensor || !moment_order(&a->when, &b->when));
}

static void release(seen *s)
{
  if (s == NULL) return;
  free(s->odd);
  free(s);
}

/* ---- What a comparison shows ----------------------------------------------------------------- */

/* Whether the results must be what the inputs add up to. */
static int is_moved(int32_t op)
{
  return op == OP_ALL_GATHER || op >= OP_BROADCAST;
}

int zp_trace_is_dealt(const seen *s)
{
  return s->op == OP_SCATTER || s->op == OP_ALL_TO_ALL;
}

/* How many members record an input, and how many a result. */
static int32_t members_of(const seen *s)
{
  return s->g->parent != NULL ? 1 : s->g->size;
}

int zp_trace_results_agree(const seen *s)
{
  return s->of_tensor || s->op == OP_ALL_REDUCE || s->op == OP_ALL_GATHER || s->op == OP_BROADCAST;
}

int zp_trace_inputs_known(const seen *s)
{
  const int of_all = s->op == OP_ALL_GATHER || s->op == OP_GATHER || s->op == OP_ALL_TO_ALL;
  if (of_all && s->inputs_held < s->g->size) return 0;
  return is_moved(s->op) && s->inputs == members_of(s) && s->inputs_held > 0;
}

static int differs(const seen *s)
{
  if (zp_trace_results_agree(s) && s->odds > 0) return 1;
  if (s->of_tensor || !zp_trace_inputs_known(s) || s->held == 0) return 0;
  if (zp_trace_is_dealt(s)) return s->held == s->g->size && !equal(&s->sum, &s->results);
  return !equal(&s->sum, &s->value);
}

/* The first one of a kind is reported: by turn and step, then gradients before parameters and
 * states, then by record. */
static int64_t class_of(const judge *j, const seen *s)
{
  return s->of_tensor && strncmp(j->values->tensor[s->id].name, "gradient", 8) != 0;
}

static int precedes(const judge *j, const seen *a, const seen *b)
{
  const int64_t class_a = class_of(j, a), class_b = class_of(j, b);
  if (a->when.turn != b->when.turn) return a->when.turn < b->when.turn;
  if (a->step != b->step) return a->step < b->step;
  if (class_a != class_b) return class_a < class_b;
  if (a->at.record != b->at.record) return a->at.record < b->at.record;
  return a->of_tensor && a->id < b->id;
}

/* The members that have a value of the tensor were equal. */
static void note_equal(judge *j, const seen *s)
{
  mark *m = zp_trace_last_moment(j, &j->values->equal, s->id, s->g->index);
  if (m->n > 0 && moment_order(&s->when, &m->at) < 0) return;
  m->at = s->when;
  m->n = s->held;
}

/* Whether they were equal before they differed. */
static void find_equal(judge *j, seen *s)
{
  const mark *m = zp_trace_last_moment(j, &j->values->equal, s->id, s->g->index);
  s->was_equal = m->n >= s->held && moment_order(&m->at, &s->when) < 0;
  s->agreed = m->at;
}

/* The comparison has ended. */
static void judge_values(judge *j, seen *s)
{
  values *v = j->values;
  v->compared += s->of_tensor           ? s->held > 1
                 : s->g->parent != NULL ? s->inputs_held > 0 && s->held > 0
                                        : s->results_seen > 1 && s->held > 0;
  seen **first = s->of_tensor ? &v->first_tensor : &v->first_op;
  if (!differs(s)) {
    if (!s->of_tensor && s->held > 1 && zp_trace_results_agree(s)) s->g->agreed++;
    if (s->of_tensor && s->held > 1) note_equal(j, s);
    release(s);
    return;
  }
  if (s->of_tensor) find_equal(j, s);
  s->agreed_ops = s->g->agreed;
  v->differ[s->of_tensor]++;
  if (*first == NULL || precedes(j, s, *first)) {
    release(*first);
    *first = s;
  } else release(s);
}

static void end(judge *j, seen *s)
{
  values *v = j->values;
  seen **at = bucket_of(j, s);
  while (*at != s) at = &(*at)->next;
  *at = s->next;
  *(s->older ? &s->older->newer : &v->oldest) = s->newer;
  *(s->newer ? &s->newer->older : &v->newest) = s->older;
  v->open--;
  judge_values(j, s);
}

/* ---- Values that arrive ---------------------------------------------------------------------- */

static seen *find(judge *j, const seen *key)
{
  values *v = j->values;
  seen *s = *bucket_of(j, key);
  while (s != NULL && !is(s, key)) s = s->next;
  if (s != NULL) return s;
  if (v->open == OPEN) end(j, v->oldest);
  s = zp_trace_grow(&j->failure, NULL, 0, 1, sizeof *s);
  *s = *key;
  seen **at = bucket_of(j, s);
  s->next = *at;
  *at = s;
  s->older = v->newest;
  *(v->newest ? &v->newest->newer : &v->oldest) = s;
  v->newest = s;
  v->open++;
  return s;
}

/* The result of one more member, or its replica. */
static void hold(judge *j, seen *s, int32_t rank, const zp_trace_print *print)
{
  if (s->held++ == 0) {
    s->value = *print;
    s->first = rank;
  } else if (!equal(&s->value, print) && s->odds < s->g->size) {
    if (s->odds == s->odd_cap) {
      const int32_t n = s->odd_cap ? 2 * s->odd_cap : 2;
      s->odd = zp_trace_grow(&j->failure, s->odd, (size_t)s->odd_cap, (size_t)n, sizeof *s->odd);
      s->odd_cap = n;
    }
    s->odd[s->odds++] = (odd){*print, rank};
  }
}

static void add(zp_trace_print *sum, const zp_trace_print *part)
{
  sum->lane[0] += part->lane[0];
  sum->lane[1] += part->lane[1];
  sum->bytes = (int64_t)((uint64_t)sum->bytes + (uint64_t)part->bytes);
}

static void add_operation(judge *j, player *p, const member *m)
{
  const zp_trace_value *v = &p->reader.value;
  group *g = m->g;
  int32_t place = m->place;
  if (v->op >= ZP_TRACE_SEND) {
    place = v->op == ZP_TRACE_RECV;
    g = v->root < 0 ? NULL
        : place     ? zp_trace_find_pair(j, m->g, v->root, m->place)
                    : zp_trace_find_pair(j, m->g, m->place, v->root);
  }
  if (g == NULL || v->i >= g->pos[place]) return;
  seen key = {.g = g, .id = v->i, .op = v->op, .at_rank = p->reader.rank};
  key.at = (zp_trace_at){p->reader.records - v->back, p->step};
  key.sig = (zp_trace_sig){-1, v->root, (uint8_t)v->op, 0, 0, 0};
  if (v->back == 1 && p->reader.last != NULL && p->reader.last->sig.op == v->op) {
    key.sig = p->reader.last->sig;
    key.site = p->reader.last->site;
  }
  key.step = p->step;
  seen *s = find(j, &key);
  if (key.sig.count >= 0 && (s->sig.count < 0 || v->op == ZP_TRACE_SEND)) {
    s->sig = key.sig;
    s->site = key.site;
    s->at_rank = key.at_rank;
    s->at = key.at;
  }
  if (v->side == ZP_TRACE_NO_INPUT || v->side == ZP_TRACE_INPUT) s->inputs++;
  else s->results_seen++;
  if (v->side == ZP_TRACE_INPUT) {
    add(&s->sum, &v->print);
    s->inputs_held++;
  }
  if (v->side == ZP_TRACE_RESULT) {
    hold(j, s, p->reader.rank, &v->print);
    add(&s->results, &v->print);
  }
  if (s->inputs >= members_of(s) && s->results_seen >= members_of(s)) end(j, s);
}

/* The moment of a value, and notes it as the rank's last one of this tensor in this group. */
static moment moment_of(judge *j, player *p, const zp_trace_value *v, int64_t step)
{
  if (p->sampled == NULL) p->sampled = zp_trace_grow(&j->failure, NULL, 0, 1, sizeof *p->sampled);
  mark *m = zp_trace_last_moment(j, p->sampled, v->i, v->group);
  m->at = (moment){step, m->at.turn + (m->n > 0 && step < m->at.step),
                   m->n > 0 && step == m->at.step ? m->at.nth + 1 : 0};
  m->n = 1;
  return m->at;
}

static void add_tensor(judge *j, player *p, const member *m)
{
  const zp_trace_value *v = &p->reader.value;
  const char *name = zp_trace_text(&p->reader, &p->reader.tensors, (int32_t)v->i);
  const int64_t id = name[0] ? tensor_of(j, name) : -1;
  if (id < 0) return;
  seen key = {.g = m->g, .id = id, .of_tensor = 1, .at_rank = p->reader.rank};
  key.step = v->step >= 0 ? v->step : p->step;
  key.when = moment_of(j, p, v, key.step);
  key.at = (zp_trace_at){p->reader.records - 1, key.step};
  seen *s = find(j, &key);
  hold(j, s, p->reader.rank, &v->print);
  if (s->held >= m->g->size) end(j, s);
}

void zp_trace_add_value(judge *j, player *p)
{
  const zp_trace_value *v = &p->reader.value;
  if (v->kind == ZP_TRACE_VALUES_END) {
    p->values_end = (zp_trace_at){p->reader.records - 1, v->step >= 0 ? v->step : p->step};
    return;
  }
  if (j->values == NULL) {
    j->values = zp_trace_grow(&j->failure, NULL, 0, 1, sizeof *j->values);
    j->values->bucket = zp_trace_grow(&j->failure, NULL, 0, BUCKETS, sizeof(seen *));
    j->values->named = zp_trace_grow(&j->failure, NULL, 0, BUCKETS, sizeof(int32_t));
  }
  if (v->group >= p->groups || p->group[v->group].g == NULL) return;
  if (v->kind == ZP_TRACE_VALUE_OF_OP) add_operation(j, p, &p->group[v->group]);
  else add_tensor(j, p, &p->group[v->group]);
}

void zp_trace_end_values(judge *j)
{
  while (j->values->oldest != NULL) end(j, j->values->oldest);
}

void zp_trace_free_values(judge *j)
{
  values *v = j->values;
  if (v == NULL) return;
  for (seen *s = v->oldest, *newer; s != NULL; s = newer) {
    newer = s->newer;
    release(s);
  }
  release(v->first_op);
  release(v->first_tensor);
  for (int32_t i = 0; i < v->tensors; i++) free(v->tensor[i].name);
  for (int32_t r = 0; r < j->world; r++) {
    if (j->p[r].sampled == NULL) continue;
    free(j->p[r].sampled->at);
    free(j->p[r].sampled);
  }
  free(v->equal.at);
  free(v->tensor);
  free(v->bucket);
  free(v->named);
  free(v);
}
