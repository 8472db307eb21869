/* Why a job failed, in one sentence for the launcher's last line. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "roster_internal.h"

enum { SHOWN = 8 };

static void put(zp_roster_result *out, const char *format, ...)
{
  const size_t used = strlen(out->ended);
  va_list values;
  va_start(values, format);
  vsnprintf(out->ended + used, sizeof out->ended - used, format, values);
  va_end(values);
}

/* It ended, and had not reported that it leaves. */
static int ended_silently(const zp_roster_entry *e)
{
  return e->turn > 0 && !e->leaves;
}

static int is_killed(const zp_roster_entry *e)
{
  return ended_silently(e) && !e->lost;
}

/* Of a job on several hosts: it is still running, or cut off, or never reported. */
static int is_silent(const zp_roster_entry *e)
{
  return !e->leaves && (e->turn == 0 || e->lost);
}

static void put_rank(const zp_roster *r, int32_t k, zp_roster_result *out)
{
  const zp_roster_entry *e = &r->rank[k];
  put(out, "rank %d", (int)k);
  if (r->reach == ZP_ROSTER_HOSTS && *e->host) put(out, " on %s", e->host);
  if (e->pid == 0) put(out, " (it had not reported yet)");
  else put(out, " (pid %ld)", (long)e->pid);
}

/* Other ranks that had joined MPI and ended without LEAVES: lost as well, or ended by mpirun when
 * its patience was over. Those of this turn, and `named`, are named already. */
static void put_others(const zp_roster *r, int32_t named, int64_t turn, zp_roster_result *out)
{
  int32_t n = 0;
  for (int32_t k = 0; k < r->world; k++) {
    const zp_roster_entry *e = &r->rank[k];
    if (!is_killed(e) || !e->joined || k == named || e->turn == turn || n++ >= SHOWN) continue;
    put(out, "%s", n > 1 ? ", " : "; also without a report: ");
    put_rank(r, k, out);
  }
  if (n > SHOWN) put(out, " and %d more", (int)(n - SHOWN));
}

/* The ranks that ended first without LEAVES, and those that never reported: one of them is the
 * rank that the signal ended. Each of the others reports why it leaves, or is ended by mpirun
 * seconds later. */
static void find_ended(const zp_roster *r, int number, zp_roster_result *out)
{
  int64_t first = INT64_MAX;
  int32_t n = 0, joined = 0;
  for (int32_t k = 0; k < r->world; k++) {
    const zp_roster_entry *e = &r->rank[k];
    if (ended_silently(e) && e->turn < first) first = e->turn;
  }
  for (int32_t k = 0; k < r->world; k++) {
    const zp_roster_entry *e = &r->rank[k];
    if (e->pid == 0 ? r->reach != ZP_ROSTER_HERE_ONLY || e->leaves : e->turn != first || e->leaves)
      continue;
    if (n == 0) out->lost = k;
    if (n++ < SHOWN) {
      put(out, "%s", n > 1 ? " or " : "");
      put_rank(r, k, out);
    }
    joined += e->joined;
  }
  if (n > SHOWN) put(out, " or %d others", (int)(n - SHOWN));
  if (n == 0) put(out, "a rank on another host, or one whose start failed,");
  const char *when = joined > 0 || n == 0 ? "" : " before it joined MPI";
  if (number > 0) put(out, " was ended by signal %d (%s)%s", number, strsignal(number), when);
  else put(out, " has ended without a report%s, and mpirun did not notice", when);
  put_others(r, -1, first, out);
}

/* ---- Several hosts --------------------------------------------------------------------------- */

/* The host of a rank in words. */
static const char *its_host(const zp_roster_entry *e)
{
  return *e->host ? e->host : "an unknown host";
}

/* "ranks 2, 3 on host-b, rank 5 on host-c": those that `is` chooses, in order. How many. */
static int32_t put_chosen(const zp_roster *r, int (*is)(const zp_roster_entry *),
                          zp_roster_result *out)
{
  int32_t chosen[SHOWN], n = 0;
  for (int32_t k = 0; k < r->world; k++)
    if (is(&r->rank[k]) && n++ < SHOWN) chosen[n - 1] = k;
  const int32_t shown = n < SHOWN ? n : SHOWN;
  for (int32_t i = 0, next; i < shown; i = next) {
    const char *host = its_host(&r->rank[chosen[i]]);
    for (next = i + 1; next < shown; next++)
      if (strcmp(host, its_host(&r->rank[chosen[next]])) != 0) break;
    put(out, "%srank%s %d", i > 0 ? ", " : "", next > i + 1 ? "s" : "", (int)chosen[i]);
    for (int32_t k = i + 1; k < next; k++) put(out, ", %d", (int)chosen[k]);
    put(out, " on %s", host);
  }
  if (n > SHOWN) put(out, " and %d more", (int)(n - SHOWN));
  return n;
}

/* Did all ranks of the host of rank k end without a report, and are there others? */
static int host_ended(const zp_roster *r, int32_t k)
{
  int32_t others = 0;
  for (int32_t i = 0; i < r->world; i++) {
    const zp_roster_entry *e = &r->rank[i];
    if (e->pid == 0 || strcmp(e->host, r->rank[k].host) != 0) continue;
    others += i != k;
    if (!ended_silently(e) || e->lost) return 0;
  }
  return others > 0;
}

/* The first rank of a host that does not answer: the connections of all its ranks have timed out;
 * -1: there is no such host. */
static int32_t first_cut_off(const zp_roster *r)
{
  for (int32_t k = 0; k < r->world; k++) {
    int32_t others = 0;
    for (int32_t i = 0; i < r->world && r->rank[k].lost; i++)
      others +=
          r->rank[i].pid != 0 && !r->rank[i].lost && strcmp(r->rank[i].host, r->rank[k].host) == 0;
    if (r->rank[k].lost && others == 0) return k;
  }
  return -1;
}

/* The rank whose process ended first without a report, -1: none. */
static int32_t first_killed(const zp_roster *r)
{
  int32_t first = -1;
  for (int32_t k = 0; k < r->world; k++)
    if (is_killed(&r->rank[k]) && (first < 0 || r->rank[k].turn < r->rank[first].turn)) first = k;
  return first;
}

/* mpirun ended it: before its deadline, when others had reached theirs. */
static int is_stopped(const zp_roster_entry *e)
{
  return e->failed && e->culprit == ZP_ROSTER_STOPPED;
}

/* The rank that most errors name, -1: none. */
static int32_t most_named(const zp_roster *r, int32_t *times)
{
  int32_t most = -1;
  *times = 0;
  for (int32_t k = 0; k < r->world; k++) {
    int32_t n = 0;
    for (int32_t i = 0; i < r->world; i++) n += r->rank[i].failed && r->rank[i].culprit == k;
    if (n > *times) {
      *times = n;
      most = k;
    }
  }
  return most;
}

static void put_killed(const zp_roster *r, int32_t killed, int number, zp_roster_result *out)
{
  if (host_ended(r, killed)) {
    put(out,
        "every rank of %s has ended without a report, rank %d first: its daemon or the host "
        "has failed",
        r->rank[killed].host, (int)killed);
    return;
  }
  put_rank(r, killed, out);
  if (number > 0) put(out, " was ended by signal %d (%s)", number, strsignal(number));
  else put(out, " has ended without a report");
  put_others(r, killed, 0, out);
}

/* The error to show: of the rank at fault itself, or of the first that names it, or of any. */
static int32_t first_error(const zp_roster *r, int32_t culprit)
{
  int32_t first = -1;
  if (culprit >= 0 && r->rank[culprit].failed && r->rank[culprit].culprit == culprit)
    return culprit;
  for (int32_t k = 0; k < r->world; k++)
    if (r->rank[k].failed &&
        (first < 0 || (r->rank[k].culprit == culprit && r->rank[first].culprit != culprit)))
      first = k;
  return first;
}

/* Which rank or host a supervisor does without: of mpirun's own end by a signal, neither. */
static void find_lost(const zp_roster *r, int32_t killed, int32_t named, zp_roster_result *out)
{
  const int32_t cut_off = first_cut_off(r);
  if (WIFSIGNALED(out->status) && !out->killed) return;
  out->lost = killed >= 0 ? killed : cut_off >= 0 ? cut_off : named;
  if (out->lost < 0) return;
  memcpy(out->host, r->rank[out->lost].host, sizeof out->host);
  out->host_lost = killed >= 0 ? host_ended(r, killed) : cut_off >= 0;
}

static void explain_hosts(const zp_roster *r, int number, zp_roster_result *out)
{
  int32_t times;
  const int32_t killed = first_killed(r), named = most_named(r, &times);
  find_lost(r, killed, named, out);
  if (killed >= 0) put_killed(r, killed, number, out);
  const size_t used = strlen(out->ended);
  if (used > 0) put(out, "; ");
  if (put_chosen(r, is_silent, out) > 0)
    put(out, ": no answer: stopped, or the host, its daemon or its link has failed");
  else out->ended[used] = 0;
  if (named >= 0 && *out->ended == 0) {
    put_rank(r, named, out);
    put(out, " is named as the cause by %d of %d ranks", (int)times, (int)r->world);
  }
  if (*out->ended == 0 && put_chosen(r, is_stopped, out) > 0)
    put(out, " had not given up when others did: stopped, or busy");
  const int32_t shown = first_error(r, named);
  if (shown >= 0)
    put(out, "%srank %d on %s reported: %s", *out->ended ? "; " : "", (int)shown,
        r->rank[shown].host, r->rank[shown].why ? r->rank[shown].why : "an error");
}

void zp_roster_explain(const zp_roster *r, int number, zp_roster_result *out)
{
  int32_t times;
  if (r->reach == ZP_ROSTER_HOSTS) explain_hosts(r, number, out);
  else if (number > 0 || out->killed) find_ended(r, number, out);
  const int32_t shown = first_error(r, most_named(r, &times));
  if (shown >= 0)
    snprintf(out->said, sizeof out->said, "rank %d reported: %s", (int)shown,
             r->rank[shown].why ? r->rank[shown].why : "an error");
}
