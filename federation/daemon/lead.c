/* SPDX-License-Identifier: Apache-2.0 */
/* Who leads. Only a leader has a core: it is made when the prefix is held, filled from the store, and dropped
 * at the first sign that somebody else may hold it. */
#include "federation/daemon/private.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"

static void set_leader(struct fedd *fedd, const char *endpoint, size_t len)
{
    free(fedd->leader);
    fedd->leader = len && tf_utf8_valid(endpoint, len) ? tf_strndup(endpoint, len) : NULL;
}

static void on_standby(void *arg, struct tf_bytes holder)
{
    struct fedd *fedd = arg;
    set_leader(fedd, holder.data, holder.len);
    tf_log_info("standing by leader=%s", fedd->leader ? fedd->leader : "unknown");
}

void lead_drop(struct fedd *fedd)
{
    if (!fedd->fed)
        return;
    tf_recorder_end(fedd->recorder);
    fed_destroy(fedd->fed);
    fedd->fed = NULL;
    fedd->loaded = false;
    free(TF_STEAL(fedd->blocked));
    host_reset(fedd);
    requests_fail_all(fedd);
    asks_fail_all(fedd);
    logs_end_all(fedd, "this fedd no longer leads: ask the one that does");
    watch_close_all(fedd, "this fedd no longer leads: watch again at the one that does");
    links_close_all(fedd, "this fedd no longer leads: attach to the one that does");
}

static void on_held(void *arg, struct tf_term term)
{
    struct fedd *fedd = arg;
    lead_drop(fedd);
    fedd->reign++;
    set_leader(fedd, fedd->address, strlen(fedd->address));
    tf_log_info("elected, reading the records era=%llu revision=%llu", (unsigned long long)term.era,
                (unsigned long long)term.revision);
    fedd->fed = fed_create(term.revision);
    tf_recorder_begin(fedd->recorder, fedd->fed);
    struct fed_event event = {.kind = FED_EV_BOOT,
                              .boot = {.term = term, .accept_rollback = fedd->accept_rollback}};
    tf_settings_copy(&event.boot.settings, &fedd->config.settings);
    host_step(fedd, &event);
}

static void on_record(void *arg, struct tf_record *record)
{
    struct fedd *fedd = arg;
    host_step(fedd, &(struct fed_event){.kind = FED_EV_RECORD, .record = *record});
}

/* Without the counter of epochs, numbers that were used could be used again, and an ended epoch would be
 * taken for a new one: nothing may be placed. */
static void check_epoch(struct fedd *fedd)
{
    const char *why = lead_quarantined(fedd, "epoch", NULL, NULL);
    if (!why)
        return;
    fedd->blocked = tf_asprintf("the stored counter of epochs, key %s/epoch, cannot be read (%s): nothing is "
                                "placed or answered until it is restored from a backup, or removed and fedd "
                                "started once with --accept-rollback",
                                fedd->config.store.prefix, why);
    tf_log_error("%s", fedd->blocked);
}

static void on_loaded(void *arg)
{
    struct fedd *fedd = arg;
    fedd->loaded = true;
    fedd->since = tf_loop_now(fedd->loop).wall;
    check_epoch(fedd);
    upkeep_now(fedd);
    host_step(fedd, &(struct fed_event){.kind = FED_EV_LOADED});
    tf_log_info("leading jobs=%zu subclusters=%zu quarantined=%zu", fed_job_count(fedd->fed),
                fed_cluster_count(fedd->fed), tf_keep_quarantined(fedd->keep));
}

static void on_committed(void *arg, size_t bytes)
{
    struct fedd *fedd = arg;
    fedd->accept_rollback = false; /* once: that it was accepted is durable now */
    upkeep_wrote(fedd, bytes);
    host_committed(fedd);
}

static void on_deposed(void *arg, const struct tf_error *why)
{
    struct fedd *fedd = arg;
    tf_log_warn("deposed: all state is dropped and read anew by whoever leads next error=%s", why->text);
    set_leader(fedd, NULL, 0);
    lead_drop(fedd);
}

static void on_released(void *arg)
{
    struct fedd *fedd = arg;
    tf_log_info("gave the lead up");
    if (fedd->stopped)
        fedd->stopped(fedd->stopped_arg);
}

static const struct tf_keep_events events = {
    .standby = on_standby,
    .held = on_held,
    .record = on_record,
    .loaded = on_loaded,
    .committed = on_committed,
    .deposed = on_deposed,
    .released = on_released,
};

int lead_start(struct fedd *fedd, struct tf_error *err)
{
    const struct tf_keep_options options = {
        .store = fedd->store,
        .prefix = fedd->config.store.prefix,
        .owner_name = "leader",
        .owner_value = tf_bytes_of(fedd->address),
        .ttl_ms = fedd->config.settings.lease_ttl,
        .timeout_ms = fedd->config.store.timeout,
        .accept_rollback = fedd->accept_rollback,
    };
    fedd->keep = tf_keep_create(fedd->loop, &options, &events, fedd, err);
    return fedd->keep ? 0 : -1;
}

void lead_release(struct fedd *fedd)
{
    lead_drop(fedd);
    tf_keep_release(fedd->keep);
}

const char *lead_quarantined(const struct fedd *fedd, const char *kind, const char *tenant, const char *name)
{
    if (tf_keep_quarantined(fedd->keep) == 0)
        return NULL;
    TF_AUTO_FREE char *key = tf_asprintf("%s%s%s%s%s", kind, tenant ? "/" : "", tenant ? tenant : "",
                                         name ? "/" : "", name ? name : "");
    for (size_t i = 0; i < tf_keep_quarantined(fedd->keep); i++)
        if (tf_str_eq(tf_keep_quarantined_at(fedd->keep, i)->key, key))
            return tf_keep_quarantined_at(fedd->keep, i)->why;
    return NULL;
}

/* The clock is read anew: this process may have stood still since the turn began. */
bool lead_is_certain(const struct fedd *fedd)
{
    return fedd->fed && fedd->loaded && !fedd->blocked &&
           tf_clock_read().mono.ms < tf_keep_valid_until(fedd->keep).ms;
}

void lead_refusal(const struct fedd *fedd, struct tf_error *error, struct tf_error_detail *detail)
{
    const struct tf_error *trouble = tf_keep_trouble(fedd->keep);
    if (fedd->fed && fedd->blocked)
        tf_error_set(error, TF_ERR_UNAVAILABLE, "%s", fedd->blocked);
    else if (fedd->fed && !fedd->loaded)
        tf_error_set(error, TF_ERR_UNAVAILABLE,
                     "%s was just elected and is reading its records: try again in a moment", fedd->address);
    else if (!fedd->fed && fedd->leader)
        tf_error_set(error, TF_ERR_UNAVAILABLE, "%s does not lead the federation; %s does", fedd->address,
                     fedd->leader);
    else if (trouble->code != TF_OK)
        tf_error_set(error, TF_ERR_UNAVAILABLE,
                     "the federation has no leader: its store does not answer %s (%s); see whether etcd runs "
                     "and can be reached from there",
                     fedd->address, trouble->text);
    else
        tf_error_set(error, TF_ERR_UNAVAILABLE, "the federation has no leader at the moment: try again");
    detail->code = TF_ERR_UNAVAILABLE;
    tf_str_set(&detail->leader, fedd->fed ? NULL : fedd->leader);
    tf_str_set(&detail->text, error->text);
}

bool lead_or_refuse(struct fedd *fedd, struct tf_call *call)
{
    if (lead_is_certain(fedd))
        return true;
    struct tf_error error = TF_ERROR_INIT;
    struct tf_error_detail detail = {0};
    lead_refusal(fedd, &error, &detail);
    call_fail(call, &error, &detail);
    tf_error_detail_release(&detail);
    return false;
}

bool lead_or_refuse_stream(struct fedd *fedd, struct tf_stream *stream)
{
    if (lead_is_certain(fedd) && !fedd->stopping)
        return true;
    struct tf_error error = TF_ERROR_INIT;
    struct tf_error_detail detail = {0};
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    lead_refusal(fedd, &error, &detail);
    tf_wire_error_detail_pack(&detail, TF_RPC_DETAILS_MAX, &bytes);
    tf_stream_finish(stream, &error, (struct tf_bytes){bytes.data, bytes.len});
    tf_error_detail_release(&detail);
    return false;
}
