/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the reason by asking the count the same question with one obstacle after the other taken away, then
 * says it with numbers of nodes. */
#include "common/fit/explain.h"

#include "common/base/buf.h"
#include "common/base/text.h"
#include "common/fit/private.h"

/* What one look over the rows tells. Nodes are counted that are for the demand: model, memory, labels. */
struct survey {
    int32_t of_model, of_memory;  /* nodes of a model of the list; of these, with the GPU memory */
    int32_t suited, healthy;      /* of these, with the labels; of these, that have anything when empty */
    int32_t largest;              /* instances on the best of them when empty */
    int32_t ready, gpus_only;     /* that hold an instance now; that have its GPUs now, but not the rest */
    struct tf_vector empty, rest; /* the most, a dimension, when empty; of the gpus_only nodes, now */
};

struct question {
    const struct tf_fit_view *view;
    const struct tf_demand *demand;
    struct tf_fit_scratch *scratch;
};

static bool of_model(const struct tf_demand *demand, int32_t model)
{
    if (demand->need.gpus == 0)
        return true;
    tf_vec_each (m, &demand->models)
        if (*m == model)
            return true;
    return false;
}

static struct tf_vector gpus_of(struct tf_vector need)
{
    return (struct tf_vector){.gpus = need.gpus, .slots = need.slots};
}

static void survey_suited(const struct question *q, const struct tf_profile_row *row, tf_level level,
                          struct survey *s)
{
    struct tf_vector empty = tf_profile_row_at(row, TF_LEVEL_TOP);
    struct tf_vector now = tf_demand_have(q->demand, row, level);
    int32_t cap = tf_vector_count(q->demand->need, empty);
    s->suited += row->count;
    s->healthy += empty.slots > 0 ? row->count : 0;
    s->largest = cap > s->largest ? cap : s->largest;
    s->empty = tf_vector_max(s->empty, empty);
    if (tf_vector_fits(q->demand->need, now)) {
        s->ready += row->count;
    } else if (now.gpus >= q->demand->need.gpus) {
        s->gpus_only += row->count;
        s->rest = tf_vector_max(s->rest, now);
    }
}

static struct survey look(const struct question *q, tf_level level)
{
    struct survey s = {0};
    struct tf_demand flat = *q->demand;
    flat.rules.count = 0;
    for (size_t i = 0; i < q->view->count; i++) {
        const struct tf_profile_row *row = &q->view->rows[i];
        const struct tf_class_info *class = &q->view->catalog->classes.items[row->class];
        if (row->count == 0 || !of_model(&flat, class->model))
            continue;
        s.of_model += row->count;
        s.of_memory += class->gpu_memory >= flat.gpu_memory ? row->count : 0;
        if (tf_demand_admits(&flat, q->view->catalog, row->class) >= 0)
            survey_suited(q, row, level, &s);
    }
    return s;
}

/* What is taken away of the demand before it is counted. */
enum { WITHOUT_CLAIMS = 1, WITHOUT_TOPOLOGY = 2, GPUS_ONLY = 4, WITH_PROTECTED = 8 };

/* Counts in single instances, where no rule is about steps: "3 of 4 fit" is more use to a person than "0 of
 * 4". Whether the core fits is the same, as it is a multiple of the step. */
static struct tf_fit ask(const struct question *q, tf_level level, int without)
{
    struct tf_demand asked = *q->demand; /* borrows its lists */
    if (without & WITHOUT_CLAIMS)
        asked.is_core = false;
    if (without & WITHOUT_TOPOLOGY)
        asked.rules.count = 0, asked.max_nodes = 0;
    if (without & GPUS_ONLY)
        asked.need = gpus_of(asked.need);
    if (!fit_has_step_rule(&asked))
        asked.step = 1;
    struct tf_fit fit;
    q->scratch->add_protected = without & WITH_PROTECTED;
    tf_fit_count(q->view, &asked, level, q->scratch, &fit);
    q->scratch->add_protected = false;
    return fit;
}

static enum tf_reason static_reason(const struct question *q, const struct survey *s)
{
    if (s->of_model == 0)
        return q->demand->need.gpus > 0 ? TF_REASON_NO_SUCH_MODEL : TF_REASON_NOT_ENOUGH_NODES;
    if (s->of_memory == 0)
        return TF_REASON_GPU_MEMORY;
    if (s->healthy > 0 && s->largest == 0)
        return TF_REASON_NODE_TOO_SMALL;
    if (!ask(q, TF_LEVEL_TOP, WITHOUT_CLAIMS | WITHOUT_TOPOLOGY).fits)
        return TF_REASON_NOT_ENOUGH_NODES;
    return ask(q, TF_LEVEL_TOP, WITHOUT_CLAIMS).fits ? TF_REASON_NONE : TF_REASON_TOPOLOGY;
}

static enum tf_reason present_reason(const struct question *q, tf_level level)
{
    tf_level may = q->demand->level;
    if (may == TF_LEVEL_FREE) { /* nobody goes for it, whatever they are */
        if (ask(q, level, WITHOUT_CLAIMS).fits)
            return TF_REASON_CLAIMED;
    } else if (q->demand->is_core) {
        if (!ask(q, may, WITHOUT_CLAIMS | WITH_PROTECTED).fits)
            return TF_REASON_HIGHER_PRIORITY;
        if (!ask(q, may, WITHOUT_CLAIMS).fits)
            return TF_REASON_PROTECTED;
        if (!ask(q, may, 0).fits || ask(q, level, WITHOUT_CLAIMS).fits)
            return TF_REASON_CLAIMED;
    }
    bool no_gpus = q->demand->need.gpus == 0;
    return no_gpus || ask(q, level, GPUS_ONLY).fits ? TF_REASON_CPU_MEMORY : TF_REASON_GPUS;
}

static struct tf_wall first_claim(const struct question *q)
{
    struct tf_wall first = {0};
    for (size_t i = 0; i < q->view->count; i++) {
        const struct tf_profile_row *row = &q->view->rows[i];
        if (row->count > 0 && tf_demand_admits(q->demand, q->view->catalog, row->class) >= 0 &&
            tf_demand_barred(q->demand, row) && (first.ms == 0 || row->claim_until.ms < first.ms))
            first = row->claim_until;
    }
    return first;
}

/* ---- words ---- */

static void say_cpu(struct tf_buf *out, int64_t millicores)
{
    if (millicores % 1000 == 0)
        tf_buf_fmt(out, "%lld cores", (long long)(millicores / 1000));
    else
        tf_buf_fmt(out, "%lld.%03lld cores", (long long)(millicores / 1000), (long long)(millicores % 1000));
}

static void say_memory(struct tf_buf *out, int64_t mib)
{
    if (mib >= 1024)
        tf_buf_fmt(out, "%lldGi", (long long)(mib / 1024));
    else
        tf_buf_fmt(out, "%lldMi", (long long)mib);
}

static void say_names(struct tf_buf *out, const struct tf_strs *names)
{
    for (size_t i = 0; i < names->count; i++)
        tf_buf_fmt(out, "%s%s", i == 0 ? "" : i + 1 == names->count ? " or " : ", ", names->items[i]);
}

/* "one instance needs 8 GPUs, 96 cores and 900Gi" */
static void say_vector(struct tf_buf *out, struct tf_vector v)
{
    if (v.gpus > 0)
        tf_buf_fmt(out, "%d GPU%s, ", v.gpus, v.gpus == 1 ? "" : "s");
    say_cpu(out, v.cpu);
    tf_buf_str(out, " and ");
    say_memory(out, v.memory);
}

/* "needs 4 x 8 GPUs of H800" */
static void say_need(struct tf_buf *out, const struct tf_demand *demand, const struct tf_job_spec *spec)
{
    tf_buf_fmt(out, "needs %d x ", demand->core);
    if (demand->need.gpus == 0) {
        say_vector(out, demand->need);
        return;
    }
    tf_buf_fmt(out, "%d GPU%s", demand->need.gpus, demand->need.gpus == 1 ? "" : "s");
    if (spec->group.shape.gpu_models.count > 0) {
        tf_buf_str(out, " of ");
        say_names(out, &spec->group.shape.gpu_models);
    }
}

static const char *nodes(int32_t count)
{
    return count == 1 ? "node" : "nodes";
}

/* "; 3 nodes have them free, 12 more have the GPUs but at most 40 cores and 512Gi" */
static void say_now(struct tf_buf *out, const struct tf_demand *demand, tf_level level,
                    const struct survey *s)
{
    tf_buf_fmt(out, "; %d %s %s %s", s->ready, nodes(s->ready), s->ready == 1 ? "has" : "have",
               level == TF_LEVEL_FREE ? "free room for one instance"
                                      : "room for one instance in what it may take");
    if (s->gpus_only == 0)
        return;
    tf_buf_fmt(out, ", %d more %s", s->gpus_only, s->gpus_only == 1 ? "has" : "have");
    if (demand->need.gpus > 0)
        tf_buf_fmt(out, " the GPU%s but", demand->need.gpus == 1 ? "" : "s");
    if (s->rest.slots < demand->need.slots) {
        tf_buf_str(out, " no slot for another instance");
        return;
    }
    tf_buf_str(out, " at most ");
    say_cpu(out, s->rest.cpu);
    tf_buf_str(out, " and ");
    say_memory(out, s->rest.memory);
}

static void say_labels(struct tf_buf *out, const struct tf_pairs *labels)
{
    for (size_t i = 0; i < labels->count; i++)
        tf_buf_fmt(out, "%s%s=%s", i == 0 ? "" : ", ", labels->items[i].key, labels->items[i].value);
}

static void say_models_here(struct tf_buf *out, const struct tf_fit_view *view)
{
    const struct tf_catalog *catalog = view->catalog;
    size_t said = 0;
    for (int32_t m = 0; (size_t)m < catalog->models.count; m++) {
        bool here = false;
        for (size_t i = 0; i < view->count && !here; i++)
            here = view->rows[i].count > 0 && catalog->classes.items[view->rows[i].class].model == m;
        if (here)
            tf_buf_fmt(out, "%s%s", said++ == 0 ? "; it has " : ", ", tf_intern_text(&catalog->models, m));
    }
    if (said == 0)
        tf_buf_str(out, "; it has no GPUs");
}

static void say_too_few(struct tf_buf *out, const struct tf_job_spec *spec, const struct survey *s,
                        int32_t fit)
{
    if (s->suited == 0) {
        tf_buf_str(out, "; no node");
        if (spec->node_labels.count > 0) {
            tf_buf_str(out, " of that kind has the labels ");
            say_labels(out, &spec->node_labels);
        } else {
            tf_buf_str(out, " is there");
        }
    } else if (s->healthy == 0) {
        tf_buf_fmt(out, "; none of its %d %s is ready", s->suited, nodes(s->suited));
    } else {
        tf_buf_fmt(out, "; its %d ready %s would hold %d if nothing else ran", s->healthy, nodes(s->healthy),
                   fit);
    }
}

static void say_rules(struct tf_buf *out, const struct tf_job_spec *spec)
{
    const char *and = "";
    tf_vec_each (rule, &spec->topology) {
        if (rule->mode == TF_TOPOLOGY_PREFER)
            continue;
        tf_buf_fmt(out, "%s%s in one %s", and, rule->of == TF_TOPOLOGY_OF_STEP ? "each step" : "all",
                   rule->within);
        and = ", ";
    }
    if (spec->max_nodes > 0)
        tf_buf_fmt(out, "%son at most %d %s", and, spec->max_nodes, nodes(spec->max_nodes));
}

static void say(struct tf_buf *out, const struct question *q, tf_level level, const struct tf_job_spec *spec,
                const struct survey *s, const struct tf_fit_why *why)
{
    const struct tf_demand *demand = q->demand;
    if (why->reason == TF_REASON_NODE_TOO_SMALL) {
        tf_buf_str(out, "one instance needs ");
        say_vector(out, demand->need);
        tf_buf_str(out, "; the most that its empty nodes of that kind have is ");
        say_vector(out, s->empty);
        return;
    }
    say_need(out, demand, spec);
    switch (why->reason) {
    case TF_REASON_NO_SUCH_MODEL:
        say_models_here(out, q->view);
        break;
    case TF_REASON_GPU_MEMORY:
        tf_buf_str(out, " with ");
        say_memory(out, demand->gpu_memory);
        tf_buf_fmt(out, " each; none of its %d %s of that model has so much", s->of_model,
                   nodes(s->of_model));
        break;
    case TF_REASON_NOT_ENOUGH_NODES:
        say_too_few(out, spec, s, ask(q, TF_LEVEL_TOP, WITHOUT_CLAIMS | WITHOUT_TOPOLOGY).count);
        break;
    case TF_REASON_TOPOLOGY:
        tf_buf_str(out, ", ");
        say_rules(out, spec);
        tf_buf_fmt(out, "; that holds %d at most, even if nothing else ran", why->best);
        break;
    default:
        say_now(out, demand, level, s);
        tf_buf_fmt(out, "; %d of %d fit", why->has, why->asked);
        break;
    }
    if (why->reason == TF_REASON_HIGHER_PRIORITY)
        tf_buf_str(out, ", the rest is held by work of equal or higher priority");
    else if (why->reason == TF_REASON_PROTECTED)
        tf_buf_str(out, ", the rest is held by work in its protected time (minRuntime)");
    else if (why->reason == TF_REASON_CLAIMED)
        tf_buf_str(out,
                   ", the rest is claimed for a job that has waited long; set a maxRuntime that ends before");
}

/* ---- what would help ---- */

static bool has_gpus(const struct tf_fit_view *view)
{
    for (size_t i = 0; i < view->count; i++)
        if (view->rows[i].count > 0 && view->catalog->classes.items[view->rows[i].class].model >= 0)
            return true;
    return false;
}

static void say_models(struct tf_buf *out, const struct question *q, const struct tf_job_spec *spec)
{
    if (spec->group.shape.gpu_models.count == 0) {
        tf_buf_str(out, "nodes with GPUs");
        return;
    }
    tf_buf_str(out, "nodes with ");
    say_names(out, &spec->group.shape.gpu_models);
    if (has_gpus(q->view))
        tf_buf_str(out, ", or other spec.instance.gpuModels");
}

static void say_smaller(struct tf_buf *out, const struct question *q, int32_t fit, const char *otherwise)
{
    bool fixed = q->demand->step == q->demand->core; /* `instances: N` */
    fit -= fixed ? 0 : fit % q->demand->step;
    if (fit > 0)
        tf_buf_fmt(out, "%s of at most %d, or ", fixed ? "spec.instances" : "a spec.elastic.min", fit);
    tf_buf_str(out, otherwise);
}

static void say_memory_here(struct tf_buf *out, const struct question *q)
{
    int64_t most = 0;
    for (size_t i = 0; i < q->view->count; i++) {
        const struct tf_class_info *class = &q->view->catalog->classes.items[q->view->rows[i].class];
        if (q->view->rows[i].count > 0 && of_model(q->demand, class->model) && class->gpu_memory > most)
            most = class->gpu_memory;
    }
    tf_buf_str(out, "a spec.instance.gpuMemory of at most ");
    say_memory(out, most);
}

static void say_domain(struct tf_buf *out, const struct question *q, const struct tf_job_spec *spec,
                       const struct tf_fit_why *why)
{
    bool required = false;
    tf_vec_each (rule, &spec->topology)
        required |= rule->mode != TF_TOPOLOGY_PREFER;
    say_smaller(out, q, why->best, required ? "`mode: prefer`" : "a larger spec.spread.maxNodes");
}

static void unblock(struct tf_buf *out, const struct question *q, const struct tf_job_spec *spec,
                    const struct survey *s, const struct tf_fit_why *why)
{
    switch (why->reason) {
    case TF_REASON_NO_SUCH_MODEL:
        say_models(out, q, spec);
        break;
    case TF_REASON_GPU_MEMORY:
        say_memory_here(out, q);
        break;
    case TF_REASON_NODE_TOO_SMALL:
        tf_buf_str(out, "an instance of at most ");
        say_vector(out, s->empty);
        break;
    case TF_REASON_NOT_ENOUGH_NODES:
        say_smaller(out, q, ask(q, TF_LEVEL_TOP, WITHOUT_CLAIMS | WITHOUT_TOPOLOGY).count, "more such nodes");
        break;
    case TF_REASON_TOPOLOGY:
        say_domain(out, q, spec, why);
        break;
    case TF_REASON_HIGHER_PRIORITY:
        tf_buf_str(out, "a higher spec.priority, or the end of what runs there");
        break;
    case TF_REASON_PROTECTED:
        tf_buf_str(out, "time: protections (minRuntime) end, and are not renewed");
        break;
    case TF_REASON_CLAIMED:
        tf_buf_str(out, "a spec.maxRuntime that ends before the claim begins, or its end");
        break;
    case TF_REASON_CPU_MEMORY:
        if (s->gpus_only > 0 && s->rest.slots >= q->demand->need.slots) {
            tf_buf_fmt(out, "an instance of at most ");
            say_cpu(out, s->rest.cpu);
            tf_buf_str(out, " and ");
            say_memory(out, s->rest.memory);
            break;
        }
        tf_buf_str(out, "the end of what takes cores, memory or slots there");
        break;
    case TF_REASON_GPUS:
        tf_buf_fmt(out, "room for %d more instance%s", why->missing, why->missing == 1 ? "" : "s");
        break;
    default:
        break;
    }
}

void tf_fit_explain(const struct tf_fit_view *view, const struct tf_demand *demand, tf_level level,
                    const struct tf_job_spec *spec, struct tf_fit_scratch *scratch, struct tf_fit_why *out)
{
    const struct question q = {view, demand, scratch};
    struct tf_fit now = ask(&q, level, 0);
    *out = (struct tf_fit_why){.asked = demand->core, .has = now.count};
    if (now.fits)
        return;
    struct survey s = look(&q, level);
    out->best = ask(&q, TF_LEVEL_TOP, WITHOUT_CLAIMS).count;
    out->missing = demand->core > now.count ? demand->core - now.count : 0;
    out->reason = static_reason(&q, &s);
    if (out->reason == TF_REASON_NONE)
        out->reason = present_reason(&q, level);
    if (out->reason == TF_REASON_CLAIMED)
        out->until = first_claim(&q);
    TF_AUTO_BUF text = TF_BUF_INIT;
    say(&text, &q, level, spec, &s, out);
    snprintf(out->text, sizeof out->text, "%s", tf_buf_text(&text));
    tf_utf8_trim(out->text);
    tf_buf_clear(&text);
    unblock(&text, &q, spec, &s, out);
    snprintf(out->unblock, sizeof out->unblock, "%s", tf_buf_text(&text));
    tf_utf8_trim(out->unblock);
}
