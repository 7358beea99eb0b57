/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/random_model.h"

#include "common/base/cleanup.h"
#include "tests/support/random_words.h"

int64_t random_range(struct tf_rng *r, int64_t low, int64_t high)
{
    int64_t small = tf_rng_range(r, 0, 300);
    switch (tf_rng_below(r, 8)) {
    case 0:
        return low;
    case 1:
        return high;
    case 2:
    case 3:
    case 4:
        if (small >= low && small <= high)
            return small;
        break;
    default:
        break;
    }
    return tf_rng_range(r, low, high);
}

uint64_t random_counter(struct tf_rng *r)
{
    return (uint64_t)R(0, INT64_C(1) << 62);
}

char *random_name(struct tf_rng *r)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
    char name[TF_NAME_MAX + 1];
    size_t len = (size_t)tf_rng_range(r, 1, tf_rng_below(r, 8) == 0 ? TF_NAME_MAX : 12);
    for (size_t i = 0; i < len; i++) {
        bool inside = i > 0 && i + 1 < len && name[i - 1] != '.' && name[i - 1] != '-';
        name[i] = letters[tf_rng_below(r, inside ? 38 : 36)];
    }
    name[len] = '\0';
    return tf_strdup(name);
}

char *random_text(struct tf_rng *r)
{
    static const char *const pieces[] = {"a",    "Z", "0",        " ",   "\n",           "\"",
                                         "\x01", "/", "\xc3\xa9", "\t",  "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                                         "=",    "{", "%s",       "\x7f"};
    char text[4 * 40 + 1];
    size_t len = 0;
    for (int64_t n = tf_rng_range(r, 1, 40); n > 0; n--) {
        const char *piece = pieces[tf_rng_below(r, TF_ARRAY_LEN(pieces))];
        memcpy(text + len, piece, strlen(piece));
        len += strlen(piece);
    }
    text[len] = '\0';
    return tf_strdup(text);
}

char *random_optional(struct tf_rng *r)
{
    return tf_rng_below(r, 4) == 0 ? NULL : TEXT;
}

static char *optional_name(struct tf_rng *r)
{
    return tf_rng_below(r, 4) == 0 ? NULL : NAME;
}

static void add_string(struct tf_rng *r, char **s)
{
    *s = tf_rng_below(r, 8) == 0 ? tf_strdup("") : TEXT;
}

void random_strs(struct tf_rng *r, struct tf_strs *out)
{
    *out = (struct tf_strs){0};
    RANDOM_LIST(r, out, add_string);
}

void random_pairs(struct tf_rng *r, struct tf_pairs *out)
{
    *out = (struct tf_pairs){0};
    for (uint64_t n = tf_rng_below(r, 4); n > 0; n--) {
        char *key = TEXT, *value = NULL;
        add_string(r, &value);
        tf_pairs_set(out, key, value);
        free(key);
        free(value);
    }
}

struct tf_uid random_uid(struct tf_rng *r)
{
    struct tf_uid uid;
    for (size_t i = 0; i < TF_UID_BYTES; i++)
        uid.bytes[i] = (uint8_t)tf_rng_below(r, 256);
    uid.bytes[0] |= 1;
    return uid;
}

struct tf_wall random_wall(struct tf_rng *r)
{
    return (struct tf_wall){tf_rng_below(r, 4) == 0 ? 0 : tf_rng_range(r, 1, INT64_C(1) << 52)};
}

struct tf_vector random_vector(struct tf_rng *r)
{
    return (struct tf_vector){COUNT, COUNT, QUANTITY, QUANTITY};
}

struct tf_generation random_generation(struct tf_rng *r)
{
    return (struct tf_generation){COUNTER, COUNTER};
}

static struct tf_term random_term(struct tf_rng *r)
{
    return (struct tf_term){COUNTER, COUNTER};
}

struct tf_health_counts random_health(struct tf_rng *r)
{
    return (struct tf_health_counts){COUNT, COUNT, COUNT, COUNT, COUNT, COUNT,
                                     COUNT, COUNT, COUNT, COUNT, COUNT, COUNT};
}

struct tf_idle_causes random_idle(struct tf_rng *r)
{
    return (struct tf_idle_causes){COUNT, COUNT, COUNT, COUNT, COUNT, COUNT, COUNT};
}

/* ---- jobs ---- */

static void random_topology_rule(struct tf_rng *r, struct tf_topology_rule *out)
{
    *out = (struct tf_topology_rule){OPTIONAL, TEXT, UP_TO(TF_TOPOLOGY_OF_STEP), UP_TO(TF_TOPOLOGY_PREFER)};
}

static struct tf_group group(struct tf_rng *r)
{
    struct tf_group out = {{R32(0, TF_NODE_GPUS_MAX), LATER, QUANTITY, QUANTITY, QUANTITY},
                           OPTIONAL,
                           LATER,
                           LATER,
                           LATER,
                           TIME,
                           TIME,
                           {LATER, TIME, TIME}};
    random_strs(r, &out.shape.gpu_models);
    random_strs(r, &out.command);
    random_pairs(r, &out.env);
    random_strs(r, &out.ports);
    random_strs(r, &out.ready.command);
    return out;
}

void random_job_spec(struct tf_rng *r, struct tf_job_spec *out)
{
    *out = (struct tf_job_spec){
        OPTIONAL,
        UP_TO(TF_WORKLOAD_DEBUG),
        {INSTANCES, INSTANCES, INSTANCES},
        UP_TO(TF_BELOW_MIN_STOP),
        UP_TO(TF_GROW_NEVER),
        group(r),
        LATER,
        LATER,
        COUNT, /* max_nodes */
        UP_TO(TF_ON_RESIZE_RESTART),
        OPTIONAL,
        UP_TO(TF_MIGRATION_NEVER),
        INSTANCES, /* ready_min */
        TIME,
        TIME,
        COUNT,
        TIME,
        UP_TO(TF_COMPLETION_RANK0),
        TIME,
        LATER,
        LATER,
        UP_TO(TF_CLUSTER_LOST_RESTART),
        {TIME, {OPTIONAL, OPTIONAL, OPTIONAL}},
    };
    RANDOM_LIST(r, &out->topology, random_topology_rule);
    random_pairs(r, &out->node_labels);
    random_strs(r, &out->clusters);
    random_strs(r, &out->regions);
}

static struct tf_job_spec spec(struct tf_rng *r)
{
    struct tf_job_spec out;
    random_job_spec(r, &out);
    return out;
}

static const struct tf_job_spec *shared_spec(struct tf_rng *r)
{
    struct tf_job_spec out = spec(r);
    return tf_spec_share(&out);
}

void random_job_manifest(struct tf_rng *r, struct tf_job_manifest *out)
{
    *out = (struct tf_job_manifest){NAME, NAME, LATER, spec(r)};
    random_pairs(r, &out->labels);
}

/* Often like that of another: names are packed by what they share with the one before. */
static char *node_name(struct tf_rng *r)
{
    return BOOL ? tf_asprintf("node-%d", (int)tf_rng_below(r, 100)) : optional_name(r);
}

void random_member(struct tf_rng *r, struct tf_member *out)
{
    *out = (struct tf_member){UP_TO(TF_INSTANCES_MAX - 1),
                              (uint32_t)R(0, UINT32_MAX),
                              node_name(r),
                              tf_rng_next(r),
                              INSTANCES,
                              UP_TO(TF_MEMBER_MISSING),
                              WALL,
                              WALL,
                              WALL,
                              WALL,
                              R32(INT32_MIN, INT32_MAX),
                              UP_TO(TF_MEMBER_MOVES_OUT),
                              (uint32_t)R(0, UINT32_MAX),
                              LATER};
    random_strs(r, &out->ports);
}

void random_ended(struct tf_rng *r, struct tf_ended *out)
{
    *out = (struct tf_ended){COUNTER,
                             UP_TO(TF_END_UNKNOWN),
                             UP_TO(TF_REASON_NO_CLUSTERS),
                             WALL,
                             R32(INT32_MIN, INT32_MAX),
                             COUNT,
                             OPTIONAL,
                             OPTIONAL,
                             COUNT,
                             R(0, INT64_MAX)};
}

static struct tf_ended ended(struct tf_rng *r)
{
    struct tf_ended out;
    random_ended(r, &out);
    return out;
}

void random_job_event(struct tf_rng *r, struct tf_job_event *out)
{
    *out = (struct tf_job_event){WALL, COUNTER, NAME, OPTIONAL, (uint32_t)R(0, UINT32_MAX)};
}

static void random_note(struct tf_rng *r, struct tf_note *out)
{
    *out = (struct tf_note){FROM_1(TF_NOTE_LAST), OPTIONAL};
}

/* ---- capacity ---- */

void random_node(struct tf_rng *r, struct tf_node *out)
{
    *out = (struct tf_node){NAME,
                            OPTIONAL,
                            OPTIONAL,
                            QUANTITY,
                            random_vector(r),
                            LATER,
                            LATER,
                            {tf_rng_next(r), COUNT, QUANTITY, QUANTITY},
                            tf_rng_next(r),
                            tf_rng_next(r),
                            UP_TO(TF_NODE_DRAINING)};
    random_pairs(r, &out->labels);
    random_strs(r, &out->domains);
}

static void random_plane(struct tf_rng *r, struct tf_plane *out)
{
    *out = (struct tf_plane){OPTIONAL, LATER};
    random_strs(r, &out->levels);
}

static void random_class(struct tf_rng *r, struct tf_node_class *out)
{
    *out = (struct tf_node_class){OPTIONAL, QUANTITY, LATER, LATER};
    random_strs(r, &out->domains);
    random_pairs(r, &out->labels);
}

static void random_level_vector(struct tf_rng *r, struct tf_level_vector *out)
{
    *out = (struct tf_level_vector){(tf_level)tf_rng_below(r, TF_LEVEL_TOP + 1), random_vector(r)};
}

static void random_reserved(struct tf_rng *r, struct tf_reserved *out)
{
    *out = (struct tf_reserved){random_uid(r), (tf_level)R(2, TF_LEVEL_TOP), random_vector(r)};
}

static void random_row(struct tf_rng *r, struct tf_profile_row *out)
{
    int rank = (int)tf_rng_range(r, -1, TF_CLASSES_MAX - 1);
    *out = (struct tf_profile_row){(uint32_t)R(0, TF_PROFILE_ROWS_MAX - 1),
                                   (uint32_t)R(0, UINT32_MAX),
                                   COUNT,
                                   LATER,
                                   rank,
                                   {rank < 0 ? 0 : WALL.ms},
                                   LATER};
    RANDOM_LIST(r, &out->levels, random_level_vector);
    RANDOM_LIST(r, &out->reserved, random_reserved);
}

static void random_short(struct tf_rng *r, struct tf_short_demand *out)
{
    *out = (struct tf_short_demand){random_uid(r), R32(0, TF_CLASSES_MAX - 1), INSTANCES, INSTANCES};
}

static void random_cost(struct tf_rng *r, struct tf_level_cost *out)
{
    *out = (struct tf_level_cost){(tf_level)tf_rng_below(r, TF_LEVEL_TOP + 1), R(1, TF_COST_GPUS_MAX), WALL,
                                  R(0, INT64_MAX)};
}

static void random_vacatable(struct tf_rng *r, struct tf_vacatable *out)
{
    *out = (struct tf_vacatable){(uint32_t)R(0, TF_PROFILE_CLASSES_MAX - 1),
                                 R32(0, TF_PROFILE_ROWS_MAX),
                                 {COUNT, COUNT, QUANTITY, QUANTITY},
                                 R(0, TF_GPU_SECONDS_MAX)};
}

static void random_emptying(struct tf_rng *r, struct tf_emptying *out)
{
    *out = (struct tf_emptying){random_uid(r),
                                random_text(r),
                                (uint32_t)R(0, TF_PROFILE_CLASSES_MAX - 1),
                                R32(0, TF_PROFILE_ROWS_MAX),
                                {COUNT, COUNT, QUANTITY, QUANTITY}};
}

void random_profile(struct tf_rng *r, struct tf_profile *out)
{
    *out = (struct tf_profile){random_generation(r),
                               random_generation(r),
                               BOOL,
                               random_term(r),
                               COUNTER,
                               LATER,
                               LATER,
                               LATER,
                               LATER,
                               LATER,
                               random_idle(r),
                               random_health(r),
                               LATER,
                               LATER,
                               LATER,
                               COUNT,
                               TIME};
    RANDOM_LIST(r, &out->planes, random_plane);
    RANDOM_LIST(r, &out->classes, random_class);
    RANDOM_LIST(r, &out->rows, random_row);
    RANDOM_LIST(r, &out->shorts, random_short);
    RANDOM_LIST(r, &out->costs, random_cost);
    RANDOM_LIST(r, &out->vacatable, random_vacatable);
    random_strs(r, &out->moving_for);
    RANDOM_LIST(r, &out->emptying, random_emptying);
}

/* ---- records ---- */

void random_freeze(struct tf_rng *r, struct tf_freeze *out)
{
    *out = (struct tf_freeze){(enum tf_frozen)(TF_FROZEN_EVICTIONS << tf_rng_below(r, 3)),
                              optional_name(r),
                              WALL,
                              {0},
                              OPTIONAL,
                              OPTIONAL};
    out->until.ms = out->since.ms + R(1, TF_FREEZE_LONGEST);
}

static void random_shape_asked(struct tf_rng *r, struct tf_shape_asked *out)
{
    *out = (struct tf_shape_asked){shared_spec(r), R32(1, INT32_MAX), BOOL};
}

void random_policy(struct tf_rng *r, struct tf_policy *out)
{
    *out = (struct tf_policy){COUNTER, LATER, optional_name(r),
                              LATER,   COUNT, TIME,
                              TIME,    TIME,  TIME,
                              TIME,    TIME,  TIME,
                              TIME,    TIME,  COUNT,
                              COUNT,   COUNT, UP_TO(TF_CONSOLIDATE_ON),
                              TIME,    COUNT, LATER,
                              LATER};
    for (uint64_t n = tf_rng_below(r, 4); n > 0; n--) {
        char *name = NAME;
        if (tf_classes_rank(&out->classes, name) < 0)
            tf_classes_add(&out->classes, name, R32(INT32_MIN, INT32_MAX));
        free(name);
    }
    random_strs(r, &out->schedule_labels);
    RANDOM_LIST(r, &out->freezes, random_freeze);
    RANDOM_LIST(r, &out->shapes, random_shape_asked);
}

static struct tf_policy policy(struct tf_rng *r)
{
    struct tf_policy out;
    random_policy(r, &out);
    return out;
}

static void random_evicted_hour(struct tf_rng *r, struct tf_evicted_hour *out)
{
    *out = (struct tf_evicted_hour){WALL, R32(0, TF_EVICTED_MAX)};
}

static struct tf_evicted evicted(struct tf_rng *r)
{
    struct tf_evicted out = {0};
    RANDOM_LIST(r, &out, random_evicted_hour);
    return out;
}

static void random_placement(struct tf_rng *r, struct tf_placement *out)
{
    *out = (struct tf_placement){COUNTER,
                                 NAME,
                                 INSTANCES,
                                 OPTIONAL,
                                 UP_TO(TF_PHASE_DELETED),
                                 WALL,
                                 WALL,
                                 WALL,
                                 UP_TO(TF_RELEASE_MOVE),
                                 (tf_level)tf_rng_below(r, TF_LEVEL_TOP + 1),
                                 COUNTER,
                                 (uint32_t)R(0, UINT32_MAX)};
}

struct tf_cross random_cross(struct tf_rng *r)
{
    if (BOOL)
        return (struct tf_cross){0};
    return (struct tf_cross){FROM_1(TF_CROSS_ROLLED_BACK),
                             UP_TO(TF_PHASE_DELETED),
                             UP_TO(TF_CROSS_BY_RESTORE),
                             NAME,
                             NAME,
                             COUNTER,
                             COUNTER,
                             WALL,
                             WALL,
                             WALL,
                             OPTIONAL,
                             OPTIONAL,
                             OPTIONAL};
}

static void random_refusal(struct tf_rng *r, struct tf_refusal *out)
{
    *out = (struct tf_refusal){NAME, UP_TO(TF_REASON_NO_CLUSTERS), OPTIONAL, R32(0, 1 << 30), WALL};
}

void random_job_record(struct tf_rng *r, struct tf_job_record *out)
{
    *out = (struct tf_job_record){
        random_uid(r),
        NAME,
        NAME,
        LATER,
        shared_spec(r),
        OPTIONAL,
        WALL,
        FROM_1(TF_PHASE_DELETED),
        BOOL,
        BOOL,
        COUNTER,
        LATER,
        LATER,
        LATER,
        COUNTER,
        R32(0, 1 << 30), /* retries_used */
        R32(0, 1 << 30),
        R32(0, 1 << 30),
        R32(0, 1 << 30),
        R(0, INT64_MAX),
        WALL,
        WALL,
        R32(INT32_MIN, INT32_MAX),
        OPTIONAL,
        OPTIONAL,
        NAME,
        COUNTER,
        BOOL ? random_uid(r) : (struct tf_uid){{0}},
        INSTANCES,
        optional_name(r),
        WALL,
        R(0, TF_GPU_SECONDS_MAX),
        WALL,
        evicted(r),
        random_cross(r),
    };
    random_pairs(r, &out->labels);
    RANDOM_LIST(r, &out->placements, random_placement);
    RANDOM_LIST(r, &out->refusals, random_refusal);
    RANDOM_LIST(r, &out->events, random_job_event);
}

static void random_left_alone(struct tf_rng *r, struct tf_left_alone *out)
{
    *out = (struct tf_left_alone){random_uid(r), COUNTER};
}

static void random_cluster_record(struct tf_rng *r, struct tf_cluster_record *out)
{
    *out = (struct tf_cluster_record){NAME,    OPTIONAL, LATER, BOOL,    OPTIONAL, WALL,
                                      COUNTER, BOOL,     LATER, COUNTER, LATER};
    RANDOM_LIST(r, &out->events, random_job_event);
    RANDOM_LIST(r, &out->left_alone, random_left_alone);
    random_pairs(r, &out->labels);
}

static void random_claim(struct tf_rng *r, struct tf_claim *out)
{
    *out = (struct tf_claim){NAME, tf_rng_next(r), QUANTITY, QUANTITY, COUNT, WALL};
}

void random_allocation(struct tf_rng *r, struct tf_allocation *out)
{
    *out = (struct tf_allocation){
        random_uid(r),
        NAME,
        NAME,
        UP_TO(TF_ALLOCATION_RESERVED),
        COUNTER,
        random_term(r),
        shared_spec(r),
        WALL,
        WALL,
        WALL,
        INSTANCES,
        OPTIONAL,
        LATER,
        LATER,
        R32(0, 1 << 30), /* retries_used */
        R32(0, 1 << 30),
        evicted(r),
        COUNTER,
        WALL,
        WALL,
        WALL, /* last_checkpoint */
        TIME,
        WALL,
        WALL,
        WALL,
        R32(0, 1 << 30),
        WALL,
        R32(0, 1 << 30),
        (uint32_t)R(0, UINT32_MAX),
        COUNTER,
        COUNTER,
        COUNTER,
        WALL,
        ended(r),
        LATER,
        LATER,
    };
    RANDOM_LIST(r, &out->members, random_member);
    RANDOM_LIST(r, &out->claims, random_claim);
    RANDOM_LIST(r, &out->ended, random_ended);
    RANDOM_LIST(r, &out->notes, random_note);
}

static void random_gpu_cordon(struct tf_rng *r, struct tf_gpu_cordon *out)
{
    *out = (struct tf_gpu_cordon){tf_rng_next(r), OPTIONAL, WALL, UP_TO(TF_GPU_BY_STARTS), BOOL};
}

static void random_gpu_trouble(struct tf_rng *r, struct tf_gpu_trouble *out)
{
    *out = (struct tf_gpu_trouble){R32(0, 63), COUNT, COUNT, random_uid(r)};
}

static void random_domain_cordon(struct tf_rng *r, struct tf_domain_cordon *out)
{
    *out = (struct tf_domain_cordon){NAME, OPTIONAL, WALL};
}

void random_cordon(struct tf_rng *r, struct tf_cordon *out)
{
    *out = (struct tf_cordon){optional_name(r),          BOOL,     OPTIONAL, WALL,  0,     WALL,
                              {BOOL, BOOL, COUNT, WALL}, OPTIONAL, BOOL,     LATER, LATER, LATER};
    out->verdict = (enum tf_verdict)tf_rng_below(r, TF_VERDICT_LOST + 1);
    RANDOM_LIST(r, &out->gpus, random_gpu_cordon);
    RANDOM_LIST(r, &out->trouble, random_gpu_trouble);
    RANDOM_LIST(r, &out->domains, random_domain_cordon);
}

static void random_leaders(struct tf_rng *r, struct tf_leaders *out)
{
    struct tf_term term = {0};
    for (uint64_t n = tf_rng_below(r, 4); n > 0; n--) {
        term.revision += 1 + tf_rng_below(r, 1000);
        tf_leaders_add(out, (struct tf_leader){term, COUNTER});
    }
}

static void random_move(struct tf_rng *r, struct tf_move *out)
{
    *out = (struct tf_move){random_uid(r),
                            NAME,
                            NAME,
                            COUNTER,
                            UP_TO(TF_INSTANCES_MAX - 1),
                            (uint32_t)R(0, UINT32_MAX),
                            BOOL,
                            NAME,
                            optional_name(r),
                            {0},
                            UP_TO(TF_MOVE_ROLLED_BACK),
                            WALL,
                            WALL,
                            WALL,
                            WALL,
                            WALL,
                            WALL,
                            OPTIONAL};
    if (BOOL)
        random_claim(r, &out->claim);
}

void random_migration(struct tf_rng *r, struct tf_migration *out)
{
    *out = (struct tf_migration){
        random_uid(r), UP_TO(TF_MOVE_BY_DEFRAG), OPTIONAL, OPTIONAL, OPTIONAL, WALL, WALL, WALL, BOOL, LATER,
        LATER};
    RANDOM_LIST(r, &out->moves, random_move);
    random_strs(r, &out->empties);
}

void random_record(struct tf_rng *r, enum tf_record_kind kind, struct tf_record *out)
{
    *out = (struct tf_record){.kind = kind};
    switch (kind) {
    case TF_RECORD_EPOCH:
    case TF_RECORD_FLOOR:
    case TF_RECORD_ROLLBACK:
        out->number = COUNTER;
        break;
    case TF_RECORD_TERM:
        out->term = random_term(r);
        break;
    case TF_RECORD_JOB:
        random_job_record(r, &out->job);
        break;
    case TF_RECORD_CLUSTER:
        random_cluster_record(r, &out->cluster);
        break;
    case TF_RECORD_SUMMARY:
        out->summary = (struct tf_summary_record){NAME, WALL, random_generation(r), random_health(r)};
        break;
    case TF_RECORD_POLICY:
        random_policy(r, &out->policy);
        break;
    case TF_RECORD_ALLOCATION:
        random_allocation(r, &out->allocation);
        break;
    case TF_RECORD_CORDON:
        random_cordon(r, &out->cordon);
        free(out->cordon.node);
        out->cordon.node = NAME;
        break;
    case TF_RECORD_FREEZE:
        random_freeze(r, &out->freeze);
        break;
    case TF_RECORD_NODE_CLAIM:
        out->node_claim = (struct tf_node_claim){random_uid(r), NAME, NAME, shared_spec(r), LATER, WALL};
        random_strs(r, &out->node_claim.nodes);
        break;
    case TF_RECORD_LEADERS:
        random_leaders(r, &out->leaders);
        break;
    case TF_RECORD_MIGRATION:
        random_migration(r, &out->migration);
        break;
    case TF_RECORD_EVICTIONS:
        out->evictions = (struct tf_eviction_count){WALL, (uint32_t)UP_TO(1000)};
        break;
    case TF_RECORD_NONE:
        break;
    }
}

/* ---- messages ---- */

static void random_hello(struct tf_rng *r, struct tf_hello *out)
{
    *out = (struct tf_hello){
        (uint32_t)R(0, UINT32_MAX), NAME,    OPTIONAL, OPTIONAL, LATER, COUNTER, random_term(r), COUNTER,
        (uint32_t)R(0, UINT32_MAX), OPTIONAL};
    random_pairs(r, &out->labels);
}

static void random_report(struct tf_rng *r, struct tf_report *out)
{
    *out = (struct tf_report){random_uid(r),
                              COUNTER,
                              optional_name(r),
                              optional_name(r),
                              UP_TO(TF_PHASE_DELETED),
                              ended(r),
                              OPTIONAL,
                              INSTANCES,
                              INSTANCES,
                              WALL,
                              WALL,
                              R32(0, 1 << 30),
                              R32(0, 1 << 30),
                              INSTANCES,
                              COUNTER,
                              COUNTER,
                              COUNTER,
                              WALL,
                              TIME,
                              LATER,
                              LATER,
                              (uint32_t)R(0, UINT32_MAX)};
    RANDOM_LIST(r, &out->members, random_member);
    RANDOM_LIST(r, &out->notes, random_note);
}

static void random_answer(struct tf_rng *r, struct tf_answer *out)
{
    *out =
        (struct tf_answer){COUNTER, NULL, (size_t)tf_rng_below(r, 40), (int32_t)R(0, TF_ERR_BUG), OPTIONAL};
    out->data = out->len ? tf_malloc(out->len) : NULL;
    for (size_t i = 0; i < out->len; i++)
        out->data[i] = (char)tf_rng_below(r, 256);
}

void random_up(struct tf_rng *r, enum tf_up_kind kind, struct tf_up *out)
{
    *out = (struct tf_up){.kind = kind};
    switch (kind) {
    case TF_UP_HELLO:
        random_hello(r, &out->hello);
        break;
    case TF_UP_PROFILE:
        random_profile(r, &out->profile);
        break;
    case TF_UP_REPORT:
        random_report(r, &out->report);
        break;
    case TF_UP_FENCE:
        out->fence_boot_ms = TIME;
        break;
    case TF_UP_ANSWER:
        random_answer(r, &out->answer);
        break;
    case TF_UP_STORE:
        out->store.text = OPTIONAL;
        break;
    case TF_UP_LISTED:
    case TF_UP_NONE:
        break;
    }
}

static void random_ref(struct tf_rng *r, struct tf_reservation_ref *out)
{
    *out = (struct tf_reservation_ref){random_uid(r)};
}

static int by_uid(const void *a, const void *b)
{
    return tf_uid_cmp(((const struct tf_reservation_ref *)a)->uid,
                      ((const struct tf_reservation_ref *)b)->uid);
}

void random_entry(struct tf_rng *r, struct tf_entry *out)
{
    *out = (struct tf_entry){FROM_1(TF_ENTRY_CLAIM),
                             random_uid(r),
                             COUNTER,
                             NAME,
                             NAME,
                             shared_spec(r),
                             INSTANCES,
                             OPTIONAL,
                             WALL,
                             R32(0, 1 << 30),
                             (tf_level)R32(0, TF_LEVEL_TOP),
                             R32(0, 1 << 30),
                             evicted(r),
                             LATER,
                             UP_TO(TF_RELEASE_MOVE),
                             COUNTER,
                             COUNTER,
                             R(0, INT64_C(1) << 40),
                             R(0, TF_GPU_SECONDS_MAX)};
    RANDOM_LIST(r, &out->reservations, random_ref);
    if (out->reservations.count > 1)
        qsort(out->reservations.items, out->reservations.count, sizeof *out->reservations.items, by_uid);
}

void random_defrag_order(struct tf_rng *r, struct tf_defrag_order *out)
{
    *out = (struct tf_defrag_order){.apply = BOOL,
                                    .id = random_uid(r),
                                    .digest = tf_rng_next(r),
                                    .model = OPTIONAL,
                                    .worst = COUNT,
                                    .want = COUNT,
                                    .total = BOOL,
                                    .gpus = R32(0, 64),
                                    .cpu = QUANTITY,
                                    .memory = QUANTITY,
                                    .plane = OPTIONAL,
                                    .within = OPTIONAL,
                                    .max_moves = COUNT,
                                    .may_restart = BOOL,
                                    .reason = OPTIONAL,
                                    .user = OPTIONAL,
                                    .for_job = OPTIONAL};
    random_strs(r, &out->nodes);
}

void random_migrate_order(struct tf_rng *r, struct tf_migrate_order *out)
{
    *out = (struct tf_migrate_order){
        UP_TO(TF_MIGRATE_ABORT), random_uid(r),    random_uid(r), BOOL,     UP_TO(TF_INSTANCES_MAX - 1),
        optional_name(r),        optional_name(r), BOOL,          OPTIONAL, OPTIONAL};
}

void random_down(struct tf_rng *r, struct tf_down *out)
{
    *out = (struct tf_down){FROM_1(TF_DOWN_POLICY),
                            random_term(r),
                            COUNTER,
                            COUNTER,
                            COUNTER,
                            policy(r),
                            LATER,
                            TIME,
                            {COUNTER,
                             UP_TO(TF_ASK_CONFIRM_LOST),
                             random_uid(r),
                             COUNTER,
                             UP_TO(TF_INSTANCES_MAX - 1),
                             BOOL,
                             R(-1, INT64_MAX),
                             optional_name(r),
                             tf_rng_next(r),
                             BOOL,
                             BOOL,
                             OPTIONAL,
                             (uint32_t)R(0, UINT32_MAX),
                             {BOOL, BOOL, BOOL, COUNT, TIME},
                             LATER,
                             NULL,
                             0,
                             LATER,
                             LATER,
                             OPTIONAL},
                            random_generation(r)};
    if (BOOL)
        random_entry(r, tf_vec_add(&out->ask.place));
    if (BOOL) {
        out->ask.data = TEXT;
        out->ask.len = strlen(out->ask.data);
    }
    if (BOOL)
        random_migrate_order(r, tf_vec_add(&out->ask.migrate));
    if (BOOL)
        random_defrag_order(r, tf_vec_add(&out->ask.defrag));
    RANDOM_LIST(r, &out->entries, random_entry);
}
