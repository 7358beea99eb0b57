/* SPDX-License-Identifier: Apache-2.0 */
/* Who acts. Only the owner of the local prefix has a core and an engine: they are made when it is held,
 * filled from the store, and dropped at the first sign that somebody else may hold it. */
#include "subcluster/daemon/private.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <unistd.h>

/* The era is above the revisions: after a restore of the store those start lower. */
enum { ERA_SHIFT = 48 };

uint64_t subd_owner_revision(const struct subd *subd)
{
    return subd->term.era << ERA_SHIFT | (subd->term.revision & ((UINT64_C(1) << ERA_SHIFT) - 1));
}

bool subd_owner_is_sure(const struct subd *subd)
{
    return tf_clock_read().mono.ms < tf_keep_valid_until(subd->keep).ms;
}

void subd_fail(struct subd *subd)
{
    if (!subd->stopping)
        subd->failed(subd->failed_arg);
}

void subd_owner_drop(struct subd *subd)
{
    assert(!subd->stepping);
    subd_logs_stop(subd);
    subd_uplink_stop(subd);
    subd_running_stop(subd);
    subd_shell_reset(subd);
    tf_recorder_end(subd->recorder);
    sub_destroy(subd->sub);
    subd->sub = NULL;
    subd->proving = subd->promised = false;
    tf_decisions_close(subd->decisions);
    subd->decisions = NULL;
}

static void on_standby(void *arg, struct tf_bytes holder)
{
    (void)arg;
    TF_AUTO_FREE char *who = tf_strndup(holder.data ? holder.data : "", holder.len);
    tf_log_info("standing by: another subclusterd of this name is active holder=%s", who);
}

static void boot(struct subd *subd)
{
    const struct subd_config *config = &subd->config;
    struct sub_event event = {.kind = SUB_EV_BOOT};
    struct sub_boot *b = &event.boot;
    b->name = tf_strdup(config->name);
    b->region = tf_strdup(config->region ? config->region : "");
    b->version = tf_strdup(TF_VERSION);
    b->engine = tf_strdup(subd_running_engine(subd));
    tf_pairs_copy(&b->labels, &config->labels);
    tf_planes_copy(&b->planes, &config->topology);
    b->owner_revision = subd_owner_revision(subd);
    b->accept_rollback = subd->accept_rollback;
    b->capabilities = subd_running_capabilities(subd);
    b->profile_interval = config->settings.profile_interval;
    b->loss_cap = config->settings.loss_cap;
    b->resize_loss = config->settings.resize_loss;
    b->decision_budget = config->settings.decision_budget;
    b->health = subd_health_rules(&config->settings);
    tf_policy_init(&b->policy);
    subd_feed(subd, &event);
}

static void on_held(void *arg, struct tf_term term)
{
    struct subd *subd = arg;
    struct tf_error err = TF_ERROR_INIT;
    subd_owner_drop(subd);
    if (subd->stopping)
        return;
    subd->term = term;
    tf_log_info("active, reading the records era=%" PRIu64 " revision=%" PRIu64, term.era, term.revision);
    if (subd_running_start(subd, &err)) {
        tf_log_error("the engine cannot work error=%s", err.text);
        subd_fail(subd);
        return;
    }
    subd->decisions = tf_decisions_open(subd->config.log.decisions);
    subd->sub = sub_create(term.revision);
    tf_recorder_begin(subd->recorder, subd->sub);
    boot(subd);
}

static void on_record(void *arg, struct tf_record *record)
{
    struct subd *subd = arg;
    if (!subd->sub) {
        tf_record_release(record);
        return;
    }
    subd->promised |=
        record->kind == TF_RECORD_ALLOCATION || (record->kind == TF_RECORD_FLOOR && record->number);
    subd_feed(subd, &(struct sub_event){.kind = SUB_EV_RECORD, .record = *record});
    *record = (struct tf_record){0};
}

/* Nothing leaves this process, and the engine is not touched, before a write has shown that the prefix is
 * ours: a raised era is durable with it. */
static void on_loaded(void *arg)
{
    struct subd *subd = arg;
    if (!subd->sub)
        return;
    subd->promised |= tf_keep_quarantined(subd->keep) > 0;
    subd->proving = true;
    tf_keep_commit(subd->keep, NULL, 0);
}

static void on_committed(void *arg, size_t bytes)
{
    struct subd *subd = arg;
    subd_upkeep_wrote(subd, bytes);
    if (!subd->sub)
        return;
    if (!subd->proving) {
        tf_tally_committed(&subd->tally);
        subd_feed(subd, &(struct sub_event){.kind = SUB_EV_COMMITTED});
        return;
    }
    subd->proving = false;
    subd->accept_rollback = false; /* once: the raised era is durable now */
    subd_feed(subd, &(struct sub_event){.kind = SUB_EV_LOADED});
    tf_log_info("the records are read allocations=%zu quarantined=%zu", sub_allocation_count(subd->sub),
                tf_keep_quarantined(subd->keep));
    subd_running_adopt(subd);
}

static void on_deposed(void *arg, const struct tf_error *why)
{
    struct subd *subd = arg;
    tf_log_warn("deposed: all state is dropped and read anew by whoever is active next; instances run on "
                "error=%s",
                why->text);
    subd_owner_drop(subd);
}

static void on_released(void *arg)
{
    struct subd *subd = arg;
    tf_log_info("gave the prefix up");
    if (subd->stopped)
        subd->stopped(subd->stopped_arg);
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

int subd_owner_start(struct subd *subd, struct tf_error *err)
{
    char host[256] = "?";
    gethostname(host, sizeof host - 1);
    TF_AUTO_FREE char *who = tf_asprintf("%s:%d", host, (int)getpid());
    const struct tf_keep_options options = {
        .store = subd->store,
        .prefix = subd->config.store.prefix,
        .owner_name = "owner",
        .owner_value = tf_bytes_of(who),
        .ttl_ms = subd->config.settings.lease_ttl,
        .timeout_ms = subd->config.store.timeout,
        .accept_rollback = subd->accept_rollback,
    };
    subd->keep = tf_keep_create(subd->loop, &options, &events, subd, err);
    return subd->keep ? 0 : -1;
}

void subd_owner_release(struct subd *subd)
{
    subd_owner_drop(subd);
    tf_keep_release(subd->keep);
}
