/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what people order of a subcluster, and that its answer is told to whoever listens. */
#include "tools/fedsim/operator.h"

#include "common/base/buf.h"
#include "common/wire/attach.h"
#include "tools/fedsim/world.h"

#include <string.h>

uint64_t operator_asks(struct sim_subd *subd, const struct tf_ask *ask)
{
    struct sim_world *world = subd->site->world;
    struct tf_down down = {.kind = TF_DOWN_ASK, .term = subd->term};
    struct tf_buf bytes = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    tf_ask_copy(&down.ask, ask);
    uint64_t id = down.ask.id = SIM_OPERATOR_CALLS | ++world->operator.calls;
    if (tf_wire_down_pack(&down, &bytes, &err))
        world_breach(world, "a question of people cannot be written: %s", err.text);
    else {
        size_t len = bytes.len;
        link_send(&subd->link->down, tf_buf_take(&bytes), len);
    }
    tf_buf_release(&bytes);
    tf_down_release(&down);
    return id;
}

bool operator_is_heard(const struct sim_subd *subd)
{
    return subd->link && subd->link->subd_open && subd->term.revision;
}

/* ---- answers ---- */

static void order(struct sim_subd *subd, const struct tf_ask *ask, struct tf_uid id)
{
    const struct sim_asked asked = {operator_asks(subd, ask), id};
    tf_vec_push(&subd->site->world->operator.asked, asked);
}

void operator_is_answered(const struct sim_subd *subd, const struct tf_answer *answer)
{
    struct sim_world *world = subd->site->world;
    tf_vec_each (asked, &world->operator.asked)
        if (asked->ask == answer->id)
            world_tell(world, &(struct sim_fact){.kind = SIM_FACT_ORDERED,
                                                 .site = subd->site,
                                                 .order = asked->order,
                                                 .code = (enum tf_error_code)answer->code,
                                                 .text = answer->text ? answer->text : ""});
}

/* ---- moves ---- */

size_t operator_orders_move(struct sim_world *world, const struct tf_migrate_order *wanted)
{
    struct tf_migrate_order lent = *wanted;
    const struct tf_ask ask = {.kind = TF_ASK_MIGRATE, .migrate = {&lent, 1, 1}};
    size_t heard = 0;
    tf_vec_each (site, &world->sites)
        tf_vec_each (subd, &(*site)->subds)
            if (operator_is_heard(*subd)) {
                if (wanted->verb == TF_MIGRATE_BEGIN)
                    order(*subd, &ask, wanted->id);
                else
                    operator_asks(*subd, &ask);
                heard++;
            }
    return heard;
}

/* Once the moves have begun, as fedd does it: what they free is kept for who it is for. */
static void send_claim(struct sim_site *site, const char *job)
{
    struct sim_world *world = site->world;
    struct sim_fedd *leader = world_leader(world);
    const char *slash = strchr(job, '/');
    struct fed_event event = {.kind = FED_EV_CLAIM};
    if (!leader || !slash || process_is_paused(&leader->process))
        return;
    event.claim.tenant = tf_strndup(job, (size_t)(slash - job));
    event.claim.name = tf_strdup(slash + 1);
    event.claim.cluster = tf_strdup(site->name);
    event.claim.lasts = TF_HOUR;
    fedd_request(leader, SIM_OPERATOR_CALLS | ++world->operator.calls, event);
}

bool operator_defrags(struct sim_site *site, const struct tf_defrag_order *wanted,
                      struct tf_defrag_plan *plan)
{
    struct tf_defrag_order lent = *wanted;
    const struct tf_ask ask = {.kind = TF_ASK_DEFRAG, .defrag = {&lent, 1, 1}};
    bool heard = false;
    *plan = (struct tf_defrag_plan){0};
    tf_vec_each (subd, &site->subds) {
        if (!operator_is_heard(*subd) || !(*subd)->core)
            continue;
        heard = true;
        tf_defrag_plan_release(plan);
        sub_plan_defrag((*subd)->core, process_now(&(*subd)->process), wanted, plan);
        lent.apply = true;
        lent.digest = plan->digest;
        if (plan->moves.count)
            order(*subd, &ask, wanted->id);
        if (plan->moves.count && wanted->for_job)
            send_claim(site, wanted->for_job);
    }
    return heard;
}
