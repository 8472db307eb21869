/* Writes one trace file, or a Flight Recorder dump, as text or JSON: a line for each item. Memory
 * does not grow with the records of a trace. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <string.h>

#include "flight.h"

enum { TEXT = 200, RUNS = 8 };

typedef struct dumper {
  zp_trace_failure failure;
  zp_trace_reader reader;
  zp_flight_file file;
  zp_flight_dump dump;
  FILE *out;
  int json, items;
  int64_t step, start; /* start: the time of the first record, in ns; -1: no time yet */
} dumper;

/* Begins an item of JSON. */
static void begin(dumper *d, const char *kind)
{
  fprintf(d->out, "%s\n {\"item\": \"%s\"", d->items++ ? "," : "", kind);
}

static void end(dumper *d)
{
  fputc('}', d->out);
}

/* A text has no character that JSON must escape: zp_trace_clean_text. */
static void string(dumper *d, const char *key, const char *text)
{
  if (text[0]) fprintf(d->out, ", \"%s\": \"%s\"", key, text);
}

static void integer(dumper *d, const char *key, int64_t value)
{
  fprintf(d->out, ", \"%s\": %" PRId64, key, value);
}

static void header(dumper *d, const char *format, int32_t rank, int32_t world)
{
  if (d->json) {
    fprintf(d->out, "{\"schema\": \"zeroproof/trace-dump/1\", \"format\": \"%s\"", format);
    if (rank >= 0) integer(d, "rank", rank);
    if (world > 0) integer(d, "world", world);
    fprintf(d->out, ", \"items\": [");
  } else {
    fprintf(d->out, "%s", format);
    if (rank >= 0) fprintf(d->out, ", rank %d", (int)rank);
    if (world > 0) fprintf(d->out, " of %d", (int)world);
    fprintf(d->out, "; times in ms since the first record\n");
  }
}

/* json_exit: how the process ended, as an object of JSON; "" of a Flight Recorder dump. */
static void footer(dumper *d, const char *ending, const char *json_exit, int64_t records)
{
  if (d->json) {
    fprintf(d->out, "\n], \"records\": %" PRId64, records);
    if (d->start >= 0) integer(d, "first_ns", d->start); /* to compare files of one host */
    string(d, "end", ending);
    if (json_exit[0]) fprintf(d->out, ", \"exit\": %s", json_exit);
    string(d, "boot_id", d->reader.locked);
    fprintf(d->out, "}\n");
  } else {
    if (d->reader.locked[0]) fprintf(d->out, "boot id of the host: %s\n", d->reader.locked);
    fprintf(d->out, "%" PRId64 " records; %s\n", records, ending);
  }
}

/* ---- Operations, as both formats have them --------------------------------------------------- */

typedef struct line {
  zp_trace_sig sig;
  const char *group, *phase, *site, *state;
  int64_t record, step, group_id, seq, ns, timeout_ms; /* -1: unknown; ns: since the first record */
} line;

static void print_json(dumper *d, const line *l)
{
  char op[TEXT];
  zp_trace_sig plain = l->sig;
  plain.count = plain.root = -1;
  plain.flags = 0;
  zp_trace_describe(&l->sig, op, sizeof op);
  begin(d, "operation");
  integer(d, "record", l->record);
  if (l->step >= 0) integer(d, "step", l->step);
  string(d, "group", l->group);
  integer(d, "group_id", l->group_id);
  if (l->seq >= 0) integer(d, "sequence_number", l->seq);
  string(d, "op", zp_trace_ops[l->sig.op]);
  string(d, "text", op);
  string(d, "dtype", zp_trace_dtypes[l->sig.dtype]);
  if (l->sig.count >= 0) integer(d, "count", l->sig.count);
  if (l->sig.root >= 0) integer(d, l->sig.op >= ZP_TRACE_SEND ? "peer" : "root", l->sig.root);
  fprintf(d->out, ", \"asynchronous\": %s", (l->sig.flags & ZP_TRACE_ASYNC) ? "true" : "false");
  string(d, "state", l->state);
  string(d, "phase", l->phase);
  string(d, "site", l->site);
  if (l->ns >= 0) integer(d, "ns", l->ns);
  if (l->timeout_ms >= 0) integer(d, "timeout_ms", l->timeout_ms);
  end(d);
}

/* Ends a line with a time. */
static void time_text(dumper *d, int64_t ns)
{
  if (ns >= 0) fprintf(d->out, ", %" PRId64 ".%06" PRId64 " ms", ns / 1000000, ns % 1000000);
  fputc('\n', d->out);
}

static void print_text(dumper *d, const line *l)
{
  char op[TEXT];
  zp_trace_describe(&l->sig, op, sizeof op);
  fprintf(d->out, "record %" PRId64 ": ", l->record);
  fprintf(d->out, "%s in '%s'", op, l->group);
  if (l->seq >= 0) fprintf(d->out, " number %" PRId64, l->seq);
  if (l->state[0]) fprintf(d->out, ", %s", l->state);
  else if (l->sig.flags & ZP_TRACE_ASYNC) fprintf(d->out, ", asynchronous");
  if (l->phase[0]) fprintf(d->out, ", %s", l->phase);
  if (l->site[0]) fprintf(d->out, ", at %s", l->site);
  time_text(d, l->ns);
}

static void print(dumper *d, const line *l)
{
  if (d->json) print_json(d, l);
  else print_text(d, l);
}

/* ---- Groups, as both formats have them ------------------------------------------------------- */

/* "0-3, 8": the members in the order of their group ranks, or of many the first runs. */
static void members_text(const zp_trace_item *item, const char *dash, char *text, size_t cap)
{
  size_t n = 0;
  text[0] = 0;
  for (int32_t i = 0; i < item->runs && n < cap; i++) {
    const zp_trace_run *run = &item->run[i];
    const char *comma = i ? ", " : "";
    const int32_t last = run->first + (run->length - 1) * run->stride;
    if (i == RUNS) {
      n += (size_t)snprintf(text + n, cap - n, ", ...");
      return;
    }
    if (run->length == 1) n += (size_t)snprintf(text + n, cap - n, "%s%d", comma, run->first);
    else if (run->stride == 1)
      n += (size_t)snprintf(text + n, cap - n, "%s%d%s%d", comma, run->first, dash, last);
    else
      n += (size_t)snprintf(text + n, cap - n, "%s%d%s%d by %d", comma, run->first, dash, last,
                            run->stride);
  }
}

static void print_group(dumper *d, const char *label, const zp_trace_item *item)
{
  char members[4 * TEXT];
  members_text(item, d->json ? "-" : "–", members, sizeof members);
  if (d->json) {
    begin(d, "group");
    integer(d, "id", item->number);
    string(d, "key", item->name);
    string(d, "label", label);
    if (item->size > 0) integer(d, "size", item->size);
    if (item->place >= 0) integer(d, "group_rank", item->place);
    string(d, "members", members);
    end(d);
    return;
  }
  fprintf(d->out, "group %" PRId64 ": '%s'", item->number, item->name);
  if (label[0]) fprintf(d->out, ", label '%s'", label);
  if (members[0]) fprintf(d->out, " {%s}", members);
  else if (item->size > 0) fprintf(d->out, ", %d ranks", (int)item->size);
  if (item->place >= 0) fprintf(d->out, ", group rank %d", (int)item->place);
  fputc('\n', d->out);
}

/* ---- Traces ---------------------------------------------------------------------------------- */

/* The time since the first record; -1: unknown. */
static int64_t since_start(const dumper *d)
{
  return d->start >= 0 && d->reader.ns >= d->start ? d->reader.ns - d->start : -1;
}

/* The names of groups, for the lines of operations. A later definition replaces an earlier one. */
static void note_group(dumper *d, const zp_trace_item *item)
{
  zp_trace_reader *r = &d->reader;
  zp_trace_keep_text(r, &r->keys, item->number, item->name);
  const int known = item->number <= INT32_MAX;
  print_group(d, known ? zp_trace_text(r, &r->labels, (int32_t)item->number) : "", item);
}

static void operation(dumper *d, const zp_trace_def *op)
{
  const zp_trace_reader *r = &d->reader;
  if (d->start < 0 && r->ns > 0) d->start = r->ns;
  const char *label = zp_trace_text(r, &r->labels, op->group),
             *key = zp_trace_text(r, &r->keys, op->group);
  print(d, &(line){.sig = op->sig,
                   .group = label[0] ? label : key,
                   .phase = op->phase > 0 ? zp_trace_text(r, &r->phases, op->phase) : "",
                   .site = op->site > 0 ? zp_trace_text(r, &r->sites, op->site) : "",
                   .state = "",
                   .record = r->records - 1,
                   .step = d->step,
                   .group_id = op->group,
                   .seq = -1,
                   .ns = since_start(d),
                   .timeout_ms = -1});
}

/* The fingerprint of a value, and of which operation or tensor it is. */
static void value(dumper *d)
{
  static const char *const sides[] = {"no input", "input", "result", "no result"};
  const zp_trace_reader *r = &d->reader;
  const zp_trace_value *v = &r->value;
  const int of_op = v->kind == ZP_TRACE_VALUE_OF_OP;
  const int held = !of_op || v->side == ZP_TRACE_INPUT || v->side == ZP_TRACE_RESULT;
  const char *tensor = of_op ? "" : zp_trace_text(r, &r->tensors, (int32_t)v->i);
  const int64_t step = v->step >= 0 ? v->step : d->step;
  char lanes[64];
  snprintf(lanes, sizeof lanes, "%016" PRIx64 "%016" PRIx64, v->print.lane[0], v->print.lane[1]);
  if (d->json) {
    begin(d, of_op ? "value" : "tensor");
    if (of_op) integer(d, "record", r->records - v->back);
    if (of_op) string(d, "side", sides[v->side]);
    string(d, "tensor", tensor);
    if (!of_op && step >= 0) integer(d, "step", step);
    if (of_op || v->group > 0) integer(d, "group_id", v->group);
    if (of_op) integer(d, "number", v->i);
    if (held) integer(d, "bytes", v->print.bytes);
    if (held) string(d, "fingerprint", lanes);
    end(d);
    return;
  }
  if (of_op) fprintf(d->out, "record %" PRId64 ": %s", r->records - v->back, sides[v->side]);
  else fprintf(d->out, "tensor %s", tensor[0] ? tensor : "of an unknown name");
  if (!of_op && step >= 0) fprintf(d->out, ", step %" PRId64, step);
  if (held) fprintf(d->out, ", %" PRId64 " bytes, fingerprint %s", v->print.bytes, lanes);
  fputc('\n', d->out);
}

/* From here on, the recorder recorded no values. */
static void values_end(dumper *d)
{
  const zp_trace_reader *r = &d->reader;
  const int64_t step = r->value.step >= 0 ? r->value.step : d->step;
  const char *type = r->values_end[0] == '?' ? "" : r->values_end;
  if (d->json) {
    begin(d, "values_end");
    if (step >= 0) integer(d, "step", step);
    string(d, "type", type);
    end(d);
    return;
  }
  fprintf(d->out, "values end");
  if (step >= 0) fprintf(d->out, ", step %" PRId64, step);
  fprintf(d->out, ": the recorder could not record later ones%s%s\n", type[0] ? ", by " : "", type);
}

static const char *name_of(int kind)
{
  switch (kind) {
  case ZP_TRACE_STEP: return "step";
  case ZP_TRACE_WAIT: return "wait";
  case ZP_TRACE_SOURCE: return "source";
  case ZP_TRACE_CALL: return "call";
  case ZP_TRACE_CALL_END: return "call_end";
  case ZP_TRACE_RETURNED: return "returned";
  default: return NULL; /* a phase, which operations name, or the end mark */
  }
}

/* An item that is no operation, group or value. */
static void other(dumper *d, const zp_trace_item *item)
{
  const int64_t of = d->reader.records - item->number;
  const int waits = item->kind == ZP_TRACE_WAIT, returns = item->kind == ZP_TRACE_RETURNED;
  const int64_t ns = waits || returns ? since_start(d) : -1;
  const char *name = name_of(item->kind);
  if (name == NULL) return;
  if (item->kind == ZP_TRACE_STEP) d->step = item->number;
  if (d->json) {
    begin(d, name);
    if (item->kind == ZP_TRACE_STEP) integer(d, "step", item->number);
    if (waits || returns || item->kind == ZP_TRACE_SOURCE) integer(d, "record", of);
    if (item->kind == ZP_TRACE_SOURCE) integer(d, "peer", item->source);
    if (ns >= 0) integer(d, "ns", ns);
    end(d);
  } else if (item->kind == ZP_TRACE_STEP) {
    fprintf(d->out, "step %" PRId64 "\n", item->number);
  } else if (waits || returns) {
    fprintf(d->out, waits ? "wait for record %" PRId64 : "record %" PRId64 " has returned", of);
    time_text(d, ns);
  } else if (item->kind == ZP_TRACE_SOURCE) {
    fprintf(d->out, "record %" PRId64 " received from group rank %d\n", of, (int)item->source);
  } else {
    fprintf(d->out, "a grouped call %s\n", item->kind == ZP_TRACE_CALL ? "begins" : "ends");
  }
}

/* How the process ended, as an object of JSON. */
static const char *json_exit(const zp_trace_reader *r, int64_t at, char *text, size_t cap)
{
  const zp_trace_exit *e = &r->exit;
  if (r->state == ZP_TRACE_DAMAGED)
    snprintf(text, cap, "{\"how\": \"damaged\", \"byte\": %" PRId64 "}", at);
  else if (e->how == ZP_TRACE_STATUS)
    snprintf(text, cap, "{\"how\": \"status\", \"status\": %d}", (int)e->status);
  else if (e->how == ZP_TRACE_EXCEPTION)
    snprintf(text, cap, "{\"how\": \"exception\", %s%s%s\"status\": %d}",
             e->reason[0] ? "\"type\": \"" : "", e->reason, e->reason[0] ? "\", " : "",
             (int)e->status);
  else
    snprintf(text, cap, "{\"how\": \"%s\"}",
             e->how != ZP_TRACE_NO_EXIT   ? "unknown"
             : r->state == ZP_TRACE_ENDED ? "completed"
                                          : "no end mark");
  return text;
}

static void ending(dumper *d, const char *name, zp_error *err)
{
  const zp_trace_reader *r = &d->reader;
  char text[TEXT] = ZP_TRACE_NO_END;
  if (r->state == ZP_TRACE_ENDED) snprintf(text, sizeof text, "the rank has completed");
  char how[ZP_TRACE_EXIT_TEXT], object[TEXT];
  if (r->exit.how != ZP_TRACE_NO_EXIT)
    snprintf(text, sizeof text, "the rank ended with %s",
             zp_trace_exit_text(&r->exit, how, sizeof how));
  const int64_t at = r->offset - r->have + r->at;
  if (r->state == ZP_TRACE_DAMAGED)
    snprintf(text, sizeof text, "the trace is damaged near byte %" PRId64, at);
  footer(d, text, json_exit(r, at, object, sizeof object), r->records);
  if (r->state == ZP_TRACE_DAMAGED)
    zp_fail(err, ZP_E_REFUSED, -1, "%s: damaged near byte %" PRId64 ": the rest is not shown.",
            name, at);
}

static void dump_trace(dumper *d, const char *name, zp_error *err)
{
  zp_trace_item item;
  d->reader.wants_values = d->reader.want_returns = 1;
  header(d, "zeroproof trace", d->reader.rank, d->reader.world);
  while (zp_trace_next(&d->reader, &item)) {
    if (item.kind == ZP_TRACE_OP) operation(d, item.op);
    else if (item.kind == ZP_TRACE_GROUP) note_group(d, &item);
    else if (item.kind == ZP_TRACE_VALUE && d->reader.value.kind == ZP_TRACE_VALUES_END)
      values_end(d);
    else if (item.kind == ZP_TRACE_VALUE) value(d);
    else other(d, &item);
  }
  ending(d, name, err);
}

/* ---- Flight Recorder dumps ------------------------------------------------------------------- */

static void flight_group(dumper *d, int32_t i)
{
  const zp_flight_group *g = &d->dump.group[i];
  zp_trace_run run[RUNS + 1]; /* members_text prints RUNS of them */
  zp_trace_item item = {.number = i, .size = g->members, .place = -1, .run = run};
  for (int32_t k = 0; k < g->members; k++) {
    zp_trace_run *last = item.runs > 0 ? &run[item.runs - 1] : NULL;
    if (last != NULL && g->member[k] == last->first + last->length) last->length++;
    else if (item.runs <= RUNS) run[item.runs++] = (zp_trace_run){g->member[k], 1, 1};
    else break;
  }
  snprintf(item.name, sizeof item.name, "%s", g->name);
  print_group(d, g->label, &item);
}

static void dump_flight(dumper *d, const char *name)
{
  zp_flight_read(&d->file, &d->failure, name);
  zp_flight_extract(&d->dump, &d->file);
  header(d, "PyTorch Flight Recorder dump", -1, 0);
  for (int32_t i = 0; i < d->dump.groups; i++) flight_group(d, i);
  for (int32_t i = 0; i < d->dump.entries; i++) {
    const zp_flight_entry *e = &d->dump.entry[i];
    const zp_flight_group *g = &d->dump.group[e->group];
    if (d->start < 0 && e->ns > 0) d->start = e->ns;
    print(d, &(line){.sig = {e->count, e->root, e->op, 0, e->dtype, ZP_TRACE_ASYNC},
                     .group = g->label[0] ? g->label : g->name,
                     .phase = "",
                     .site = e->site >= 0 ? d->dump.site[e->site] : "",
                     .state = (e->flags & ZP_FLIGHT_COMPLETED) ? "completed"
                              : (e->flags & ZP_FLIGHT_STARTED) ? "started"
                              : (e->flags & ZP_FLIGHT_RETIRED) ? "retired"
                                                               : "scheduled",
                     .record = e->record,
                     .step = -1,
                     .group_id = e->group,
                     .seq = e->seq,
                     .ns = d->start >= 0 && e->ns >= d->start ? e->ns - d->start : -1,
                     .timeout_ms = e->timeout_ms});
  }
  footer(d, d->dump.lost ? "earlier records were overwritten" : "no record was overwritten", "",
         d->dump.entries);
}

int zp_trace_dump(const char *name, FILE *out, int json, zp_error *err)
{
  dumper d = {.out = out, .json = json, .step = -1, .start = -1};
  if (setjmp(d.failure.leave) == 0) {
    if (zp_flight_like(name) == 1) {
      dump_flight(&d, name);
    } else {
      zp_trace_open_file(&d.reader, &d.failure, name);
      if (zp_trace_is_none(&d.reader))
        zp_fail(err, ZP_E_REFUSED, -1, "%s: " ZP_TRACE_NO_TRACE ".", name);
      else dump_trace(&d, name, err);
    }
  }
  zp_trace_close(&d.reader);
  zp_flight_dump_free(&d.dump);
  zp_flight_free(&d.file);
  if (d.failure.err.status != 0) zp_fail(err, d.failure.err.status, -1, "%s", d.failure.err.text);
  return err->status;
}
